// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import Synchronization

  /// Keys of which it is known that the server has nothing, until it says otherwise.
  ///
  /// A reader puts a placeholder down before it asks, and remembers what it learns only if that is
  /// still there afterwards: an invalidation that came meanwhile takes it away. So a key
  /// that was written while the reply was on its way is not remembered as absent, in whatever order
  /// reply and invalidation are heard.
  final class RemoteAbsences: Sendable {
    struct Placeholder: Sendable {
      fileprivate let key: [UInt8]
      fileprivate let round: UInt64
      /// When the server was asked: what it answers was true then.
      fileprivate let time: Int64
    }

    private struct State {
      /// Until when, by the clock.
      var absent: [[UInt8]: Int64] = [:]
      /// How many readers of a key are under way, since no change of it was heard.
      var asked: [[UInt8]: (readers: Int, round: UInt64)] = [:]
      var round: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int
    private let clock: CacheClock

    init(limit: Int, clock: CacheClock) {
      self.limit = limit
      self.clock = clock
    }

    /// Whether the server is known to have nothing under a key.
    func contains(_ key: [UInt8]) -> Bool {
      if limit <= 0 { return false }
      let now = clock.nanoseconds
      return state.withLock { state in
        guard let end = state.absent[key] else { return false }
        if now < end { return true }
        state.absent[key] = nil
        return false
      }
    }

    /// To be called before the server is asked.
    func begin(_ key: [UInt8]) -> Placeholder {
      let time = clock.nanoseconds
      return state.withLock { state in
        if let asked = state.asked[key] {
          state.asked[key] = (asked.readers + 1, asked.round)
          return Placeholder(key: key, round: asked.round, time: time)
        }
        state.round += 1
        state.asked[key] = (1, state.round)
        return Placeholder(key: key, round: state.round, time: time)
      }
    }

    /// Whether no change was heard since the reader asked.
    func isValid(_ placeholder: Placeholder) -> Bool {
      state.withLock { $0.asked[placeholder.key]?.round == placeholder.round }
    }

    /// To be called afterwards, in any case.
    ///
    /// - Parameter life: How long to remember that there is nothing; nil if that is not known.
    func end(_ placeholder: Placeholder, absentFor life: Duration?) {
      state.withLock { state in
        let key = placeholder.key
        guard let asked = state.asked[key], asked.round == placeholder.round else { return }
        state.asked[key] = asked.readers > 1 ? (asked.readers - 1, asked.round) : nil
        guard let life, limit > 0 else { return }
        // One of them makes room; which one does not matter much.
        if state.absent.count >= limit, let one = state.absent.keys.first {
          state.absent[one] = nil
        }
        let (end, isNever) = placeholder.time.addingReportingOverflow(life.inNanoseconds)
        state.absent[key] = isNever ? .max : end
      }
    }

    /// A key was written.
    func forget(_ key: [UInt8]) {
      state.withLock { state in
        state.absent[key] = nil
        state.asked[key] = nil
      }
    }

    func forgetAll() {
      state.withLock { state in
        state.absent = [:]
        state.asked = [:]
      }
    }
  }
#endif
