// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// What the commands of `larder cache` do where they cannot do their work: one line, and an exit
/// code.
@Suite struct CacheErrorTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  static let existing: [[String]] = [
    ["ls"], ["get", "key"], ["rm", "key"], ["rm", "--all"], ["stat"], ["verify"], ["salvage"],
    ["compact"], ["backup"],
  ]

  private func run(_ command: [String], on path: String) throws -> Tool.Run {
    let hasTarget = command[0] == "salvage" || command[0] == "backup"
    let target = hasTarget ? [directory.file("target").path] : []
    return try Tool.run(["cache", command[0], path] + command.dropFirst() + target)
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

  @Test(arguments: existing)
  func aMissingFolderIsAnErrorAndIsNotCreated(_ command: [String]) throws {
    let path = directory.file("missing").path
    expectFailure(try run(command, on: path), naming: path)
    #expect(try directory.names.isEmpty)
  }

  @Test(arguments: existing + [["set", "key", "value"]])
  func aFolderOfAnotherKindIsAnErrorAndIsLeftAsItWas(_ command: [String]) throws {
    let folder = directory.file("foreign")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let file = folder.appendingPathComponent("notes.txt")
    try Data("The notes of a person.\n".utf8).write(to: file)
    expectFailure(try run(command, on: folder.path), naming: folder.path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes.txt"])
    #expect(try directory.names == ["foreign"])
  }

  @Test(arguments: existing + [["set", "key", "value"]])
  func aFileIsAnErrorAndIsLeftAsItWas(_ command: [String]) throws {
    let file = directory.file("file")
    try Data("no folder\n".utf8).write(to: file)
    expectFailure(try run(command, on: file.path), naming: file.path)
    #expect(try Data(contentsOf: file) == Data("no folder\n".utf8))
  }

  @Test(arguments: [["set", "other", "value"], ["rebuild"], ["compact"], ["rm", "key"]])
  func aCacheThatEveryUserMayWriteToIsAnErrorUnlessTheyAreTrusted(_ command: [String]) throws {
    let path = directory.file("cache").path
    #expect(try Tool.run("cache", "set", path, "key", "value").code == 0)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o666], ofItemAtPath: path + "/data.mdb")
    let refusal = try run(command, on: path)
    expectFailure(refusal, naming: path)
    #expect(refusal.errors.contains("pass --trust-others"))
    #expect(try run(command + ["--trust-others"], on: path).code == 0)
  }

  @Test func aFileInPlaceOfTheFolderOfRepairsIsAnErrorAndIsLeftAsItWas() throws {
    let path = directory.file("cache").path
    #expect(try Tool.run("cache", "set", path, "key", "value").code == 0)
    let file = URL(fileURLWithPath: path + "/index.new")
    try Data("mine\n".utf8).write(to: file)
    let refusal = try Tool.run("cache", "rebuild", path)
    expectFailure(refusal, naming: path)
    #expect(refusal.errors.contains("left as it is"))
    #expect(try Data(contentsOf: file) == Data("mine\n".utf8))
    #expect(try Tool.run("cache", "get", path, "key").text == "value")
  }

  @Test func aFolderAboveIsMadeAndAFileIsAnError() throws {
    let path = directory.file("missing").appendingPathComponent("a.cache").path
    #expect(try Tool.run("cache", "set", path, "key", "value").code == 0)
    #expect(try Tool.run("cache", "get", path, "key").text == "value")
    let below = path + "/lock/b.cache"
    expectFailure(try Tool.run("cache", "set", below, "key", "value"), naming: below)
  }

  @Test func wrongUsageExitsWith64() throws {
    let path = directory.file("a.cache").path
    for arguments in [
      ["frobnicate"], ["ls"], ["get", path], ["rm", path], ["rm", path, "key", "--all"],
      ["rm", path, "--all", "--prefix", "a"], ["ls", path, "--prefix", "1", "--int"],
      ["ls", path, "--recency", "--prefix", "a"], ["ls", path, "--json", "--long"],
      ["ls", path, "-n", "-1"], ["get", path, "--hex", "abc"], ["get", path, "--hex", "xy"],
      ["get", path, "--int", "one"], ["get", path, "--int", "--hex", "11"],
      ["set", path, "key", "value", "--expires", "soon"],
    ] {
      let run = try Tool.run(["cache"] + arguments)
      #expect(run.code == 64, "\(arguments)")
      #expect(run.output.isEmpty && !run.errors.isEmpty, "\(arguments)")
    }
    #expect(try directory.names.isEmpty)
  }

  @Test(arguments: ["cache get --hex", "cache set", "log stat"])
  func argumentsThatAreNotUTF8AreRefused(_ command: String) throws {
    let path = directory.file("c").path
    let arguments = command.split(separator: " ").map(String.init) + [path]
    let run = try Tool.run(arguments, redirections: "\"$(printf 'a\\377')\" b")
    #expect(run.code == 64 && run.errors.contains("is not UTF-8"), "\(run)")
    #expect(run.errors.contains("--hex"))
    #expect(try directory.names.isEmpty)
  }
}
