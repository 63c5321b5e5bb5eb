// SPDX-License-Identifier: MIT
package import ArgumentParser

package struct LogCommand: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "log",
    abstract: "Append to, read, follow, check and repair message logs.",
    discussion: """
      A message log is one file of a fixed size. It holds messages, each with a number of its own, \
      in the order they were appended. What was appended survives the end of the program that \
      appended it, however it ends. A full log drops its oldest messages, or refuses new ones.

      EXAMPLES
        larder log append app.larder access.log       one message a line
        larder log cat app.larder                     and back, byte for byte
        larder log tail -n 20 -f app.larder           the newest, and what comes
        larder log stat app.larder                    how full it is, what it lost
      """,
    subcommands: [
      LogAppend.self, LogCat.self, LogTail.self, LogStat.self, LogVerify.self, LogSalvage.self,
      LogResize.self,
    ] + shipping)

  package init() {}

  /// Only with the trait `Remote`.
  private static var shipping: [any ParsableCommand.Type] {
    #if Remote
      [LogShip.self]
    #else
      []
    #endif
  }
}
