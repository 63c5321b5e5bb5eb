// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// `ls`, `get`, `set` and `rm`.
struct CacheEntryTests {
  private let directory: TemporaryDirectory
  private let cache: String

  init() throws {
    directory = try TemporaryDirectory()
    cache = directory.file("a.cache").path
  }

  private func set(
    _ arguments: String..., input: Data = Data(), location: SourceLocation = #_sourceLocation
  ) throws {
    let run = try Tool.run(["cache", "set", cache] + arguments, input: input)
    #expect(run.code == 0 && run.output.isEmpty, "\(run.errors)", sourceLocation: location)
  }

  private func list(_ arguments: String...) throws -> [Substring] {
    let run = try Tool.run(["cache", "ls", cache] + arguments)
    #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
    return run.lines
  }

  @Test func whatIsSetComesBackByteForByte() throws {
    let large = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try set("large", input: large)
    try set("none", "")
    try set("text", "hello")
    #expect(try Tool.run("cache", "get", cache, "large").output == large)
    #expect(try Tool.run("cache", "get", cache, "text").text == "hello")
    let none = try Tool.run("cache", "get", cache, "none")
    #expect(none.code == 0 && none.output.isEmpty)
    try set("text", "bye")
    #expect(try Tool.run("cache", "get", cache, "text").text == "bye")
  }

  @Test func aKeyThatIsNotThereExitsWithThree() throws {
    try set("there", "1")
    for arguments in [["nowhere"], ["--extended", "nowhere"], ["--hex", "00"]] {
      let run = try Tool.run(["cache", "get", cache] + arguments)
      #expect(run.code == 3 && run.output.isEmpty)
      #expect(run.errors.hasPrefix("larder: \(cache): there is no entry under "))
    }
  }

