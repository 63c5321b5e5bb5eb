// SPDX-License-Identifier: MIT

import CLarder
import Dispatch
public import Synchronization

/// The way to a C object that can be shut and opened again while any number of threads use it.
///
/// A call enters, which counts it, uses the pointer and leaves. No lock is taken: the counters
/// are striped, so that threads hardly ever share one.
///
/// Suspending shuts the C object first. From then on it answers `LARDER_ECLOSED`, which is when
/// a call looks at the phase to learn whether to wait, to fail or to end. The pointer is taken
/// away next, and what it led to is released when every counter has been seen at zero:
/// 1. a call counts itself before it loads the pointer, and the pointer is taken away before
///    the counters are looked at, all sequentially consistent, so that one of the two sees
///    the other;
/// 2. whoever leaves looks for something to release after it has counted itself out, for the
///    same reason.
///
/// Nobody waits for calls under way, so that one may wait for the resumption inside another.
///
/// Sendable, although Swift cannot see it: the pointer to the counters never changes.
@usableFromInline
package final class SuspendableHandle: @unchecked Sendable {
  private enum Phase {
    case open, closed
    case suspended(SuspendedCalls)
  }

  /// What was open, until no call uses it any more.
  private struct Retired {
    let owner: any Owner
    /// One bit for each stripe that was not seen at zero.
    var stripes: UInt32 = .max
  }

  private struct State {
    var phase = Phase.open
    /// Keeps what the pointer leads to; nil while it is suspended.
    var owner: (any Owner)?
    var retired: [Retired] = []
    /// The last suspension shut without a failure.
    var isShutWell = false
    /// Threads that wait for the resumption.
    var threads: [DispatchSemaphore] = []
  }

  /// Closes a C object when nobody refers to it any more.
  package typealias Owner = AnyObject & Sendable

  /// A C object that was opened.
  package struct Opened {
    let pointer: OpaquePointer
    let owner: any Owner

    package init(pointer: OpaquePointer, owner: any Owner) {
      self.pointer = pointer
      self.owner = owner
    }
  }

  /// As many as a word has bits, and 128 bytes apart: no two share a cache line.
  @inlinable static var stripeCount: Int { 32 }
  @inlinable static var stripeStride: Int { 16 }

  @usableFromInline let stripes: UnsafeMutablePointer<Atomic<Int>>
  @usableFromInline let current: Atomic<OpaquePointer?>
  @usableFromInline let hasRetired = Atomic(false)
  private let resumptions = Atomic<UInt64>(0)
  private let state: Mutex<State>
  /// Held by whoever suspends, resumes or closes.
  private let transition = Mutex(())
  private let signal = ChangeSignal()
  /// What the object is, for messages: "the log at /var/log/a.larder".
  private let name: String

  /// Begins with what is open.
  ///
  /// - Parameters:
  ///   - name: As in "… is suspended".
  ///   - opened: The C object, and what closes it when nobody refers to it any more.
  package init(_ name: String, _ opened: Opened) {
    self.name = name
    stripes = .allocate(capacity: Self.stripeCount * Self.stripeStride)
    for stripe in 0..<Self.stripeCount * Self.stripeStride {
      (stripes + stripe).initialize(to: Atomic(0))
    }
    current = Atomic(opened.pointer)
    state = Mutex(State(owner: opened.owner))
  }

  deinit {
    stripes.deinitialize(count: Self.stripeCount * Self.stripeStride)
    stripes.deallocate()
  }

  // MARK: - Using it

  /// Lends the pointer; nil, and the body is not called, if nothing is open.
  @inlinable @inline(__always)
  package func withPointer<R, E: Error>(
    _ body: (OpaquePointer) throws(E) -> R
  ) throws(E) -> R? {
    let stripe = beginUse()
    defer { endUse(stripe) }
    guard let pointer = current.load(ordering: .sequentiallyConsistent) else { return nil }
    return try body(pointer)
  }

  /// Calls C and gives its status, once it is not that of an object that is suspended.
  ///
  /// - Parameters:
  ///   - waits: Whether the thread may be blocked, where calls wait for the resumption. Else
  ///     `.suspended` is thrown.
  ///   - body: Calls a function that does nothing if it gives `LARDER_ECLOSED`; may be run
  ///     several times.
  @inlinable @inline(__always)
  package func call(
    waits: Bool = true, _ body: (OpaquePointer) -> Int32
  ) throws(LarderError) -> Int32 {
    while true {
      let stripe = beginUse()
      let status =
        if let pointer = current.load(ordering: .sequentiallyConsistent) {
          body(pointer)
        } else {
          Self.closed
        }
      endUse(stripe)
      if status == 0 || status != Self.closed { return status }
      if try !waitForResumption(waits: waits) { return Self.closed }
    }
  }

  @usableFromInline static var closed: Int32 { Int32(LARDER_ECLOSED) }

  /// As ``call(waits:_:)``, of a function that makes something which goes on using the pointer.
  ///
  /// - Returns: Also what has to be kept as long as that.
  /// - Throws: `.suspended`, `.closed`.
  package func callKeeping(
    waits: Bool = true, _ body: (OpaquePointer) -> Int32
  ) throws(LarderError) -> (status: Int32, owner: any Owner) {
    while true {
      let opened = state.withLock { state -> Opened? in
        guard let pointer = current.load(ordering: .relaxed), let owner = state.owner else {
          return nil
        }
        return Opened(pointer: pointer, owner: owner)
      }
      let status = opened.map { body($0.pointer) } ?? Self.closed
      if let opened, status != Self.closed { return (status, opened.owner) }
      if try !waitForResumption(waits: waits) { throw closedFailure() }
    }
  }

  /// How often it was resumed. If it is read before the pointer is used, it is not more than
  /// what belongs to the pointer.
  package var resumptionCount: UInt64 { resumptions.load(ordering: .sequentiallyConsistent) }

  package var isSuspended: Bool {
    state.withLock { if case .suspended = $0.phase { true } else { false } }
  }

  /// Whether it is suspended, and nothing failed when it was shut. Waits for a suspension that is
  /// under way.
  package var isSuspendedWell: Bool {
    transition.withLock { _ in isSuspended && state.withLock { $0.isShutWell } }
  }

  /// How many threads wait for the resumption.
  package var waitingThreadCount: Int { state.withLock { $0.threads.count } }

  package var isClosed: Bool {
    state.withLock { if case .closed = $0.phase { true } else { false } }
  }

  /// Counts a call in, before it loads the pointer.
  @inlinable @inline(__always)
  func beginUse() -> UnsafeMutablePointer<Atomic<Int>> {
    let stripe = ownStripe()
    stripe.pointee.add(1, ordering: .sequentiallyConsistent)
    return stripe
  }

  @inlinable @inline(__always)
  func endUse(_ stripe: UnsafeMutablePointer<Atomic<Int>>) {
    stripe.pointee.subtract(1, ordering: .sequentiallyConsistent)
    if hasRetired.load(ordering: .sequentiallyConsistent) { releaseRetired() }
  }

  /// A counter that other threads seldom use: where the stack is tells threads apart.
  @inlinable @inline(__always)
  func ownStripe() -> UnsafeMutablePointer<Atomic<Int>> {
    var here: UInt8 = 0
    let place = withUnsafePointer(to: &here) { UInt64(UInt(bitPattern: $0)) }
    // Stacks are half a megabyte or more apart; the factor spreads what is left over all bits.
    let hash = (place >> 19) &* 0x9E37_79B9_7F4A_7C15
    return stripes + Int(truncatingIfNeeded: hash >> 59) * Self.stripeStride
  }

  // MARK: - Waiting

  /// To be called when nothing was open.
  ///
  /// - Parameter waits: Whether the thread may be blocked.
  /// - Returns: Whether there is something to be had now; false if it is closed.
  /// - Throws: `.suspended`, unless calls wait and the thread may.
  @usableFromInline @inline(never)
  package func waitForResumption(waits: Bool = true) throws(LarderError) -> Bool {
    let semaphore = DispatchSemaphore(value: 0)
    let phase = state.withLock { state in
      if waits, case .suspended(.wait) = state.phase { state.threads.append(semaphore) }
      return state.phase
    }
    switch phase {
    case .open: return true
    case .closed: return false
    case .suspended(.wait) where waits:
      semaphore.wait()
      return true
    case .suspended: throw suspendedFailure()
    }
  }

  /// Suspends the task as long as it is suspended.
  ///
  /// - Parameter always: Also where calls fail.
  /// - Throws: `.suspended` if calls fail; `CancellationError`.
  package func untilResumed(always: Bool = false) async throws {
    if current.load(ordering: .acquiring) != nil { return }
    while case .suspended(let calls) = state.withLock({ $0.phase }) {
      if calls == .fail, !always { throw suspendedFailure() }
      try Task.checkCancellation()
      await signal.wait { !isSuspended }
    }
  }

  /// Runs a body that throws `.suspended` rather than block, again when it was resumed.
  ///
  /// - Parameter always: Also where calls fail.
  package nonisolated(nonsending) func retryingWhenResumed<R>(
    always: Bool = false, _ body: () async throws -> R
  ) async throws -> R {
    var wasClosed = false
    while true {
      let count = resumptionCount
      do {
        return try await body()
      } catch let error as LarderError where error.code == .suspended {
        // It may have been closed since, and then says so.
        let isNews = isClosed && !wasClosed
        wasClosed = isClosed
        // Else it is of another store, which a coder of the caller's uses.
        guard isSuspended || resumptionCount != count || isNews else { throw error }
        try await untilResumed(always: always)
      }
    }
  }

  private func closedFailure() -> LarderError { LarderError(.closed, "\(name) is closed.") }

  private func suspendedFailure() -> LarderError {
    LarderError(.suspended, "\(name) is suspended; resume it first.")
  }

  // MARK: - Suspending, resuming, closing

  /// Shuts what is open and takes it away. Does nothing if that was done.
  ///
  /// - Parameter shut: Ends all use in C. If it fails, it has done so all the same.
  /// - Throws: `.closed`; what `shut` throws, and it is suspended then too.
  package func suspend(
    calls: SuspendedCalls, _ shut: (OpaquePointer) throws(LarderError) -> Void
  ) throws(LarderError) {
    try transition.withLock { _ throws(LarderError) in
      let phase = state.withLock { state in
        defer { if case .open = state.phase { state.phase = .suspended(calls) } }
        return state.phase
      }
      switch phase {
      case .suspended: return
      case .closed: throw closedFailure()
      case .open: break
      }
      guard let pointer = current.load(ordering: .acquiring) else { return }
      state.withLock { $0.isShutWell = false }
      defer { retire() }
      try shut(pointer)
      state.withLock { $0.isShutWell = true }
    }
  }

  /// Opens again. Does nothing if it is open.
  ///
  /// - Throws: `.closed`; what `open` throws, and it is as suspended as before then.
  package func resume(_ open: () throws(LarderError) -> Opened) throws(LarderError) {
    try transition.withLock { _ throws(LarderError) in
      switch state.withLock({ $0.phase }) {
      case .open: return
      case .closed: throw closedFailure()
      case .suspended: break
      }
      let opened = try open()
      resumptions.add(1, ordering: .sequentiallyConsistent)
      state.withLock { state in
        state.owner = opened.owner
        current.store(opened.pointer, ordering: .sequentiallyConsistent)
      }
      enter(.open)
    }
  }

  /// Puts something else in the place of what is open, which is shut: whoever uses that goes on
  /// with the other, as after a resumption.
  ///
  /// - Parameters:
  ///   - count: Does nothing if it was resumed since this was ``resumptionCount``, or is not open.
  ///   - open: Receives what is open.
  ///   - shut: Ends all use of that in C.
  /// - Throws: What `open` throws: then nothing has changed.
  package func replace(
    resumptionCount count: UInt64,
    _ open: (OpaquePointer) throws(LarderError) -> Opened, shut: (OpaquePointer) -> Void
  ) throws(LarderError) {
    try transition.withLock { _ throws(LarderError) in
      guard resumptionCount == count, let pointer = current.load(ordering: .acquiring) else {
        return
      }
      let opened = try open(pointer)
      resumptions.add(1, ordering: .sequentiallyConsistent)
      state.withLock { state in
        current.store(opened.pointer, ordering: .sequentiallyConsistent)
        if let owner = state.owner { state.retired.append(Retired(owner: owner)) }
        state.owner = opened.owner
        hasRetired.store(true, ordering: .sequentiallyConsistent)
      }
      shut(pointer)
    }
    releaseRetired()
  }

  /// Ends all use, for good, and releases what was open as soon as no call uses it any more: at
  /// once, but for calls under way and what was made by ``callKeeping(waits:_:)``.
  package func close(
    _ shut: (OpaquePointer) throws(LarderError) -> Void
  ) throws(LarderError) {
    try transition.withLock { _ throws(LarderError) in
      enter(.closed)
      guard let pointer = current.load(ordering: .acquiring) else { return }
      defer { retire() }
      try shut(pointer)
    }
  }

  /// To be called when nobody can resume it any more: who waits for that gets `.closed`.
  package func abandon() {
    if isSuspended { enter(.closed) }
  }

  /// Runs a blocking call on a thread that calls which wait for a resumption cannot hold.
  package static func run(_ body: @escaping @Sendable () throws -> Void) async throws {
    // A serial queue gets a thread however many are blocked.
    try await DispatchQueue(label: "larder.suspension", qos: .userInitiated).run(body)
  }

  private func enter(_ phase: Phase) {
    let threads = state.withLock { state in
      defer { state.threads = [] }
      state.phase = phase
      return state.threads
    }
    for thread in threads { thread.signal() }
    signal.notify()
  }

  // MARK: - Releasing

  private func retire() {
    current.store(nil, ordering: .sequentiallyConsistent)
    state.withLock { state in
      if let owner = state.owner { state.retired.append(Retired(owner: owner)) }
      state.owner = nil
      hasRetired.store(true, ordering: .sequentiallyConsistent)
    }
    releaseRetired()
  }

  /// Releases what no call uses any more.
  @usableFromInline @inline(never)
  func releaseRetired() {
    let released = state.withLock { state in
      for stripe in 0..<Self.stripeCount {
        let counter = stripes + stripe * Self.stripeStride
        if counter.pointee.load(ordering: .sequentiallyConsistent) != 0 { continue }
        for index in state.retired.indices { state.retired[index].stripes &= ~(1 << stripe) }
      }
      defer {
        state.retired.removeAll { $0.stripes == 0 }
        if state.retired.isEmpty { hasRetired.store(false, ordering: .sequentiallyConsistent) }
      }
      return state.retired.filter { $0.stripes == 0 }
    }
    // Not under the lock: closing takes system calls.
    withExtendedLifetime(released) {}
  }
}
