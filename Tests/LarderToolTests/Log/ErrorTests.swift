// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What every command does where it cannot do its work: one line, and an exit code.
@Suite struct ErrorTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  static let readers: [[String]] = [
    ["cat"], ["tail"], ["stat"], ["verify"], ["resize", "--refuse"], ["salvage"],
  ]

  private func run(_ command: [String], on path: String) throws -> Tool.Run {
    let target = command[0] == "salvage" ? [directory.file("target").path] : []
    return try Tool.run(["log"] + command + [path] + target)
  }

  private func expectFailure(
    _ run: Tool.Run, naming path: String, location: SourceLocation = #_sourceLocation
  ) {
    #expect(run.code == 2, sourceLocation: location)
    #expect(run.output.isEmpty, sourceLocation: location)
    #expect(run.errors.hasPrefix("larder: "), sourceLocation: location)
    #expect(run.errors.contains(path), sourceLocation: location)
    #expect(run.errors.filter { $0 == "\n" }.count == 1, sourceLocation: location)
  }

  @Test(arguments: readers)
  func aMissingFileIsAnErrorAndIsNotCreated(_ command: [String]) throws {
    let path = directory.file("missing").path
    expectFailure(try run(command, on: path), naming: path)
    #expect(try directory.names.isEmpty)
  }

  @Test(arguments: readers + [["append"]])
  func aDirectoryIsAnError(_ command: [String]) throws {
    expectFailure(try run(command, on: directory.url.path), naming: directory.url.path)
  }

  @Test(arguments: readers + [["append"]])
  func aFileOfAnotherKindIsAnErrorAndIsLeftAsItWas(_ command: [String]) throws {
    let file = directory.file("foreign")
    let content = Data("These are the notes of a person, and no log.\n".utf8)
    try content.write(to: file)
    expectFailure(try run(command, on: file.path), naming: file.path)
    #expect(try Data(contentsOf: file) == content)
  }

  @Test(arguments: [["append"], ["resize", "--refuse"]])
  func aLogThatIsBeingWrittenNamesTheProcessThatDoes(_ command: [String]) throws {
    let file = directory.file("log.larder")
    let writer = try MessageLog(
      at: .url(file), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    try writer.append("mine")
    let failed = try run(command, on: file.path)
    expectFailure(failed, naming: file.path)
    #expect(failed.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    // Reading goes on meanwhile.
    #expect(try Tool.run("log", "cat", file.path).text == "mine\n")
    try writer.close()
  }

  @Test func aCapacityThatIsTooSmallIsAnErrorThatSaysWhatWouldDo() throws {
    let path = directory.file("log.larder").path
    for capacity in ["1", "63"] {
      let failed = try Tool.run("log", "append", "--capacity", capacity, path)
      expectFailure(failed, naming: path)
      #expect(failed.errors.contains("\(capacity) bytes"))
    }
    #expect(try Tool.run("log", "append", "--capacity", "0", path).code == 64)
    #expect(try Tool.run("log", "append", "--capacity", "ten", path).code == 64)
    #expect(try directory.names.isEmpty)
  }

  @Test func aMissingInputIsAnErrorBeforeAnythingIsAppended() throws {
    let input = directory.file("input")
    try Data("a\n".utf8).write(to: input)
    let log = directory.file("log.larder").path
    for missing in [directory.file("missing").path, directory.url.path] {
      expectFailure(try Tool.run("log", "append", log, input.path, missing), naming: missing)
    }
    #expect(try directory.names == ["input"])
  }

  @Test func aMissingDirectoryIsAnError() throws {
    let path = directory.file("missing").appendingPathComponent("log.larder").path
    expectFailure(try Tool.run("log", "append", path), naming: path)
  }

  @Test func wrongUsageExitsWith64() throws {
    for arguments in [
      ["frobnicate"], ["log", "cat"], ["log", "cat", "--json", "--null", "x"],
      ["log", "append", "--refuse", "--overwrite", "x"], ["log", "tail", "-n", "-1", "x"],
    ] {
      let run = try Tool.run(arguments)
      #expect(run.code == 64, "\(arguments)")
      #expect(run.output.isEmpty && !run.errors.isEmpty, "\(arguments)")
    }
  }
}
