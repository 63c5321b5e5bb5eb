// SPDX-License-Identifier: MIT

/// The calls that wait for the device, for tasks: they suspend, and block no thread
/// that runs tasks. However many wait, they share one sync.
extension MessageLog {
  /// Appends a message with a durability of its own.
  ///
  /// ```swift
  /// try await log.append(event, durability: .power)
  /// ```
  ///
  /// - Parameters:
  ///   - message: What to append.
  ///   - durability: What this message, and with it all before it, survives once
  ///     the call returns.
  /// - Returns: The message's number.
  /// - Throws: As ``append(_:)-(Message)``.
  /// - Complexity: O(bytes). At `.power` one sync of the device, shared by all who
  ///   wait; at `.process` it does not suspend.
  @discardableResult
  public func append(_ message: Message, durability: Durability) async throws -> UInt64 {
    let sequence = try await handle.suspension.retryingWhenResumed {
      try appendInMemory(message, waits: false)
    }
    if durability == .power { try await sync(for: .message(sequence)) }
    return sequence
  }

  /// Appends messages together, visible to readers all at once.
  ///
  /// - Parameters:
  ///   - messages: What to append, in order; possibly nothing.
  ///   - durability: What they survive once the call returns.
  /// - Returns: The number of the last one; nil for an empty sequence.
  /// - Throws: As ``append(contentsOf:)``.
  /// - Complexity: O(bytes) in time and memory. At `.power` one sync of the device
  ///   for all, shared with others who wait.
  @discardableResult
  public func append(
    contentsOf messages: some Sequence<Message>, durability: Durability
  ) async throws -> UInt64? {
    let batch = try batch(of: messages)
    let last = try await handle.suspension.retryingWhenResumed {
      try appendInMemory(batch, waits: false)
    }
    guard let last else { return nil }
    if durability == .power { try await sync(for: .message(last)) }
    return last
  }

  /// Makes everything appended so far survive a power cut.
  ///
  /// - Throws: `.io` or `.diskFull` if the device failed, and from then on always:
  ///   what it lost cannot be known. `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device, shared by all who wait.
  public func sync() async throws {
    try await sync(for: .everything)
  }

  /// Ends the use of the log; see `close()`.
  ///
  /// - Throws: `.io` or `.diskFull` if the sync failed; the log is closed all the
  ///   same, and holds what it would hold after a power cut.
  /// - Complexity: At a durability of `.power` one sync of the device.
  public func close() async throws {
    try await SuspendableHandle.run { try self.closeBlocking(durability: self.durability) }
  }

  /// Ends the use of the log, with a durability of its own.
  ///
  /// - Parameter durability: `.power` syncs everything; `.process` leaves it to the
  ///   system.
  /// - Throws: As `close()`.
  /// - Complexity: At `.power` one sync of the device.
  public func close(durability: Durability) async throws {
    try await SuspendableHandle.run { try self.closeBlocking(durability: durability) }
  }

  /// Closes the log and deletes its file, and those of its queues and its identity beside it.
  ///
  /// - Throws: As the blocking form.
  /// - Complexity: O(consumer slots), and a change of threads.
  public func destroy() async throws {
    try await SuspendableHandle.run { try self.destroy() }
  }

  private func sync(for target: LogSyncer.Target) async throws {
    do {
      try await syncer.wait(for: target) { target in
        switch target {
        case .message(let sequence): try self.handle.sync(through: sequence)
        case .everything: try self.handle.sync()
        }
      }
    } catch {
      throw appendFailure(error)
    }
  }
}
