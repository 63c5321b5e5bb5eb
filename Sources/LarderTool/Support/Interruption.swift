// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// Turns SIGINT and SIGTERM into a request to stop that commands notice between two steps, so that
/// they end with everything in order. A second signal ends the process at once. A signal that
/// whoever started the process ignored stays ignored.
package enum Interruption {
  /// Starts to catch the signals. Call once, before the first wait.
  ///
  /// - Parameter sparesFirst: The first SIGINT requests nothing. Ctrl-C reaches every process of a
  ///   pipeline, and who reads what another one writes is to read its last words.
  package static func enable(sparesFirst: Bool = false) {
    var ends: [CInt] = [-1, -1]
    if pipe(&ends) == 0 {
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      wakeup.store(ends[0], ordering: .relaxed)
      wakeupWriter.store(ends[1], ordering: .relaxed)
    }
    requested.store(false, ordering: .relaxed)
    isSpared.store(sparesFirst, ordering: .relaxed)
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGINT, SIGTERM] {
      sigaddset(&signals, number)
      let inherited = signal(number, SIG_IGN)
      if unsafeBitCast(inherited, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { continue }
      _ = signal(number, interruptionHandler)
    }
    // A program that starts this one from a thread of a pool passes on that all are blocked.
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  package static var isRequested: Bool { requested.load(ordering: .relaxed) }

  /// Waits until `descriptor` has something to read, or has ended.
  /// - Returns: `false` if the wait was ended by a request to stop.
  static func waitForInput(_ descriptor: CInt) -> Bool {
    while !isRequested {
      // The pipe closes the gap between looking at the flag and waiting.
      var waiting = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wakeup.load(ordering: .relaxed), events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&waiting, nfds_t(waiting.count), -1)
      if isRequested { return false }
      // A descriptor that poll cannot watch is for read(2) to complain about.
      if ready > 0 || errno != EINTR { return true }
    }
    return false
  }
}

private let requested = Atomic<Bool>(false)
private let isSpared = Atomic<Bool>(false)
private let wakeup = Atomic<CInt>(-1)
private let wakeupWriter = Atomic<CInt>(-1)

/// Only what POSIX allows in a signal handler: atomics, write(2), signal(2).
private func interruptionHandler(_ number: CInt) {
  if number == SIGINT && isSpared.exchange(false, ordering: .relaxed) { return }
  let saved = errno
  requested.store(true, ordering: .relaxed)
  var byte: UInt8 = 0
  _ = write(wakeupWriter.load(ordering: .relaxed), &byte, 1)
  _ = signal(number, SIG_DFL)
  errno = saved
}
