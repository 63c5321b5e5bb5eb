// SPDX-License-Identifier: MIT

import CLarder
import CLarderSystem

extension LogFile {
  /// Carries a Swift closure through C.
  private final class Progress {
    let report: (UInt64, UInt64) -> Bool
    init(_ report: @escaping (UInt64, UInt64) -> Bool) { self.report = report }
  }

  static func salvage(
    from source: String, to target: String, progress: ((UInt64, UInt64) -> Bool)?
  ) throws -> LogReport {
    var report = larder_ring_report()
    // C calls back only before it returns, and on this thread, so the context
    // lives long enough without being retained.
    let context = Progress(progress ?? { _, _ in true })
    let status = withExtendedLifetime(context) {
      larder_ring_salvage(
        source, target, nil,
        { context, done, total in
          guard let context else { return 0 }
          let progress = Unmanaged<Progress>.fromOpaque(context).takeUnretainedValue()
          return progress.report(done, total) ? 0 : 1
        }, Unmanaged.passUnretained(context).toOpaque(), &report)
    }
    if status == LARDER_OS_ECANCELED { throw CancellationError() }
    let doing = "salvage \(source) to \(target)"
    if status == LARDER_EDAMAGED {
      throw LarderError(
        status: status, doing: doing,
        reason: "the file ends inside its header, so it has no message; it was left as it is")
    }
    try check(status, doing)
    return LogReport(report)
  }

  static func capacity(
    count: Int, bytes: Int, consumerSlots: Int, keepsTimes: Bool
  ) -> DataSize? {
    guard let count = UInt64(exactly: count), count > 0, bytes >= 0, bytes < Int.max - timeBytes,
      let slots = try? cursorSlots(consumerSlots)  // Out of range is nil, as documented.
    else { return nil }
    let capacity = larder_ring_capacity_for(count, bytes + (keepsTimes ? timeBytes : 0), slots)
    return capacity == 0 ? nil : DataSize(bytes: Int(clamping: capacity))
  }
}
