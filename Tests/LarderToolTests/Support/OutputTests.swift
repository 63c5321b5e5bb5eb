// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// An output that cannot be written, and standard streams that are closed, at every command.
struct OutputTests {
  typealias Call = Samples.Call
  private let samples: Samples

  init() throws { samples = try Samples() }

  static let calls = [
    Call("log append", "--json", ",log", ",input"), Call("log cat", ",log"),
    Call("log tail", ",log"), Call("log stat", ",log"), Call("log verify", ",log"),
    Call("log salvage", ",log", ",saved"),
    Call("log resize", "--capacity", "128k", ",log", prints: false),
    Call("cache ls", ",cache"), Call("cache get", ",cache", "key"),
    Call("cache set", ",cache", "other", "value", prints: false),
    Call("cache rm", ",cache", "key", prints: false), Call("cache stat", ",cache"),
    Call("cache verify", ",cache"), Call("cache rebuild", ",cache"),
    Call("cache salvage", ",cache", ",saved"), Call("cache compact", ",cache", prints: false),
    Call("cache backup", ",cache", ",copy", prints: false),
    Call("entry ls", ",entries"), Call("entry get", ",entries", "key"),
    Call("entry stat", ",entries"),
    Call("archive ls", ",archive"), Call("archive get", ",archive", "key"),
    Call("archive query", ",archive"), Call("archive stat", ",archive"),
    Call("demo"), Call("demo-writer", ",new"), Call("demo-cache-writer", ",new"),
    Call("manual"),
  ]

  /// The same in another format, and what the parser prints by itself.
  static let variants = [
    Call("log verify", "--json", ",log"), Call("log stat", "--json", ",log"),
    Call("log cat", "--json", ",log"), Call("log salvage", "--json", ",log", ",saved"),
    Call("cache verify", "--json", ",cache"), Call("cache stat", "--json", ",cache"),
    Call("cache salvage", "--json", ",cache", ",saved"), Call("cache ls", "--json", ",cache"),
    Call("archive query", "--count", ",archive"), Call("", "--help"), Call("", "--version"),
    Call("log", "--help"), Call("log cat", "--help"), Call("cache"),
    Call("", "--generate-completion-script", "bash"),
  ]

  private func run(_ call: Call, _ redirections: String) throws -> Tool.Run {
    try Tool.run(samples.arguments(call), redirections: redirections)
  }

  @Test func everyCommandIsInTheTable() throws {
    struct Command: Decodable {
      let commandName: String
      let subcommands: [Command]?

      /// What it runs, but for the help that every parser has.
      func leaves(below names: [String]) -> [String] {
        guard let subcommands, !subcommands.isEmpty else { return [names.joined(separator: " ")] }
        return subcommands.filter { $0.commandName != "help" }
          .flatMap { $0.leaves(below: names + [$0.commandName]) }
      }
    }
    struct Description: Decodable { let command: Command }
    let help = try Tool.run("--experimental-dump-help").output
    let tool = try JSONDecoder().decode(Description.self, from: help).command
    // What needs a server is there with the trait Remote alone, and has tests beside those of it.
    let commands = Set(tool.leaves(below: [])).subtracting(["log ship"])
    #expect(commands == Set(Self.calls.map(\.command)))
  }

  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")), arguments: calls + variants)
  func anOutputWithoutRoomIsAnError(_ call: Call) throws {
    let run = try run(call, ">/dev/full")
    #expect(run.code == (call.prints ? 2 : 0), "\(run.errors)")
    #expect(run.errors.contains("standard output: cannot write: No space left") == call.prints)
  }

  @Test(arguments: calls + variants)
  func aClosedOutputIsAnError(_ call: Call) throws {
    let run = try run(call, ">&-")
    #expect(run.code == (call.prints ? 2 : 0), "\(run.errors)")
    #expect(run.errors.contains("standard output: cannot write: Bad file") == call.prints)
  }

  @Test(arguments: calls + variants)
  func anOutputThatNobodyReadsIsNone(_ call: Call) throws {
    // A FIFO whose reader is gone, as behind head.
    let fifo = samples.file("fifo").path
    #expect(mkfifo(fifo, 0o600) == 0)
    let run = try run(call, "3<>'\(fifo)' >'\(fifo)' 3>&-")
    #expect(run.code == 0, "\(run.errors)")
    #expect(!run.errors.contains("standard output"))
  }

  @Test(arguments: calls)
  func closedStreamsDamageNothing(_ call: Call) throws {
    let run = try run(call, "<&- >&- 2>&-")
    #expect(run.code == (call.prints ? 2 : 0))
    #expect(try Tool.run("log", "verify", samples.file("log").path).code == 0)
    for name in ["cache", "entries", "archive"] {
      #expect(try Tool.run("cache", "verify", samples.file(name).path).code == 0, "\(name)")
    }
  }

  @Test(arguments: [
    Call("log append", ",log"), Call("log append", ",log", ",input", "-"),
    Call("cache set", ",cache", "other"), Call("cache set", ",cache", "other", "-"),
  ])
  func aClosedInputIsAnErrorBeforeAnythingIsWritten(_ call: Call) throws {
    for redirections in ["<&-", "0>/dev/null"] {
      let run = try run(call, redirections)
      #expect(run.code == 2 && run.errors.hasPrefix("larder: standard input: cannot read: "))
      #expect(try Tool.run("log", "cat", samples.file("log").path).text == "message\n")
      #expect(try Tool.run("cache", "ls", samples.file("cache").path).text == "key\n")
    }
    #expect(try run(Call("cache set", ",cache", "other", "value"), "<&-").code == 0)
  }

  @Test func damageIsToldByTheExitCodeThoughNobodyReads() throws {
    let file = samples.file("log")
    var bytes = try Data(contentsOf: file)
    let place = try #require(bytes.range(of: Data("message".utf8)))
    bytes[place.lowerBound] ^= 1
    try bytes.write(to: file)
    let verify = Call("log verify", ",log")
    #expect(try Tool.run("log", "verify", file.path).code == 1)
    let fifo = samples.file("fifo").path
    #expect(mkfifo(fifo, 0o600) == 0)
    #expect(try run(verify, "3<>'\(fifo)' >'\(fifo)' 3>&-").code == 1)
    #expect(try run(verify, ">&-").code == 2)
  }
}