  @Test func urlsOfAProgramAreText() throws {
    func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
    do {
      let pages = try DiskCache<URL, Data>(at: .path(cache), coder: .data)
      for text in ["https://b.example/", "https://a.example/x?y=z"] {
        try pages.set(Data("old".utf8), forKey: url(text))
      }
    }
    #expect(try list() == ["https://a.example/x?y=z", "https://b.example/"])
    #expect(try Tool.run("cache", "get", cache, "https://b.example/").text == "old")
    try set("https://c.example/", "new")
    #expect(
      try Tool.run("cache", "rm", "-q", "--prefix", "https://a.example/", cache).code == 0)
    let pages = try DiskCache<URL, Data>(at: .path(cache), coder: .data)
    #expect(try pages.keys() == [url("https://b.example/"), url("https://c.example/")])
    #expect(try pages.value(forKey: url("https://c.example/")) == Data("new".utf8))
  }

  /// In the folder of a program whose keys are text, the forms of one text are one key.
  @Test func aTextIsOneKeyInEachOfItsForms() throws {
    let (whole, parts) = ("caf\u{e9}", "cafe\u{301}")
    func open() throws -> DiskCache<String, Data> {
      try DiskCache<String, Data>(at: .path(cache), coder: .data, keyCoder: .string)
    }
    do { try open().set(Data("old".utf8), forKey: parts) }
    for form in [whole, parts] {
      #expect(try Tool.run("cache", "get", cache, form).text == "old")
      #expect(try list("--prefix", form) == ["caf\u{e9}"])
    }
    try set(parts, "new")
    do {
      let tokens = try open()
      #expect(try tokens.keys() == [whole] && tokens.count == 1)
      #expect(try tokens.value(forKey: parts) == Data("new".utf8))
      try tokens.close()
    }
    let removal = try Tool.run("cache", "rm", cache, parts)
    #expect(removal.errors.contains("1 entry removed"))
    #expect(try open().count == 0)
  }

  @Test func extendedDataComesBackWithoutTheValue() throws {
    try set("key", "value", "--extended", "meta")
    #expect(try Tool.run("cache", "get", "--extended", cache, "key").text == "meta")
    try set("key", "value")
    let run = try Tool.run("cache", "get", "--extended", cache, "key")
    #expect(run.code == 0 && run.output.isEmpty)
  }

  @Test func lsListsByKeyByPrefixByAgeAndBackwards() throws {
    for key in ["b/2", "a/1", "c/3", "b/1"] { try set(key, "value of \(key)") }
    #expect(try list() == ["a/1", "b/1", "b/2", "c/3"])
    #expect(try list("--reverse") == ["c/3", "b/2", "b/1", "a/1"])
    #expect(try list("--prefix", "b/") == ["b/1", "b/2"])
    #expect(try list("--prefix", "b/", "--reverse", "--limit", "1") == ["b/2"])
    #expect(try list("--recency") == ["b/2", "a/1", "c/3", "b/1"])
    #expect(try list("--recency", "--reverse", "-n", "2") == ["b/1", "c/3"])
    #expect(try list("--limit", "0").isEmpty)
    #expect(try list("--prefix", "x").isEmpty)
  }

  @Test func lsTellsSizesAndTimes() throws {
    let before = Date()
    try set("lives", "12345", "--extended", "abc", "--expires", "1h")
    try set("stays", input: Data(count: 50_000))
    let objects = try list("--json").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.map { $0["key"] as? String } == ["lives", "stays"])
    #expect(objects.map { $0["size"] as? Int } == [5, 50_000])
    #expect(objects.map { $0["extendedSize"] as? Int } == [3, 0])
    let written = try #require(objects[0]["written"] as? Double)
    #expect(written >= before.timeIntervalSince1970 - 1e-3)
    // It counts from when the tool began to store it.
    let expires = try #require(objects[0]["expires"] as? Double)
    #expect(expires > before.timeIntervalSince1970 + 3_599 && expires < written + 3_601)
    #expect(objects[1]["expires"] is NSNull)
    let long = try list("--long")
    #expect(long.count == 2 && long[0].contains("5 bytes") && long[0].hasSuffix("  lives"))
    #expect(long[1].contains("48.8 KiB") && long[1].contains("never"))
  }

  @Test func keysOfAnyKindAreShownAndTaken() throws {
    let numbers = try DiskCache<Int, Data>(at: .path(cache), coder: .data)
    for key in [-5, 0, 4_711] { try numbers.set(Data("\(key)".utf8), forKey: key) }
    try numbers.close()
    #expect(try list("--int") == ["-5", "0", "4711"])
    let bytes = try Tool.run("cache", "ls", cache)
    #expect(bytes.lines == ["0x7ffffffffffffffb", "0x8000000000000000", "0x8000000000001267"])
    #expect(bytes.errors.contains("--int shows them so"))
    #expect(try Tool.run("cache", "get", cache, "--int", "4711").text == "4711")
    #expect(try Tool.run("cache", "get", cache, "--int", "--", "-5").text == "-5")
    let hexadecimal = try Tool.run("cache", "get", cache, "--hex", "0x8000000000000000")
    #expect(hexadecimal.text == "0")
    try set("--hex", "0a", "newline")
    try set("", "empty")
    try set("0xff", "text that looks like digits")
    #expect(try list("--limit", "3") == ["0x", "0x0a", "0x30786666"])
    #expect(try Tool.run("cache", "get", cache, "0xff").text == "text that looks like digits")
    #expect(try Tool.run("cache", "get", cache, "--hex", "0x30786666").code == 0)
    #expect(try Tool.run("cache", "rm", cache, "--int", "4711", "0").code == 0)
    #expect(try list("--int", "-n", "9").suffix(1) == ["-5"])
  }

  @Test func rmRemovesKeysPrefixesOrEverythingAndCounts() throws {
    for key in ["a1", "a2", "a3", "b1", "b2"] { try set(key, "value") }
    try set("large", input: Data(count: 50_000))
    let keys = try Tool.run("cache", "rm", cache, "a1", "nowhere", "a1")
    #expect(keys.code == 0 && keys.errors == "larder: \(cache): 1 entry removed\n")
    #expect(try list() == ["a2", "a3", "b1", "b2", "large"])
    let prefix = try Tool.run("cache", "rm", "--prefix", "a", cache)
    #expect(prefix.code == 0 && prefix.errors == "larder: \(cache): 2 entries removed\n")
    let all = try Tool.run("cache", "rm", "--all", cache)
    #expect(all.code == 0 && all.errors == "larder: \(cache): 3 entries removed\n")
    #expect(try list().isEmpty)
    let quiet = try Tool.run("cache", "rm", "--all", "--quiet", cache)
    #expect(quiet.code == 0 && quiet.errors.isEmpty)
  }

  private struct Person: Codable, Sendable {
    var name: String
    var born: Int
  }

  @Test func valuesThatAreCBORComeOutAsJSON() throws {
    let people = try DiskCache<String, Person>(at: .path(cache))
    try people.set(Person(name: "Ada", born: 1815), forKey: "ada")
    try people.close()
    let run = try Tool.run("cache", "get", cache, "ada")
    #expect(try run.object["name"] as? String == "Ada")
    #expect(try run.object["born"] as? Int == 1815)
    #expect(run.text.hasSuffix("}\n"))
    let raw = try Tool.run("cache", "get", "--raw", cache, "ada").output
    #expect(raw.first == 0xA2)
    // Text is no CBOR, so it is not taken, and nothing changes; what is CBOR can be.
    let refused = try Tool.run("cache", "set", cache, "grace", "plain text")
    #expect(refused.code == 2 && refused.errors.contains("\"cbor\""))
    #expect(try list() == ["ada"])
    try set("--raw", "copy", input: raw)
    #expect(try Tool.run("cache", "get", cache, "copy").text == run.text)
    try set("--raw", "broken", input: Data([0xFF]))
    let broken = try Tool.run("cache", "get", cache, "broken")
    #expect(broken.code == 2 && broken.errors.contains("not valid CBOR"))
    #expect(try Tool.run("cache", "get", "--raw", cache, "broken").output == Data([0xFF]))
  }

  @Test func aProgramReadsWhatTheToolStored() throws {
    try set("key", "value", "--expires", "never")
    try set("short", "value", "--expires", "30d")
    let strings = try DiskCache<String, Data>(at: .path(cache), coder: .data)
    #expect(try strings.value(forKey: "key") == Data("value".utf8))
    #expect(try strings.info(forKey: "key")?.expires == nil)
    #expect(try strings.info(forKey: "short")?.expires != nil)
    try strings.close()
  }
}
