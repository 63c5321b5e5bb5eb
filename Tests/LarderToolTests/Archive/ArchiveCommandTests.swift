// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

@testable import LarderTool

/// `larder archive ls`, `get`, `query` and `stat`.
struct ArchiveCommandTests {
  private struct User: Codable, Identifiable, Sendable {
    var id: String
    var age: Int
    var email: String?
    var tags: [String] = []
    var joined = Date(timeIntervalSince1970: 1_700_000_000)
  }

  private let directory: TemporaryDirectory
  private let folder: String
  private let users = [
    User(id: "ada", age: 36, email: "ada@example.org", tags: ["math"]),
    User(id: "bob", age: 20), User(id: "carl", age: 28, tags: ["math", "code"]),
    User(id: "dora", age: 36), User(id: "eve", age: 20, email: ""),
  ]

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("users").path
  }

  private func open(coder: Coder<User> = .cbor) throws -> Archive<User> {
    var configuration = ArchiveConfiguration()
    // What is read here has not been flushed.
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 1 << 20
    let archive = try Archive<User>(
      at: .path(folder), coder: coder, indexes: [ArchiveIndex("age", \.age)],
      configuration: configuration)
    try archive.upsert(all: users)
    return archive
  }

  private func query(_ arguments: String...) throws -> [String] {
    let run = try Tool.run(["archive", "query", folder] + arguments + ["--keys"])
    #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    return run.lines.map(String.init)
  }

  @Test func elementsAreListedAndReadWhileAProgramWrites() throws {
    let archive = try open()
    #expect(try Tool.run("archive", "ls", folder).lines == ["ada", "bob", "carl", "dora", "eve"])
    #expect(try Tool.run("archive", "ls", folder, "-r", "-n", "2").lines == ["eve", "dora"])
    let ada = try Tool.run("archive", "get", folder, "ada")
    #expect(try ada.object["age"] as? Int == 36)
    #expect(ada.text.contains(#""joined":"2023-11-14T22:13:20Z""#) && ada.text.hasSuffix("}\n"))
    #expect(
      try Tool.run("archive", "get", "--raw", folder, "ada").output
        == Coder<User>.cbor.encode(users[0]))
    let none = try Tool.run("archive", "get", folder, "zoe")
    #expect(none.code == 3 && none.output.isEmpty)
    #expect(none.errors == "larder: \(folder): there is no element under zoe\n")
    try archive.upsert(User(id: "zoe", age: 1))
    #expect(try Tool.run("archive", "get", folder, "zoe").code == 0)
    let long = try Tool.run("archive", "ls", "--long", folder)
    #expect(long.lines.count == 6 && long.lines[0].hasSuffix("  ada"))
    let json = try Tool.run("archive", "ls", "--json", "--limit", "1", folder)
    #expect(try json.object["key"] as? String == "ada")
    try archive.close()
  }

  @Test func queriesFilterSortAndLimit() throws {
    let archive = try open()
    #expect(try query() == ["ada", "bob", "carl", "dora", "eve"])
    #expect(try query("--where", "age >= 28") == ["ada", "carl", "dora"])
    #expect(try query("--where", "age >= 28", "--where", "tags contains math") == ["ada", "carl"])
    #expect(try query("--where", "email = null") == ["bob", "carl", "dora"])
    #expect(try query("--where", "id contains \"A\"", "-i") == ["ada", "carl", "dora"])
    #expect(try query("--where", "joined < 2024-01-01").count == 5)
    // Ties stay in the order of the keys, in both directions.
    #expect(try query("--sort", "age") == ["bob", "eve", "carl", "ada", "dora"])
    #expect(try query("--sort", "age", "-r") == ["ada", "dora", "carl", "bob", "eve"])
    #expect(
      try query("--sort", "age", "--sort", "email") == ["bob", "eve", "carl", "dora", "ada"])
    #expect(try query("--sort", "age", "--limit", "2") == ["bob", "eve"])
    #expect(try query("--sort", "age", "--skip", "1", "--limit", "2") == ["eve", "carl"])
    #expect(try query("--skip", "3") == ["dora", "eve"])
    #expect(try query("--descending", "--limit", "1") == ["eve"])
    #expect(try query("--limit", "0") == [])
    #expect(try query("--where", "age > 100") == [])
    #expect(try query("--where", "joined > today") == [])
    try archive.close()
  }

  @Test func aFieldThatNoElementHasIsNamed() throws {
    try open().close()
    let misspelt = try Tool.run(
      "archive", "query", folder, "--where", "agee > 20", "--where", "name.first = A", "--count")
    #expect(misspelt.code == 3 && misspelt.text == "0\n")
    #expect(
      misspelt.errors == "larder: \(folder): no element has a field 'agee' or 'name.first'\n")
    let sorted = try Tool.run("archive", "query", folder, "--sort", "agee", "--keys")
    #expect(sorted.code == 3 && sorted.lines.count == 5)
    #expect(sorted.errors.contains("'agee'"))
    // One that some have is known, whether or not these are printed.
    #expect(try query("--where", "email != null").count == 2)
    // Elements behind the limit were not read.
    let first = try Tool.run(
      "archive", "query", folder, "--where", "agee = null", "--limit", "1", "--keys")
    #expect(first.code == 0 && first.errors.isEmpty)
  }

  @Test func aValueOfAnotherTypeThanTheFieldIsAnError() throws {
    let archive = try open()
    for (condition, type) in [
      ("age > abc", "a number"), ("age != abc", "a number"), ("joined > soon", "a date"),
      ("email > 5", "text"), ("tags = math", "an array"),
    ] {
      for more in [[], ["--count"], ["--sort", "id"], ["--where", "age > 100"]] {
        let run = try Tool.run(["archive", "query", folder, "--where", condition] + more)
        #expect(run.code == 64 && run.output.isEmpty, "\(condition) \(more)")
        let said = run.errors.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.contains("'\(condition)': ") && said.contains(" is \(type), "), "\(said)")
      }
    }
    // Who reads what is printed anyway is told, too.
    #expect(try Tool.run("archive", "query", folder, "--where", "age != x", "-n", "1").code == 64)
    try archive.close()
  }

  @Test func resultsAreOneObjectALine() throws {
    try open().close()
    let run = try Tool.run("archive", "query", folder, "--where", "age = 20", "--sort", "id")
    #expect(run.code == 0 && run.errors.isEmpty)
    let ids = try run.lines.map {
      try (JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])?["id"] as? String
    }
    #expect(ids == ["bob", "eve"])
    let count = try Tool.run("archive", "query", folder, "--where", "age = 20", "--count")
    #expect(count.text == "2\n")
    #expect(try Tool.run("archive", "query", folder, "--count", "-n", "3").text == "3\n")
    let explained = try Tool.run(
      "archive", "query", folder, "--where", "age = 20", "--sort", "id", "--explain")
    #expect(explained.output == run.output)
    #expect(
      explained.errors.hasPrefix(
        "larder: \(folder): 5 elements read by primary key, 2 matched, sorted by id, 2 printed, in "
      ))
  }

  @Test func aSortWithALimitIsThatOfEverything() throws {
    var generator = SeededGenerator(seed: 6)
    let archive = try Archive<Number>(at: .path(folder))
    let numbers = (0..<5_000).map {
      Number(id: $0, value: .random(in: 0..<1_000, using: &generator))
    }
    try archive.upsert(all: numbers)
    try archive.close()
    let expected = numbers.sorted { ($0.value, $0.id) < ($1.value, $1.id) }.map { String($0.id) }
    let all = try Tool.run("archive", "query", folder, "--sort", "value", "--keys", "--int")
    #expect(all.lines.map(String.init) == expected)
    let some = try Tool.run(
      "archive", "query", folder, "--sort", "value", "--keys", "--int", "-n", "10", "--skip", "5")
    #expect(some.lines.map(String.init) == Array(expected[5..<15]))
  }

  private struct Number: Codable, Identifiable, Sendable {
    var id: Int
    var value: Int
  }

  @Test(arguments: ["json", "plist"])
  func elementsOfOtherCodersAreReadAsWell(_ format: String) throws {
    try open(coder: format == "json" ? .json : .binaryPlist).close()
    #expect(try query("--where", "age >= 28", "--where", "tags contains math") == ["ada", "carl"])
    #expect(try query("--where", "joined < 2024-01-01", "--sort", "age", "-n", "1") == ["bob"])
    #expect(try Tool.run("archive", "get", folder, "ada").object["age"] as? Int == 36)
    #expect(
      try Tool.run("archive", "stat", "--json", folder).object["format"] as? String == format)
  }

  @Test func elementsOfAProgramsOwnCoderNeedTheirFormat() throws {
    let coder = Coder<User>(
      format: "mine", encode: { try JSONEncoder().encode($0) },
      decode: { try JSONDecoder().decode(User.self, from: $0) })
    try open(coder: coder).close()
    let refused = try Tool.run("archive", "query", folder)
    #expect(refused.code == 2 && refused.output.isEmpty && refused.errors.contains("--format"))
    #expect(try query("--format", "json", "--where", "age = 28") == ["carl"])
    #expect(try Tool.run("archive", "get", "--raw", folder, "ada").output.first == 0x7B)
    let wrong = try Tool.run("archive", "query", "--format", "cbor", folder)
    #expect(wrong.code == 0 && wrong.output.isEmpty)
    #expect(wrong.errors.contains("5 elements are left out, not being valid cbor"))
    #expect(try Tool.run("archive", "get", "--format", "plist", folder, "ada").code == 2)
    #expect(try Tool.run("archive", "stat", folder).text.contains("a program's own"))
  }

  @Test func statShowsTheFiguresToPeopleAndPrograms() throws {
    let archive = try open()
    let table = try Tool.run("archive", "stat", folder)
    #expect(table.code == 0 && table.errors.isEmpty)
    for text in ["elements", "element format", "cbor", "process "] {
      #expect(table.text.contains(text), "\(text)")
    }
    let object = try Tool.run("archive", "stat", "--json", folder).object
    #expect(object["count"] as? Int == 5 && object["format"] as? String == "cbor")
    #expect(object["writerProcess"] as? Int == Int(ProcessInfo.processInfo.processIdentifier))
    #expect(table.text.contains("schema version") && object["schemaVersion"] as? Int == 1)
    try archive.close()
    let schema = ArchiveSchema<User>(
      version: 2, migrations: [ArchiveMigration(from: 1, User.self) { (old: User) in old }])
    try Archive<User>(at: .path(folder), schema: schema).close()
    let migrated = try Tool.run("archive", "stat", "--json", folder).object
    #expect(migrated["schemaVersion"] as? Int == 2 && migrated["format"] as? String == "cbor")
  }

  @Test func larderCacheLooksAfterTheFolderAndItsIndexes() throws {
    try open().close()
    #expect(try Tool.run("cache", "set", folder, "key", "value").code == 2)
    #expect(try Tool.run("cache", "verify", folder).code == 0)
    #expect(try Tool.run("cache", "rm", folder, "dora").code == 0)
    let saved = directory.file("saved").path
    #expect(try Tool.run("cache", "salvage", folder, saved).code == 0)
    let rescued = try Archive<User>(at: .path(saved), indexes: [ArchiveIndex("age", \.age)])
    let found = try rescued.where { $0.age > 30 }.results()
    #expect(found.map(\.id) == ["ada"])
  }

  @Test func folderOfAnotherKindIsNamed() throws {
    let cache = directory.file("cache").path
    try DiskCache<String, String>(at: .path(cache)).set("value", forKey: "key")
    for command in [["ls"], ["get", "key"], ["query"], ["stat"]] {
      let run = try Tool.run(["archive", command[0], cache] + command.dropFirst())
      #expect(run.code == 2 && run.output.isEmpty)
      #expect(run.errors.contains(cache) && run.errors.contains("larder cache"), "\(run.errors)")
    }
    let missing = directory.file("missing").path
    #expect(try Tool.run("archive", "query", missing).code == 2)
    #expect(!FileManager.default.fileExists(atPath: missing))
  }

  @Test func wrongUsageExitsWith64() throws {
    for arguments in [
      ["query"], ["query", folder, "--where", "age"], ["query", folder, "--sort", "a b"],
      ["query", folder, "--where", "age => 20"],
      ["query", folder, "--count", "--keys"], ["query", folder, "--format", "yaml"],
      ["query", folder, "-n", "-1"], ["get", folder], ["get", folder, "--int", "one"],
      ["ls", folder, "--json", "--long"], ["frobnicate"],
    ] {
      let run = try Tool.run(["archive"] + arguments)
      #expect(run.code == 64, "\(arguments)")
      #expect(run.output.isEmpty && !run.errors.isEmpty, "\(arguments)")
    }
    #expect(try directory.names.isEmpty)
  }
}
