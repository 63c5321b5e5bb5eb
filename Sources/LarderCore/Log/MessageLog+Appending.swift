// SPDX-License-Identifier: MIT

public import Foundation

extension MessageLog {
  /// Appends a message.
  ///
  /// ```swift
  /// let sequence = try log.append("started")
  /// ```
  ///
  /// - Parameter message: What to append; encoded, it may have up to 2 GiB less a
  ///   page, and may be empty.
  /// - Returns: The message's number.
  /// - Throws: `.tooLarge` and `.full` (the log is unchanged), `.encoding`,
  ///   `.readOnly`, `.configurationMismatch` (the file has other limits than were
  ///   asked for), `.closed`; `.io` and `.diskFull` from a sync, and then at a
  ///   durability of `.power` the message may have been appended; at `.power` also
  ///   `.replaced`, and the message is in a file that was deleted or replaced.
  /// - Complexity: O(bytes), amortised. At a durability of `.power` a sync, shared
  ///   with concurrent callers, for which it blocks its thread: a task calls
  ///   `append(_:durability:)` with `await` instead. At `.process` it does not
  ///   wait for the device.
  @discardableResult
  public func append(_ message: Message) throws -> UInt64 {
    try append(message, durability: durability)
  }

  /// Appends a message with a durability of its own.
  ///
  /// - Parameters:
  ///   - message: What to append.
  ///   - durability: What this message, and with it all before it, survives once
  ///     the call returns.
  /// - Returns: The message's number.
  /// - Throws: As ``append(_:)-(Message)``.
  /// - Complexity: As ``append(_:)-(Message)``.
  @discardableResult
  public func append(_ message: Message, durability: Durability) throws -> UInt64 {
    if durability == .process { return try appendInMemory(message) }
    let sequence: UInt64
    do {
      sequence = try coder.borrow(message) { bytes throws(LarderError) in
        try handle.appendSynced(bytes)
      }
    } catch {
      throw appendFailure(error)
    }
    signal.notify()
    return sequence
  }

  /// Appends a message, and waits for nothing.
  func appendInMemory(_ message: Message, waits: Bool = true) throws -> UInt64 {
    let sequence: UInt64
    do {
      // Encoded first and copied once. In a reservation of the ring it would be encoded in place,
      // but under the ring's lock: other threads would wait for it, a message that logs while it
      // is encoded would wait for itself, and room for the longest message would cost old ones.
      // The copy of a hundred bytes takes a hundredth of the time that encoding them does.
      sequence = try coder.borrow(message) { bytes throws(LarderError) in
        try handle.append(bytes, waits: waits)
      }
    } catch {
      throw appendFailure(error)
    }
    signal.notify()
    return sequence
  }

  /// Appends a message that is encoded already, at a durability of `.process`, and waits neither
  /// for the device nor for the resumption of a suspended log.
  package func append(encoded bytes: UnsafeRawBufferPointer) throws(LarderError) -> UInt64 {
    let sequence = try handle.append(bytes, waits: false)
    signal.notify()
    return sequence
  }

  /// Appends messages together, visible to readers all at once.
  ///
  /// All are encoded before the first is appended, so a failing coder leaves the
  /// log unchanged. If one cannot be appended, those before it have been; and if the
  /// process is killed meanwhile, the first ones may be there without the others.
  ///
  /// - Parameter messages: What to append, in order; possibly nothing.
  /// - Returns: The number of the last one; nil for an empty sequence.
  /// - Throws: As ``append(_:)-(Message)``; the text says how many messages were appended.
  /// - Complexity: O(bytes) in time and memory. One sync for all at a durability
  ///   of `.power`.
  @discardableResult
  public func append(contentsOf messages: some Sequence<Message>) throws -> UInt64? {
    try append(contentsOf: messages, durability: durability)
  }

  /// Appends messages together, with a durability of their own.
  ///
  /// - Parameters:
  ///   - messages: What to append, in order; possibly nothing.
  ///   - durability: What they survive once the call returns.
  /// - Returns: The number of the last one; nil for an empty sequence.
  /// - Throws: As ``append(contentsOf:)``.
  /// - Complexity: As ``append(contentsOf:)``.
  @discardableResult
  public func append(
    contentsOf messages: some Sequence<Message>, durability: Durability
  ) throws -> UInt64? {
    guard let last = try appendInMemory(batch(of: messages)) else { return nil }
    do {
      if durability == .power { try handle.sync(through: last) }
    } catch {
      throw appendFailure(error)
    }
    return last
  }

  /// The messages, encoded.
  func batch(of messages: some Sequence<Message>) throws -> RingBatch {
    var batch = RingBatch()
    for message in messages {
      do {
        try Self.encode(message, with: coder, into: &batch)
      } catch {
        throw Coder<Message>.encodingFailure(error)
      }
    }
    return batch
  }

  /// Appends messages together, and waits for nothing.
  ///
  /// - Returns: nil for an empty batch.
  func appendInMemory(_ batch: borrowing RingBatch, waits: Bool = true) throws -> UInt64? {
    if batch.count == 0 { return nil }
    // Those before one that failed are there to be read, too.
    defer { signal.notify() }
    do {
      return try handle.append(batch, waits: waits)
    } catch {
      throw appendFailure(error)
    }
  }

  private static func encode(
    _ message: Message, with coder: Coder<Message>, into batch: inout RingBatch
  ) throws {
    _ = try coder.borrow(message) { bytes throws(LarderError) in
      batch.add(bytes)
      return 0
    }
  }

  /// Makes everything appended so far survive a power cut.
  ///
  /// Concurrent callers share one sync of the device. Blocks its thread; a task calls
  /// it with `await`, and is suspended instead.
  ///
  /// - Throws: `.io` or `.diskFull` if the device failed, and from then on always:
  ///   what it lost cannot be known. `.replaced` if the file was deleted or replaced.
  ///   `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device.
  public func sync() throws {
    try handle.sync()
  }

  /// Makes messages up to a number survive a power cut; blocks its thread.
  package func sync(through sequence: UInt64) throws {
    try handle.sync(through: sequence)
  }

  /// Says why a log that was opened for writing cannot write, and keeps apart
  /// what the coder threw.
  @inline(never)
  func appendFailure(_ error: any Error) -> any Error {
    guard let failure = error as? LarderError else {
      return Coder<Message>.encodingFailure(error)
    }
    return failure.code == .readOnly ? mismatch ?? failure : failure
  }
}

extension MessageLog where Message == Data {
  /// Appends bytes.
  ///
  /// The same as for any other message, without the way through a coder.
  ///
  /// - Parameter message: What to append: up to 2 GiB less a page, and possibly
  ///   nothing.
  /// - Returns: The message's number.
  /// - Throws: `.tooLarge` and `.full` (the log is unchanged), `.readOnly`,
  ///   `.configurationMismatch` (the file has other limits than were asked for),
  ///   `.closed`; `.io` and `.diskFull` from a sync, and then at a durability of
  ///   `.power` the message may have been appended.
  /// - Complexity: O(bytes), amortised. At a durability of `.power` a sync, shared
  ///   with concurrent callers. At `.process` no disk read or write, but for a sync
  ///   with the first change after opening and, in a log that overwrites, at most
  ///   one after each sync.
  @discardableResult
  public func append(_ message: Data) throws -> UInt64 {
    guard coder.isIdentity, durability == .process else {
      return try append(message, durability: durability)
    }
    let sequence: UInt64
    do {
      sequence = try message.withUnsafeBytes { try handle.append($0) }
    } catch {
      throw appendFailure(error)
    }
    signal.notify()
    return sequence
  }
}
