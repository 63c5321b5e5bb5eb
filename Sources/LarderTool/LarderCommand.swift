// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

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
        1   damage or loss was found (verify, salvage, demo)
        2   could not do it; the reason is on the standard error
        3   there is no such entry (cache get, entry get, archive get) or field (archive query)
        64  wrong usage
        130 interrupted before it was done
      """,
    version: libraryVersion,
    subcommands: [
      LogCommand.self, CacheCommand.self, EntryCommand.self, ArchiveCommand.self, DemoCommand.self,
      DemoWriterCommand.self, DemoCacheWriterCommand.self,
    ])

  /// Runs the command that the arguments name. Every failure ends as one line on the standard
  /// error and an exit code; none as a trap.
  static func main() {
    // Writing into a closed pipe is to be an error that can be handled, not the end.
    _ = signal(SIGPIPE, SIG_IGN)
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch is OutputClosed {
      exit(withError: ExitCode.success)
    } catch let error as LarderError {
      StandardError.note(error.message)
      exit(withError: ExitCode(ToolExit.failure))
    } catch let error as ToolFailure {
      StandardError.note(error.description)
      exit(withError: ExitCode(ToolExit.failure))
    } catch {
      exit(withError: error)
    }
  }
}
