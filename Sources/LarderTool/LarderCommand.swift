// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

@main
struct LarderCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "larder",
    abstract: "Look into logs, caches and archives that survive a crash, and write to them.",
    discussion: """
      EXAMPLES
        larder demo                                   a tour, under a minute
        my-server 2>&1 | larder log append my.larder  keep what a program says
        larder log tail -f my.larder                  follow it from elsewhere
        larder log cat my.larder | grep ERROR         search it
        larder cache ls --long my.cache               what a cache holds
        larder archive query users --where 'age > 30' which elements an archive has

      EXIT CODES
        0   done
        1   damage or loss was found, or --grep matched nothing
        2   could not do it, or not write the output; the standard error has the reason
        3   there is no such entry (cache get, entry get, archive get) or field (archive query)
        64  wrong usage
        130 interrupted before it was done
      """,
    version: libraryVersion,
    subcommands: [
      LogCommand.self, CacheCommand.self, EntryCommand.self, ArchiveCommand.self, DemoCommand.self,
      DemoWriterCommand.self, DemoCacheWriterCommand.self, ManualCommand.self,
    ])

  /// Runs the command that the arguments name. Every failure ends as one line on the standard
  /// error and an exit code; none as a trap.
  static func main() {
    StandardStreams.occupyClosed()
    // Writing into a closed pipe is to be an error that can be handled, not the end.
    _ = signal(SIGPIPE, SIG_IGN)
    let code = exitCode { try run() }
    let closing = exitCode { try StandardOutput.close() }
    let told = code == 0 && ToolExit.hasLosses ? ToolExit.damage : code
    Foundation.exit(closing == 0 ? told : closing)
  }

  private static func run() throws {
    try checkArguments()
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch  where exitCode(for: error) == .success {
      // What was asked for: help, a version, completions.
      try StandardOutput.line(UsageText.wrapped(fullMessage(for: error)))
    }
  }

  /// Text cannot have what is not UTF-8: two keys would be one, and a file another one.
  private static func checkArguments() throws {
    for position in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[position] else { return }
      if String(validatingCString: argument) != nil { continue }
      throw ValidationError(
        """
        Argument \(position), '\(String(cString: argument))', is not UTF-8. Keys of any bytes are \
        given as hexadecimal digits, with --hex; a path has to be UTF-8.
        """)
    }
  }

  /// Does something, and tells of a failure.
  private static func exitCode(_ body: () throws -> Void) -> Int32 {
    do {
      try body()
      return ExitCode.success.rawValue
    } catch is OutputClosed {
      return ExitCode.success.rawValue
    } catch let error as LarderError {
      // The library's advice, in the words of the command line.
      StandardError.note(
        error.explained.replacing("set trustsOtherUsers", with: "pass --trust-others"))
      return error.code == .damaged ? ToolExit.damage : ToolExit.failure
    } catch let error as ToolFailure {
      StandardError.note(error.description)
      return ToolExit.failure
    } catch {
      let text = UsageText.wrapped(fullMessage(for: error))
      if !text.isEmpty { StandardError.write(text + "\n") }
      return exitCode(for: error).rawValue
    }
  }
}
