// SPDX-License-Identifier: MIT

import CLarder
import CLarderSystem

/// Throws what a status of the C core means; does nothing for 0.
///
/// - Parameters:
///   - status: What a `larder_…` function returned.
///   - doing: What was tried, as the object of "Could not": `append 12 bytes to
///     /var/log/a.larder`. Evaluated only on failure.
@inline(__always)
package func check(
  _ status: Int32, _ doing: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line, function: StaticString = #function
) throws(LarderError) {
  if status == LARDER_OK { return }
  throw LarderError(status: status, doing: doing(), file: file, line: line, function: function)
}

extension LarderError {
  /// An error from a status of the C core.
  ///
  /// - Parameters:
  ///   - status: What a `larder_…` function returned; not 0.
  ///   - doing: What was tried, as the object of "Could not".
  ///   - reason: Why it failed; nil for the text that belongs to the status.
  package init(
    status: Int32, doing: String, reason: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, function: StaticString = #function
  ) {
    let why = reason ?? Self.reason(status)
    self.init(
      Self.code(status), "Could not \(doing): \(why).", errno: status > 0 ? status : nil,
      file: file, line: line, function: function)
  }

  /// The public code for a status.
  package static func code(_ status: Int32) -> Code {
    switch Int(status) {
    case LARDER_ETOOLARGE: .tooLarge
    case LARDER_EFULL, LARDER_ENOSLOT: .full
    case LARDER_EBUSY, LARDER_ELOCKED, LARDER_ELIBRARY: .busy
    case LARDER_EOWNER, LARDER_EWRITABLE, LARDER_ELINKED: .untrusted
    case LARDER_EVERSION: .incompatibleVersion
    case LARDER_EMISMATCH: .configurationMismatch
    case LARDER_EDAMAGED, LARDER_EINCOMPLETE: .damaged
    case LARDER_EFOREIGN: .notALarderFile
    case LARDER_EREADONLY, LARDER_OS_EROFS: .readOnly
    case LARDER_ECONFLICT: .conflict
    case LARDER_ECLOSED, LARDER_EFORKED: .closed
    case LARDER_EINVALID, LARDER_ENOTFOUND: .invalidArgument
    case LARDER_EREPLACED: .replaced
    case LARDER_OS_ENOSPC, LARDER_OS_EDQUOT: .diskFull
    default: .io
    }
  }

  private static func reason(_ status: Int32) -> String {
    let text = String(cString: larder_strerror(status))
    let advice: String? =
      switch Int(status) {
      case LARDER_EFULL: "remove messages that are done with, or make the log larger"
      case LARDER_ENOSLOT: "remove a consumer, or resize the log with more slots"
      case LARDER_EDAMAGED: "nothing was deleted; salvage copies what is intact"
      case LARDER_EOWNER, LARDER_EWRITABLE:
        "it was left as it is; change owner or permissions, or set trustsOtherUsers"
      case LARDER_ELINKED:
        "it was left as it is, as writing would change what has that name, too; copy it first"
      case LARDER_ELOCKED: "nothing was written; end that process, or let it not read the file"
      case LARDER_ELIBRARY: "close it there, or build both programs for the same C library"
      case LARDER_EREPLACED: "open it again"
      case LARDER_EFORKED: "open the log in the child process itself"
      case LARDER_OS_ENOSPC, LARDER_OS_EDQUOT: "nothing was written"
      default: nil
      }
    return advice.map { "\(text); \($0)" } ?? text
  }
}
