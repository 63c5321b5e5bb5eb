// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Programs as somebody would write them who has the documentation and nothing else: ordinary
/// sizes, default configurations, and beside each store a plain model of what it was told.
@main
struct Outside {
  static let programs =
    [
      Images.program, Requests.program, Offline.program, Library.program, Pages.program,
      Journal.program, Equals.program, Folders.program, Sessions.program, Bank.program,
      Mirror.program,
    ] + remote

  #if Remote
    private static let remote = [Remote.program]
  #else
    private static let remote: [Program] = []
  #endif

  static var usage: String {
    let list = programs.map { program in
      "  " + program.name.padding(toLength: 10, withPad: " ", startingAt: 0) + program.summary
    }
    return """
      Usage: LarderOutside PROGRAM [options]

      Uses a store for a while as a program would, beside a plain model. Prints its figures, and
      a sentence for each promise that was broken; then it ends with status 1.

      \(list.joined(separator: "\n"))

        --directory PATH  where its files go (default: /dev/shm, else the temporary files' folder)
        --seed N          seed of all random choices (default 1)
        --seconds N       about how long it takes (default 10, with --long 200)
        --long            larger sizes
        --help            this text
      """
  }

  static func main() async {
    // A process that was started may end before it is told something.
    signal(SIGPIPE, SIG_IGN)
    var session: Session
    do {
      session = try Session(Array(CommandLine.arguments.dropFirst()))
    } catch {
      say("\(error)\n\n\(usage)")
      exit(64)
    }
    guard let program = programs.first(where: { $0.name == session.program }) else {
      say(usage)
      exit(session.isHelp ? 0 : 64)
    }
    if session.isHelp {
      say(usage)
      exit(0)
    }
    await run(program, &session)
    exit(Promises.shared.finish(session) ? 0 : 1)
  }

  private static func run(_ program: Program, _ session: inout Session) async {
    do {
      if !session.child.isEmpty {
        try await program.child(session)
        return
      }
      try session.makeDirectory()
      defer { session.removeDirectory() }
      try await program.run(session)
    } catch {
      broken("Nothing fails without a reason that is outside of the program", "\(error)")
    }
  }
}

/// One of the programs.
struct Program: Sendable {
  let name: String
  let summary: String
  let run: @Sendable (Session) async throws -> Void
  /// What a process that this one starts does: `Session.child` says what.
  var child: @Sendable (Session) async throws -> Void = { _ in }
}

/// What the command line asks for.
struct Session: Sendable {
  var program = ""
  var seed: UInt64 = 1
  var seconds = 10.0
  var isLong = false
  var isHelp = false
  /// Where the files are.
  var directory = ""
  /// What a process is to do that another one of this program started.
  var child: [String] = []

  init(_ arguments: [String]) throws {
    var words = CommandLineWords(arguments)
    var seconds: Double?
    while let argument = words.next() {
      switch argument {
      case "--directory": directory = try words.value()
      case "--seed": seed = try words.number()
      case "--seconds": seconds = Double(try words.number())
      case "--long": isLong = true
      case "--help", "-h": isHelp = true
      case "--child": child = words.all()
      case _ where program.isEmpty && !argument.hasPrefix("-"): program = argument
      default: throw UsageError("'\(argument)' is not an option")
      }
    }
    self.seconds = seconds ?? (isLong ? 200 : 10)
  }

  /// A folder of its own, within the one that was asked for.
  mutating func makeDirectory() throws {
    let wanted = directory.isEmpty ? nil : directory
    directory = try makeWorkplace("larder-outside-\(program)", in: wanted).path
  }

  func removeDirectory() { try? FileManager.default.removeItem(atPath: directory) }

  func path(_ name: String) -> String { directory + "/" + name }

  func url(_ name: String) -> URL { URL(fileURLWithPath: path(name)) }

  func dice(_ salt: String) -> Dice {
    Dice(seed: salt.utf8.reduce(seed &+ 77) { $0 &* 31 &+ UInt64($1) })
  }

  /// Until when a part may go on that has this share of the time.
  func deadline(share: Double) -> Deadline { Deadline(seconds: seconds * share) }

  /// Starts this program as another process, if need be by another one.
  func start(_ child: [String], by launcher: [String] = []) throws -> Child {
    try Child(
      [program, "--directory", directory, "--seed", "\(seed)", "--seconds", "\(Int(seconds))"]
        + (isLong ? ["--long"] : []) + ["--child"] + child, by: launcher, isTold: true)
  }
}
