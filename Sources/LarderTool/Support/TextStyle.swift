// SPDX-License-Identifier: MIT
import Foundation

/// How text looks at a terminal.
package enum TextStyle: String {
  case plain = "0"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"

  /// Whether the standard output is a terminal that has styles, and whose user wants them.
  static let areShown: Bool = {
    let environment = ProcessInfo.processInfo.environment
    return isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
      && environment["TERM"] != "dumb"
  }()
}
