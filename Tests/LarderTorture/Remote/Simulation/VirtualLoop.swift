// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport

  /// Runs every task of the process on one thread, in the order in which they become runnable, and
  /// has a time of its own, which moves on when none is.
  ///
  /// The runtime asks a hook where to run a task. Unchecked, because only that thread is to touch
  /// it.
  final class VirtualLoop: @unchecked Sendable {
    /// The process has one runtime, and that one hook.
    static let shared = VirtualLoop()

    private struct Timer {
      let time: UInt64
      /// Of two at the same time the first that was set is the first.
      let number: UInt64
      let body: () -> Void

      func isBefore(_ other: Timer) -> Bool {
        time != other.time ? time < other.time : number < other.number
      }
    }

    /// What is runnable, in order.
    private enum Job {
      case task(OpaquePointer)
      case body(() -> Void)
    }

    private var jobs: [Job] = []
    private var nextJob = 0
    private var timers: [Timer] = []
    private var timerCount: UInt64 = 0
    private var lastStamp: UInt64 = 0
    /// What is done once no task is runnable any more, before time moves on.
    private var idle: [() -> Void] = []
    private(set) var now: UInt64 = 0
    /// Whether a task is run when it becomes runnable: for what blocks the thread until it has.
    var runsAtOnce = false

    private typealias Enqueue = @convention(c) (OpaquePointer, OpaquePointer?) -> Void
    private typealias EnqueueLater =
      @convention(c) (UInt64, OpaquePointer, OpaquePointer?) -> Void
    private typealias EnqueueAt =
      @convention(c) (Int64, Int64, Int64, Int64, Int32, OpaquePointer, OpaquePointer?) -> Void

    /// From now on tasks only run when this is run.
    func take() throws {
      let enqueue: Enqueue = { job, _ in VirtualLoop.shared.enqueue(job) }
      let later: EnqueueLater = { delay, job, _ in
        VirtualLoop.shared.after(delay) { VirtualLoop.shared.jobs.append(.task(job)) }
      }
      // By the system's clock, of which nothing may depend here.
      let someTime: EnqueueAt = { _, _, _, _, _, job, _ in
        VirtualLoop.shared.after(1_000_000_000) { VirtualLoop.shared.jobs.append(.task(job)) }
      }
      try set("swift_task_enqueueGlobal_hook", enqueue)
      try set("swift_task_enqueueMainExecutor_hook", enqueue)
      try set("swift_task_enqueueGlobalWithDelay_hook", later)
      try set("swift_task_enqueueGlobalWithDeadline_hook", someTime)
    }

    private func enqueue(_ job: OpaquePointer) {
      if runsAtOnce { run(job) } else { jobs.append(.task(job)) }
    }

    private func run(_ job: OpaquePointer) {
      // No executor at all: the runtime's own, on which nothing need be enqueued again.
      let executor = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)
      unsafeBitCast(job, to: UnownedJob.self).runSynchronously(on: executor)
    }

    /// Has a body run as a task is, once those that are runnable now have.
    func execute(_ body: @escaping () -> Void) { jobs.append(.body(body)) }

    /// Runs the body, and orders the tasks that it makes runnable by when they were made: who is
    /// kept by an object's address is woken in the order of addresses, which no seed decides.
    func inOrder(_ body: () -> Void) {
      let first = jobs.count
      body()
      if jobs.count - first < 2 { return }
      // What it is called has its number.
      func number(_ job: Job) -> Int {
        guard case .task(let task) = job else { return .max }
        let name = unsafeBitCast(task, to: UnownedJob.self).description
        return Int(name.filter(\.isNumber)) ?? 0
      }
      let sorted = jobs[first...].map { (number($0), $0) }.enumerated()
        .sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
      jobs.replaceSubrange(first..., with: sorted.map(\.element.1))
    }

    private func set<Hook>(_ name: String, _ hook: Hook) throws {
      guard let address = dlsym(dlopen(nil, RTLD_LAZY), name) else {
        throw Broken("the runtime has no \(name): nothing can be simulated here")
      }
      address.assumingMemoryBound(to: Optional<Hook>.self).pointee = hook
    }

    /// Begins again, at time 0, with nothing left to do.
    func reset() {
      (now, lastStamp, timerCount) = (1, 1, 0)
      timers = []
      idle = []
    }

    /// A moment that is after all that were asked for before.
    func stamp() -> UInt64 {
      lastStamp = max(lastStamp + 1, now)
      return lastStamp
    }

    // MARK: - Time

    func after(_ delay: UInt64, _ body: @escaping () -> Void) { at(now + delay, body) }

    func at(_ time: UInt64, _ body: @escaping () -> Void) {
      timerCount += 1
      timers.append(Timer(time: max(time, now), number: timerCount, body: body))
      var place = timers.count - 1
      while place > 0, timers[place].isBefore(timers[(place - 1) / 2]) {
        timers.swapAt(place, (place - 1) / 2)
        place = (place - 1) / 2
      }
    }

    private func nextTimer() -> Timer? {
      guard let first = timers.first else { return nil }
      let last = timers.removeLast()
      if timers.isEmpty { return first }
      timers[0] = last
      var place = 0
      while true {
        var least = place
        for child in [2 * place + 1, 2 * place + 2] where child < timers.count {
          if timers[child].isBefore(timers[least]) { least = child }
        }
        if least == place { return first }
        timers.swapAt(place, least)
        place = least
      }
    }

    func whenIdle(_ body: @escaping () -> Void) { idle.append(body) }

    /// Runs until the condition holds between two tasks, or nothing is left to do.
    ///
    /// - Parameter limit: How far time may go.
    /// - Returns: Whether it holds.
    func run(limit: UInt64, until isDone: () -> Bool) -> Bool {
      while true {
        while nextJob < jobs.count {
          let job = jobs[nextJob]
          nextJob += 1
          switch job {
          case .task(let task): inOrder { run(task) }
          case .body(let body): inOrder(body)
          }
        }
        jobs.removeAll(keepingCapacity: true)
        nextJob = 0
        let bodies = idle
        idle = []
        for body in bodies { body() }
        if !jobs.isEmpty { continue }
        if isDone() { return true }
        guard let timer = nextTimer(), timer.time <= limit else { return isDone() }
        now = timer.time
        timer.body()
      }
    }

    // MARK: - Sleeping

    private final class Sleeper: @unchecked Sendable {
      var isOver = false
      var waiting: CheckedContinuation<Void, any Error>?

      func end(_ result: Result<Void, any Error>) {
        isOver = true
        waiting.take()?.resume(with: result)
      }
    }

    func sleep(_ duration: Duration) async throws {
      let sleeper = Sleeper()
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation {
          (continuation: CheckedContinuation<Void, any Error>) in
          if sleeper.isOver { return continuation.resume(throwing: CancellationError()) }
          sleeper.waiting = continuation
          after(nanoseconds(duration)) { sleeper.end(.success(())) }
        }
      } onCancel: {
        sleeper.end(.failure(CancellationError()))
      }
    }

    /// Its time, and a calendar that differs from the true one.
    func clock(ahead: Double) -> CacheClock {
      CacheClock(
        now: { [self] in .nanoseconds(Int64(now)) },
        date: { [self] in
          Date(timeIntervalSince1970: 1_700_000_000 + ahead + Double(now) / 1e9)
        },
        sleep: { [self] in try await sleep($0) })
    }
  }

  func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(clamping: seconds) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000)
  }

  /// Where all random numbers of this program come from, the library's and the runtime's among
  /// them: the linker takes this in place of the runtime's own.
  ///
  /// Before a simulation begins they are the system's.
  @_cdecl("swift_stdlib_random")
  func random(_ bytes: UnsafeMutableRawPointer, _ count: Int) {
    if ChanceOfAll.dice != nil {
      for place in 0..<count {
        bytes.storeBytes(
          of: UInt8(truncatingIfNeeded: ChanceOfAll.dice?.next() ?? 0), toByteOffset: place,
          as: UInt8.self)
      }
      return
    }
    var done = 0
    while done < count {
      let part = min(256, count - done)
      if getentropy(bytes + done, part) != 0 { abort() }
      done += part
    }
  }

  enum ChanceOfAll {
    /// Only set while all runs on one thread.
    nonisolated(unsafe) static var dice: Dice?

    /// Whether random numbers follow from the seed: only where the compiler specialises what draws
    /// them, else the runtime asks itself.
    static var isRepeatable: Bool {
      defer { dice = nil }
      let drawn = (0..<2).map { _ in
        dice = Dice(1)
        return UInt64.random(in: .min ... .max)
      }
      return drawn[0] == drawn[1]
    }
  }
#endif
