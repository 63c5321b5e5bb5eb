// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

// Hurts entries, archives and caches over a server in every way that they have to survive, and
// counts what did not hold: what Tests/Torture does to the C core, for what is written in Swift.
// Three kinds of process take part: the one that was started prints; it starts one for each family,
// a worker, whose crash is a failure like any other; and the workers of the family `kill` start
// victims, and kill them.

@main
struct Torture {
  static func main() {
    do {
      exit(try run(Array(CommandLine.arguments.dropFirst())))
    } catch let error as UsageError {
      complain("\(error); see --help", code: 64)
    } catch {
      complain("\(error)", code: 2)
    }
  }

  /// - Returns: The status to exit with.
  private static func run(_ words: [String]) throws -> Int32 {
    if zip(words, words.dropFirst()).contains(where: { $0 == ("--area", "remote") }) {
      return try remote(words)
    }
    if let orders = try Orders(words) {
      try orders.carryOut()
      return 0
    }
    let options = try Options(words)
    if options.isHelp {
      print(Options.usage)
      return 0
    }
    return try Supervisor(options).run()
  }

  private static func remote(_ words: [String]) throws -> Int32 {
    #if Remote
      return try RemoteOptions(words).carryOut()
    #else
      throw UsageError("the area remote needs the trait Remote")
    #endif
  }

  private static func complain(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("larder-torture: \(message)\n".utf8))
    exit(code)
  }
}

/// Prints a line, in one piece.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
