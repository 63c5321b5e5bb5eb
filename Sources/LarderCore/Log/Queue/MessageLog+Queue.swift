// SPDX-License-Identifier: MIT

import Foundation
import Synchronization

/// A queue, for the log that it is in.
protocol HeldQueue: AnyObject, Sendable {
  var removesDone: Bool { get }
  /// The log is about to be suspended: releases the queue's file.
  func hold() throws(LarderError)
  /// The log was resumed.
  func unhold()
  func close(syncs: Bool) throws(LarderError)
}

/// The queues of a log that are open, by name: who opens one again shares it.
final class QueueRegistry: Sendable {
  private struct Entry {
    weak var queue: (any HeldQueue)?
  }

  private struct State {
    var entries: [String: Entry] = [:]
    var isHeld = false
  }

  private let state = Mutex(State())

  init() {}

  /// The queue of that name, or a new one.
  func queue(named name: String, _ make: (_ isHeld: Bool) -> any HeldQueue) -> any HeldQueue {
    state.withLock { state in
      if let queue = state.entries[name]?.queue { return queue }
      let queue = make(state.isHeld)
      state.entries = state.entries.filter { $0.value.queue != nil }
      state.entries[name] = Entry(queue: queue)
      return queue
    }
  }

  /// Whether one of those that are open removes what all are done with.
  var removesDone: Bool {
    state.withLock { $0.entries.values.contains { $0.queue?.removesDone == true } }
  }

  func isOpen(_ name: String) -> Bool { state.withLock { $0.entries[name]?.queue != nil } }

  /// Before the log is suspended.
  ///
  /// - Returns: What failed; they have released their files all the same.
  func hold() -> LarderError? {
    let queues = state.withLock { state in
      state.isHeld = true
      return state.entries.values.compactMap(\.queue)
    }
    return first(of: queues) { queue throws(LarderError) in try queue.hold() }
  }

  /// After it was resumed.
  func unhold() {
    let queues = state.withLock { state in
      state.isHeld = false
      return state.entries.values.compactMap(\.queue)
    }
    for queue in queues { queue.unhold() }
  }

  /// Before it is closed.
  func close(syncs: Bool) -> LarderError? {
    let queues = state.withLock { state in state.entries.values.compactMap(\.queue) }
    return first(of: queues) { queue throws(LarderError) in try queue.close(syncs: syncs) }
  }

  private func first(
    of queues: [any HeldQueue], _ body: (any HeldQueue) throws(LarderError) -> Void
  ) -> LarderError? {
    var failure: LarderError?
    for queue in queues {
      do { try body(queue) } catch { failure = failure ?? error }
    }
    return failure
  }
}

extension MessageLog {
  /// A queue of the log's messages, for several workers.
  ///
  /// Takes one of the file's consumer slots, under the same name, and keeps the rest in a file
  /// beside the log's: its name with `.queue-` and the queue's behind it. Opened again in the same
  /// process, a queue is shared. Only one log at a time has a file open for writing, in all
  /// processes, so another process cannot open the queue: its log throws `.busy`.
  ///
  /// - Parameters:
  ///   - name: 1 to 32 bytes of UTF-8; new or used before. A consumer of that name would move the
  ///     queue.
  ///   - configuration: How it works; nil, the default, for that of the queue that is open, or the
  ///     defaults.
  /// - Returns: A queue that goes on where one of that name was.
  /// - Throws: `.invalidArgument` for a name of another length or a configuration out of range;
  ///   `.readOnly` for a log opened for reading; `.full` if all consumer slots are taken;
  ///   `.configurationMismatch` if the queue is open with another configuration; `.notALarderFile`,
  ///   `.incompatibleVersion` and `.untrusted` for the file beside the log, which is left as it is;
  ///   `.replaced` if the log's file is not in its place any more; `.diskFull`, `.io`,
  ///   `.suspended`, `.closed`.
  /// - Complexity: O(window + messages in the log); O(messages in the dead-letter log) if those of
  ///   others are in it. A new file is synced.
  public func queue(
    named name: String, configuration: LogQueueConfiguration<Message>? = nil
  ) throws -> LogQueue<Message> {
    try LogFile.validate(consumer: name)
    try configuration?.validate()
    if isReader {
      throw mismatch
        ?? LarderError(
          .readOnly, "The log at \(fileURL.path) is opened for reading, and so has no queues.")
    }
    let queue = queues.queue(named: name) { isHeld in
      QueueCore(
        name: name, log: self, configuration: configuration ?? .init(), isHeld: isHeld)
    }
    guard let core = queue as? QueueCore<Message>,
      configuration?.agrees(with: core.configuration) ?? true
    else {
      throw LarderError(
        .configurationMismatch,
        "Queue \(name) is open with another configuration; close the log to change it.")
    }
    try core.retrying { try core.open() }
    try removeDone()
    return LogQueue(core: core)
  }

  /// Forgets a queue: its consumer slot is free again, and its file is removed.
  ///
  /// The next queue of that name begins with the oldest message.
  ///
  /// - Parameter name: The queue's name.
  /// - Returns: Whether there was something to forget.
  /// - Throws: `.busy` if the queue is open; `.replaced` if the log's file is not in its place any
  ///   more; `.notALarderFile` if the file is not that of a queue;
  ///   `.invalidArgument`, `.readOnly`, `.configurationMismatch`, `.closed`, `.io`.
  /// - Complexity: O(consumer slots).
  @discardableResult
  public func removeQueue(named name: String) throws -> Bool {
    try LogFile.validate(consumer: name)
    if queues.isOpen(name) {
      throw LarderError(.busy, "Queue \(name) is open; release it and its jobs first.")
    }
    // First what can be refused; then the slot, without which the queue begins again.
    if isReader { return try removeConsumer(named: name) }
    let hadFile = try handle.withSideFile(QueueOpening.suffix(of: name), waits: true) {
      place throws(LarderError) in try QueueFile.remove(place)
    }
    return try removeConsumer(named: name) || hadFile
  }
}
