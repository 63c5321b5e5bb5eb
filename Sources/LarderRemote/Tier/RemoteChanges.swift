// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import Synchronization

  /// Who waits for a key to change on the server.
  final class RemoteChanges: Sendable {
    /// Somebody who does.
    final class Waiter: Sendable {
      fileprivate let key: [UInt8]
      private let state = Mutex<(isOver: Bool, waiting: CheckedContinuation<Void, Never>?)>(
        (false, nil))

      fileprivate init(_ key: [UInt8]) { self.key = key }

      /// Ends the wait.
      func end() {
        let waiting = state.withLock { state in
          state.isOver = true
          return state.waiting.take()
        }
        waiting?.resume()
      }

      /// Waits until the key has changed since the beginning, or for so long.
      func wait(for duration: Duration, _ clock: CacheClock) async throws {
        // A child runs where its parent does, also where all threads of the pool are blocked.
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            do { try await clock.sleep(for: duration) } catch { return }
            self.end()
          }
          await wait()
          group.cancelAll()
        }
        try Task.checkCancellation()
      }

      private func wait() async {
        await withTaskCancellationHandler {
          await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
              if !state.isOver { state.waiting = continuation }
              return state.isOver
            }
            if isOver { continuation.resume() }
          }
        } onCancel: {
          end()
        }
      }
    }

    private let waiters = Mutex<[[UInt8]: [ObjectIdentifier: Waiter]]>([:])

    func begin(_ key: [UInt8]) -> Waiter {
      let waiter = Waiter(key)
      waiters.withLock { $0[key, default: [:]][ObjectIdentifier(waiter)] = waiter }
      return waiter
    }

    func end(_ waiter: Waiter) {
      waiters.withLock { waiters in
        waiters[waiter.key]?[ObjectIdentifier(waiter)] = nil
        if waiters[waiter.key]?.isEmpty == true { waiters[waiter.key] = nil }
      }
    }

    func change(_ key: [UInt8]) {
      let waiters = waiters.withLock { Array(($0[key] ?? [:]).values) }
      for waiter in waiters { waiter.end() }
    }

    func changeAll() {
      let waiters = waiters.withLock { $0.values.flatMap(\.values) }
      for waiter in waiters { waiter.end() }
    }
  }
#endif
