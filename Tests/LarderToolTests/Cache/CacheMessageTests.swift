// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// Sentences that say what to do next.
struct CacheMessageTests {
  private let directory: TemporaryDirectory
  private let folder: String

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("folder").path
  }

  private struct Book: Codable, Identifiable, Sendable {
    var id: Int
  }

  @Test func aNumberThatIsNotFoundAsTextIsFoundAsANumber() throws {
    let archive = try Archive<Book>(at: .path(folder))
    try archive.insert(Book(id: 1))
    try archive.close()
    let get = try Tool.run("archive", "get", folder, "1")
    #expect(get.code == 3)
    #expect(get.errors.contains("under 1 as text, but one under the number: --int"))
    #expect(try Tool.run("archive", "get", "--int", folder, "1").text == "{\"id\":1}\n")
    let none = try Tool.run("archive", "get", folder, "2")
    #expect(none.code == 3 && none.errors == "larder: \(folder): there is no element under 2\n")

    let listed = try Tool.run("archive", "ls", folder)
    #expect(listed.text == "0x8000000000000001\n")
    #expect(listed.errors == "larder: \(folder): its keys look like numbers; --int shows them so\n")
    let numbers = try Tool.run("archive", "ls", "--int", folder)
    #expect(numbers.text == "1\n" && numbers.errors.isEmpty)
  }

  @Test func aCacheThatHasTextAndNumbersIsTold() throws {
    let cache = try DiskCache<Int, Data>(at: .path(folder))
    try cache.set(Data("value".utf8), forKey: -7)
    try cache.close()
    let get = try Tool.run("cache", "get", folder, "--", "-7")
    #expect(get.code == 3 && get.errors.contains("--int takes keys for numbers"))
    #expect(try Tool.run("cache", "set", folder, "text", "value").code == 0)
    #expect(try Tool.run("cache", "ls", folder).errors.isEmpty)
    #expect(try Tool.run("cache", "ls", "--prefix", "none", folder).errors.isEmpty)
  }

  @Test func theLogIsThereBeforeTheFirstCheckpoint() throws {
    let cache = try DiskCache<String, Data>(at: .path(folder))
    try cache.set(Data(count: 1000), forKey: "key")
    let statistics = try Tool.run("cache", "stat", "--json", folder).object
    #expect(statistics["segmentCount"] as? Int == 1)
    #expect(statistics["logSize"] as? Int ?? 0 >= 1000)
    let table = try Tool.run("cache", "stat", folder).text
    #expect(table.contains("  1 segment of ") && !table.contains("0 segments"))
    #expect(table.contains("not known before the first checkpoint"))
    #expect(!table.contains("1 entry of 0 bytes"))
    try cache.checkpoint()
    #expect(try !Tool.run("cache", "stat", folder).text.contains("not known"))
    try cache.close()
  }

  @Test func aKeyThatIsTooLargeIsToldAsAKey() throws {
    let key = String(repeating: "k", count: 70_000)
    let run = try Tool.run("cache", "set", folder, key, "value")
    #expect(run.code == 2 && run.errors.contains("a key and extended data have at most 65536"))
    #expect(!run.errors.contains("message"))
  }

  @Test(arguments: ["5", "90"])
  func aTimeToLiveHasAUnit(_ text: String) throws {
    let run = try Tool.run("cache", "set", folder, "key", "value", "--expires", text)
    #expect(run.code == 64 && run.errors.contains("a unit (s, m, h, d or w)"))
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test(arguments: [["stat"], ["ls"], ["get", "key"], ["set", "key", "value"], ["verify"]])
  func aForeignFileOfAFewBytesIsNoDamage(_ command: [String]) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let file = URL(fileURLWithPath: folder + "/data.mdb")
    try Data("five!".utf8).write(to: file)
    let run = try Tool.run(["cache", command[0], folder] + command.dropFirst())
    #expect(run.code == 2 && run.errors.contains("there is something else in that folder"))
    #expect(try Data(contentsOf: file) == Data("five!".utf8))
  }
}
