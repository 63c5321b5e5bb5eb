// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore

/// Carries a Swift closure through C, which calls it on this thread and before it
/// returns.
final class StoreProgress {
  private let report: (UInt64, UInt64) -> Bool

  private init(_ report: @escaping (UInt64, UInt64) -> Bool) { self.report = report }

  /// Calls the body with a C function and its context; with two nil where nobody wants
  /// to know.
  static func with(
    _ report: ((UInt64, UInt64) -> Bool)?,
    _ body: (larder_progress?, UnsafeMutableRawPointer?) -> Int32
  ) -> Int32 {
    guard let report else { return body(nil, nil) }
    let progress = StoreProgress(report)
    return withExtendedLifetime(progress) {
      body(
        { context, done, total in
          guard let context else { return 0 }
          let progress = Unmanaged<StoreProgress>.fromOpaque(context).takeUnretainedValue()
          return progress.report(done, total) ? 0 : 1
        }, Unmanaged.passUnretained(progress).toOpaque())
    }
  }
}
