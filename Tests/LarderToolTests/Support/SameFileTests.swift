// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// A log or a store is neither read into itself nor printed into itself.
struct SameFileTests {
  private let directory: TemporaryDirectory
  private let log: String
  private let cache: String

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder").path
    cache = directory.file("cache").path
    _ = try Tool.run("log", "append", log, input: Data("one\ntwo\n".utf8))
    _ = try Tool.run("cache", "set", cache, "key", "value")
    try Data("line\n".utf8).write(to: directory.file("input"))
    try FileManager.default.linkItem(atPath: log, toPath: directory.file("hard").path)
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("soft").path, withDestinationPath: log)
  }

  private func expectRefusal(_ run: Tool.Run, _ text: String = "input file is output file") throws {
    #expect(run.code == 2 && run.output.isEmpty)
    #expect(run.errors.hasPrefix("larder: ") && run.errors.contains(text), "\(run.errors)")
    #expect(run.errors.filter { $0 == "\n" }.count == 1)
    #expect(try Tool.run("log", "cat", log).text == "one\ntwo\n")
    #expect(try Tool.run("log", "verify", log).code == 0)
    #expect(try Tool.run("cache", "ls", cache).text == "key\n")
  }

  @Test(arguments: [["log.larder"], ["hard"], ["soft"], ["input", "hard"], ["input", "soft"]])
  func aLogIsNotAppendedToItself(_ names: [String]) throws {
    let inputs = names.map { directory.file($0).path }
    try expectRefusal(try Tool.run(["log", "append", log] + inputs))
    // Nor under another name of its own.
    try expectRefusal(try Tool.run(["log", "append", directory.file("hard").path] + inputs))
  }

  @Test func aGlobThatIncludesTheLogIsRefused() throws {
    let all = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
      .filter { $0 != "cache" }.map { directory.file($0).path }
    try expectRefusal(try Tool.run(["log", "append", log] + all))
  }

  @Test func aLogIsNotAppendedToItselfFromTheStandardInput() throws {
    for arguments in [[], ["-"], ["/dev/stdin"]] {
      try expectRefusal(
        try Tool.run(["log", "append", log] + arguments, redirections: "<'\(log)'"))
    }
    // One that is not read does no harm.
    let run = try Tool.run(["log", "cat", log], redirections: "<'\(log)'")
    #expect(run.code == 0 && run.text == "one\ntwo\n")
  }

  @Test func anEmptyFileThatIsToBecomeTheLogIsRefused() throws {
    let empty = directory.file("empty")
    try Data().write(to: empty)
    try expectRefusal(try Tool.run("log", "append", empty.path, empty.path))
    #expect(try Data(contentsOf: empty).isEmpty)
  }

  @Test func aFileOfAStoreIsNoValueOfIt() throws {
    let segments = try FileManager.default.contentsOfDirectory(atPath: cache + "/log")
    for name in ["data.mdb", "log/" + (try #require(segments.first))] {
      let redirection = "<'\(cache)/\(name)'"
      try expectRefusal(try Tool.run(["cache", "set", cache, "other"], redirections: redirection))
      let elsewhere = directory.file("elsewhere").path
      let run = try Tool.run(["cache", "set", elsewhere, "key"], redirections: redirection)
      #expect(run.code == 0)
    }
  }

  @Test(arguments: [
    ["log", "cat"], ["log", "tail"], ["log", "stat"], ["log", "verify"],
    ["log", "append", "--json"],
    ["log", "salvage"],
  ])
  func nothingIsPrintedIntoTheLog(_ command: [String]) throws {
    let target = command.last == "salvage" ? [directory.file("saved").path] : []
    for redirection in [">>'\(log)'", "1<>'\(log)'"] {
      let run = try Tool.run(command + [log] + target, redirections: redirection)
      try expectRefusal(run, "output file is input file")
    }
  }

  @Test(arguments: ["ls", "stat", "verify", "rebuild", "salvage"])
  func nothingIsPrintedIntoAStore(_ name: String) throws {
    let target = name == "salvage" ? [directory.file("saved").path] : []
    let run = try Tool.run(
      ["cache", name, cache] + target, redirections: ">>'\(cache)/data.mdb'")
    try expectRefusal(run, "output file is input file")
  }
}
