// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// A sink in memory that does what a sink has to, and fails as networks and servers do.
actor ReferenceSink: LogSink {
  /// What happens to a call.
  enum Fault: Sendable {
    /// Nothing is appended.
    case refused
    /// All is appended, and the reply gets lost.
    case lostReply
    /// The first records are appended.
    case partial(Int)
    /// The call fails, and arrives when others have been made.
    case late
    /// It never ends, unless it is cancelled.
    case hanging
  }

  struct Failure: Error {}

  private(set) var records: [LogBatch.Record] = []
  private(set) var batches: [LogBatch] = []
  private(set) var questions = 0
  private var delayed: [(batch: LogBatch, last: UInt64?)] = []
  private var faults: [Fault] = []
  private var fault: (@Sendable () -> Fault?)?
  private var onRecord: (@Sendable (LogBatch.Record) -> Void)?

  init(onRecord: (@Sendable (LogBatch.Record) -> Void)? = nil) { self.onRecord = onRecord }

  /// The messages as text, gaps as their numbers.
  var texts: [String] {
    records.map { record in
      switch record {
      case .message(let message): String(decoding: message.bytes, as: UTF8.self)
      case .gap(let numbers): "\(numbers)"
      }
    }
  }

  /// The next calls go like this, both kinds counted.
  func fail(_ faults: Fault...) { self.faults += faults }

  /// Each further call goes as the closure says.
  func fail(_ fault: (@Sendable () -> Fault?)?) { self.fault = fault }

  /// Forgets its end, as a server may after a failover.
  func lose(_ count: Int) { records.removeLast(count) }

  /// What was delayed arrives.
  ///
  /// - Parameter isConditional: false for a sink that appends whatever comes.
  func arrive(isConditional: Bool = true) {
    let all = delayed
    delayed = []
    for (batch, last) in all where !isConditional || last == records.last?.sequence {
      store(batch.records[...])
    }
  }

  // LogSink.

  func lastSequence() async throws -> UInt64? {
    questions += 1
    switch nextFault() {
    case nil, .late, .partial: return records.last?.sequence
    case .hanging: try await hang()
    case .refused, .lostReply: break
    }
    throw Failure()
  }

  func append(_ batch: LogBatch, after last: UInt64?) async throws {
    try await append(batch, after: last, isConditional: true)
  }

  func append(_ batch: LogBatch, after last: UInt64?, isConditional: Bool) async throws {
    let fault = nextFault()
    if case .late = fault {
      delayed.append((batch, last))
      throw Failure()
    }
    if case .refused = fault { throw Failure() }
    if case .hanging = fault { try await hang() }
    guard !isConditional || last == records.last?.sequence else {
      throw LarderError(.conflict, "Something else was appended meanwhile.")
    }
    if case .partial(let count) = fault {
      store(batch.records.prefix(count))
      throw Failure()
    }
    batches.append(batch)
    store(batch.records[...])
    if case .lostReply = fault { throw Failure() }
  }

  private func nextFault() -> Fault? {
    if !faults.isEmpty { return faults.removeFirst() }
    return fault?()
  }

  private func hang() async throws { try await Task.sleep(for: .seconds(86_400)) }

  private func store(_ new: ArraySlice<LogBatch.Record>) {
    for record in new { onRecord?(record) }
    records += new
  }
}
