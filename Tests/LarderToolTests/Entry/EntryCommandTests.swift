// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

@testable import LarderTool

/// `larder entry ls`, `get` and `stat`.
struct EntryCommandTests {
  private let directory: TemporaryDirectory
  private let folder: String

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("pages").path
  }

  private func open(version: Int = 7) throws -> EntryCache<String> {
    var configuration = EntryCacheConfiguration()
    // What is read here has not been flushed.
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 1 << 20
    return try EntryCache<String>(
      at: .path(folder), valueCount: 2, version: version, configuration: configuration)
  }

  private func list(_ arguments: String...) throws -> [Substring] {
    let run = try Tool.run(["entry", "ls", folder] + arguments)
    #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    return run.lines
  }

  @Test func valuesComeOutByteForByteWhileAProgramWrites() throws {
    let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let pages = try open()
    try pages.setValues([Data("head".utf8), Data()], forKey: "home")
    try pages.setValues([Data([0, 255]), large], forKey: "news")
    #expect(try Tool.run("entry", "get", folder, "home", "0").text == "head")
    let empty = try Tool.run("entry", "get", folder, "home", "1")
    #expect(empty.code == 0 && empty.output.isEmpty)
    #expect(try Tool.run("entry", "get", folder, "news", "0").output == Data([0, 255]))
    #expect(try Tool.run("entry", "get", folder, "news", "1").output == large)
    try pages.update([0: Data("new".utf8)], forKey: "home")
    #expect(try Tool.run("entry", "get", folder, "home", "0").text == "new")
    try pages.close()
    #expect(try Tool.run("entry", "get", folder, "home", "0").text == "new")
  }

  @Test func whatIsNotThereExitsWithThree() throws {
    try open().setValues([Data(), Data()], forKey: "home")
    let run = try Tool.run("entry", "get", folder, "nowhere", "0")
    #expect(run.code == 3 && run.output.isEmpty)
    #expect(run.errors == "larder: \(folder): there is no entry under nowhere\n")
  }

  @Test func aNumberOfNoValueIsAnErrorThatSaysWhichThereAre() throws {
    try open().setValues([Data(), Data()], forKey: "home")
    for index in [["2"], []] {
      let run = try Tool.run(["entry", "get", folder, "home"] + index)
      #expect(run.code == 2 && run.output.isEmpty)
      #expect(run.errors.contains("2 values; say which one, 0 to 1"))
    }
    #expect(try Tool.run("entry", "get", folder, "home", "--", "-1").code == 64)
    #expect(try Tool.run("entry", "get", folder, "home", "first").code == 64)
    let single = directory.file("single").path
    let cache = try EntryCache<String>(at: .path(single), valueCount: 1, version: 1)
    try cache.setValues([Data("only".utf8)], forKey: "key")
    #expect(try Tool.run("entry", "get", single, "key").text == "only")
  }

  @Test func lsListsKeysAndTheSizesOfValues() throws {
    let pages = try open()
    try pages.setValues([Data(count: 3), Data(count: 40)], forKey: "b", expiration: .days(1))
    try pages.setValues([Data(count: 30_000), Data()], forKey: "a/1")
    try pages.setValues([Data(), Data()], forKey: "a/2")
    #expect(try list() == ["a/1", "a/2", "b"])
    #expect(try list("--prefix", "a/", "--reverse") == ["a/2", "a/1"])
    #expect(try list("--limit", "1") == ["a/1"])
    #expect(try list("--long").last?.contains("43 bytes") == true)
    let objects = try list("--json").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.map { $0["key"] as? String } == ["a/1", "a/2", "b"])
    #expect(objects.map { $0["size"] as? Int } == [30_000, 0, 43])
    #expect(objects.map { $0["sizes"] as? [Int] } == [[30_000, 0], [0, 0], [3, 40]])
    #expect(objects[0]["expires"] is NSNull && objects[2]["expires"] is Double)
  }

  @Test func keysOfTypeIntAreNumbers() throws {
    let numbers = try EntryCache<Int>(at: .path(folder), valueCount: 1, version: 1)
    for key in [-5, 0, 4_711] { try numbers.setValues([Data("\(key)".utf8)], forKey: key) }
    #expect(try list("--int") == ["-5", "0", "4711"])
    #expect(try Tool.run("entry", "get", folder, "--int", "4711", "0").text == "4711")
    #expect(try Tool.run("entry", "get", folder, "--hex", "8000000000000000").text == "0")
  }

  @Test func statShowsTheFiguresToPeopleAndPrograms() throws {
    let pages = try open()
    try pages.setValues([Data(count: 3), Data(count: 40)], forKey: "a")
    let table = try Tool.run("entry", "stat", folder)
    #expect(table.code == 0 && table.errors.isEmpty)
    for text in ["values an entry", "cache version", "43 bytes", "process "] {
      #expect(table.text.contains(text), "\(text)")
    }
    let object = try Tool.run("entry", "stat", "--json", folder).object
    #expect(object["count"] as? Int == 1 && object["cost"] as? Int == 43)
    #expect(object["valueCount"] as? Int == 2 && object["cacheVersion"] as? Int == 7)
    #expect(object["writerProcess"] as? Int == Int(ProcessInfo.processInfo.processIdentifier))
  }

  @Test func folderOfAnotherKindIsNamed() throws {
    let cache = directory.file("cache").path
    try DiskCache<String, String>(at: .path(cache)).set("value", forKey: "key")
    try open().close()
    for command in [["ls"], ["get", "key", "0"], ["stat"]] {
      let run = try Tool.run(["entry", command[0], cache] + command.dropFirst())
      #expect(run.code == 2 && run.output.isEmpty)
      #expect(run.errors.contains("larder cache"), "\(run.errors)")
    }
    for path in [folder, cache] {
      let run = try Tool.run("archive", "ls", path)
      #expect(run.code == 2 && run.errors.contains(path))
    }
    let missing = directory.file("missing").path
    let run = try Tool.run("entry", "ls", missing)
    #expect(run.code == 2 && run.errors.contains(missing))
    #expect(!FileManager.default.fileExists(atPath: missing))
  }

  @Test func larderCacheLooksAfterTheFolderButStoresNothingInIt() throws {
    let pages = try open()
    for number in 1...100 {
      try pages.setValues([Data("\(number)".utf8), Data(count: number)], forKey: "key \(number)")
    }
    try pages.close()
    let set = try Tool.run("cache", "set", "--raw", folder, "key", "value")
    #expect(set.code == 2 && set.errors.contains("larder entry"), "\(set.errors)")
    #expect(try Tool.run("cache", "stat", folder).text.contains("see larder entry"))
    #expect(try Tool.run("cache", "verify", folder).code == 0)
    #expect(try Tool.run("cache", "rm", folder, "key 1").code == 0)
    let copy = directory.file("copy").path
    #expect(try Tool.run("cache", "backup", folder, copy).code == 0)
    #expect(try Tool.run("entry", "get", copy, "key 2", "0").text == "2")
    let saved = directory.file("saved").path
    #expect(try Tool.run("cache", "salvage", folder, saved).code == 0)
    #expect(try Tool.run("cache", "compact", saved).code == 0)
    let rescued = try EntryCache<String>(at: .path(saved), valueCount: 2, version: 7)
    #expect(try rescued.count == 99)
    #expect(try rescued.snapshot(forKey: "key 99")?.data(at: 1) == Data(count: 99))
  }
}
