// SPDX-License-Identifier: MIT

import Synchronization

/// Whether a task was cancelled, for code that runs outside of it.
final class DiskCancellation: Sendable {
  private let flag = Atomic(false)

  var isCancelled: Bool { flag.load(ordering: .relaxed) }

  func cancel() { flag.store(true, ordering: .relaxed) }
}
