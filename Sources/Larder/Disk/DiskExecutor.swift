// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
import LarderCore
public import Synchronization

/// Threads for calls that may wait for a disk, so that neither the caller's thread nor one
/// of the few that run tasks has to.
@usableFromInline
package final class DiskExecutor: Sendable {
  /// Whether the task has a thread of its own, which may wait for a disk as well as any other.
  @TaskLocal static var mayBlockItsThread = false

  private let queue: DispatchQueue
  private let suspension: SuspendableHandle?
  /// Whether the value that was encoded last was short.
  @usableFromInline let lastIsShort = Atomic(false)

  /// For calls of no store, or of several.
  package convenience init(_ label: String) { self.init(label, nil) }

  /// - Parameters:
  ///   - suspension: Of the store that the calls are for; nil if there is none.
  ///   - isSerial: For calls that may be blocked for long: then it has a thread of its own.
  init(_ label: String, _ suspension: SuspendableHandle?, isSerial: Bool = false) {
    queue = DispatchQueue(
      label: label, qos: .userInitiated, attributes: isSerial ? [] : .concurrent)
    self.suspension = suspension
  }

  /// Runs the body on a thread of the executor.
  @usableFromInline
  package func run<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    if Self.mayBlockItsThread { return try body() }
    // So that a task waits for a resumption, and not a thread; but for one that comes too late.
    try await suspension?.untilResumed()
    return try await queue.run(body)
  }

  /// Notes how long a value is: the next one is likely to be as long.
  @inlinable
  func noteLength(_ count: Int) {
    let isShort = count <= 4096
    // Seldom another answer: threads that write share what they only read.
    if lastIsShort.load(ordering: .relaxed) != isShort {
      lastIsShort.store(isShort, ordering: .relaxed)
    }
  }

  /// Whether it is likely to take little time to encode the next value.
  @inlinable
  var encodesShortly: Bool { lastIsShort.load(ordering: .relaxed) }

  /// Reads or writes in place where that waits for nothing, and else on a thread of the executor.
  ///
  /// - Parameters:
  ///   - isShort: Whether it takes little of the caller's time; else it is not tried.
  ///   - body: Does so; called again, with nothing, if it would have had to wait.
  @inlinable
  nonisolated(nonsending) func inPlace<R: Sendable>(
    if isShort: Bool = true, _ body: @escaping @Sendable (StoreReading) throws -> R
  ) async throws -> R {
    if isShort {
      do { return try body(.withoutWaiting) } catch {
        if !Self.isToBeWaitedFor(error) { throw error }
      }
    }
    return try await run { try body([]) }
  }

  @usableFromInline
  static func isToBeWaitedFor(_ error: any Error) -> Bool {
    if error is StoreWait { return true }
    guard let error = error as? LarderError else { return false }
    return error.code == .suspended || error.errno == EAGAIN
  }

  /// The same for what also works while the store is suspended.
  func runAnyway(_ body: @escaping @Sendable () throws -> Void) async throws {
    if Self.mayBlockItsThread { return try body() }
    try await SuspendableHandle.run(body)
  }

  /// Runs a long body, which asks now and then whether it is to go on: not any more when
  /// the task is cancelled.
  @usableFromInline
  func runCancellable<R: Sendable>(
    _ body: @escaping @Sendable (_ goesOn: @escaping @Sendable () -> Bool) throws -> R
  ) async throws -> R {
    let flag = DiskCancellation()
    return try await withTaskCancellationHandler {
      try await run { try body { !flag.isCancelled } }
    } onCancel: {
      flag.cancel()
    }
  }
}
