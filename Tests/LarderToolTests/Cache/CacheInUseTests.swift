// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

@testable import LarderTool

/// The commands beside a process that has the cache open, and after one that was killed.
struct CacheInUseTests {
  private let directory: TemporaryDirectory
  private let cache: String

  init() throws {
    directory = try TemporaryDirectory()
    cache = directory.file("a.cache").path
  }

  /// Commands that need the cache for themselves.
  static let writers: [[String]] = [
    ["set", "key", "value"], ["rm", "key"], ["rm", "--all"], ["rm", "--prefix", "k"], ["compact"],
    ["rebuild"],
  ]

  @Test(arguments: writers)
  func aCommandThatWritesNamesTheProcessThatHasIt(_ command: [String]) throws {
    let writer = try DiskCache<String, Data>(at: .path(cache), coder: .data)
    try writer.set(Data("mine".utf8), forKey: "key")
    let run = try Tool.run(["cache", command[0], cache] + command.dropFirst())
    #expect(run.code == 2 && run.output.isEmpty)
    #expect(run.errors.hasPrefix("larder: ") && run.errors.contains(cache))
    #expect(run.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    #expect(run.errors.filter { $0 == "\n" }.count == 1)
    #expect(try writer.value(forKey: "key") == Data("mine".utf8))
    try writer.close()
  }

  @Test func salvageLeavesACacheAloneThatIsInUse() throws {
    let writer = try DiskCache<String, Data>(at: .path(cache), coder: .data)
    try writer.set(Data("mine".utf8), forKey: "key")
    let target = directory.file("saved.cache").path
    let run = try Tool.run("cache", "salvage", cache, target)
    #expect(run.code == 2 && run.errors.contains(cache))
    #expect(run.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    #expect(!FileManager.default.fileExists(atPath: target))
    try writer.close()
  }

  @Test func readingCommandsSeeWhatAWriterHasNotFlushed() throws {
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.checkpointInterval = .zero
    let writer = try DiskCache(at: .path(cache), coder: .data, configuration: configuration)
    for number in 1...100 { try writer.set(Data("\(number)".utf8), forKey: "key \(number)") }
    try writer.set(Data(count: 50_000), forKey: "large")
    try writer.remove(forKey: "key 50")
    #expect(try Tool.run("cache", "ls", cache).lines.count == 100)
    #expect(try Tool.run("cache", "get", cache, "key 42").text == "42")
    #expect(try Tool.run("cache", "get", cache, "key 50").code == 3)
    #expect(try Tool.run("cache", "get", cache, "large").output == Data(count: 50_000))
    let object = try Tool.run("cache", "stat", "--json", cache).object
    #expect(object["count"] as? Int == 100)
    #expect(object["writerProcess"] as? Int == Int(ProcessInfo.processInfo.processIdentifier))
    let verify = try Tool.run("cache", "verify", cache)
    #expect(verify.code == 0)
    #expect(verify.text.contains("process \(ProcessInfo.processInfo.processIdentifier) "))
    let target = directory.file("copy.cache").path
    #expect(try Tool.run("cache", "backup", cache, target).code == 0)
    #expect(try Tool.run("cache", "ls", target).lines.count == 100)
    try writer.set(Data("new".utf8), forKey: "new")
    #expect(try Tool.run("cache", "get", cache, "new").text == "new")
    try writer.close()
    #expect(try Tool.run("cache", "stat", cache).text.contains("no process that writes"))
  }

  @Test func readingCommandsWorkWhileAnotherProcessWritesAsFastAsItCan() throws {
    let writer = try RunningTool("demo-cache-writer", cache)
    #expect(writer.read(8 * 2_000).count == 8 * 2_000)
    let list = try Tool.run("cache", "ls", "--int", cache)
    #expect(list.code == 0 && list.errors.isEmpty, "\(list.errors)")
    #expect(list.lines.compactMap { Int($0) } == Array(0..<1_000))
    let verify = try Tool.run("cache", "verify", cache)
    #expect(verify.code == 0, "\(verify.text)\(verify.errors)")
    let target = directory.file("copy.cache").path
    let backup = try Tool.run("cache", "backup", cache, target)
    #expect(backup.code == 0, "\(backup.errors)")
    writer.send(SIGKILL)
    _ = writer.wait()
    // The copy is one moment's: the newest thousand writes up to some number, and nothing else.
    let copy = try DemoDiskCache.open(target)
    let (newest, isWhole) = try DemoDiskCache.inspect(copy)
    #expect(isWhole && newest >= 2_000, "\(newest)")
    try copy.close()
  }

  @Test func nothingIsMissingAfterAWriterWasKilled() throws {
    let writer = try RunningTool("demo-cache-writer", cache)
    let reports = writer.read(8 * 500)
    writer.send(SIGKILL)
    let last = (reports + writer.wait().rest).suffix(8).reversed().reduce(0) {
      $0 << 8 | UInt64($1)
    }
    // Nobody has opened the cache for writing since: these read the log that was left.
    #expect(try Tool.run("cache", "verify", cache).code == 0)
    let get = try Tool.run("cache", "get", "--int", cache, "\(DemoDiskCache.key(last))")
    let value = DemoDiskCache.value(last)
    // One more write may have been made that was not reported any more; it has another key.
    #expect(get.output == value)
    #expect(try Tool.run("cache", "set", "--int", cache, "5000", "after").code == 0)
    #expect(
      try Tool.run("cache", "get", "--int", cache, "\(DemoDiskCache.key(last))").output == value)
    #expect(try Tool.run("cache", "verify", cache).code == 0)
  }
}
