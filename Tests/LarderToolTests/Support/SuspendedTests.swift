// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// Another process, while this one has suspended what it had open.
struct SuspendedTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func anotherProcessAppendsToASuspendedLog() throws {
    let url = directory.file("a.larder")
    let log = try MessageLog(
      at: .url(url), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    try log.append("one")
    let append = ["log", "append", url.path]
    #expect(try Tool.run(append, input: Data("two\n".utf8)).code == 2)
    try log.suspend()
    let run = try Tool.run(append, input: Data("two\n".utf8))
    #expect(run.code == 0, "\(run.errors)")
    try log.resume()
    try log.append("three")
    #expect(try log.messages() == ["one", "two", "three"])
    #expect(try Tool.run(append, input: Data("four\n".utf8)).code == 2)
  }

  @Test func anotherProcessWritesToASuspendedCache() throws {
    let path = directory.file("a.cache").path
    let cache = try DiskCache<String, Data>(at: .path(path), coder: .data)
    try cache.set(Data("one".utf8), forKey: "key")
    let set = ["cache", "set", path, "key", "two"]
    #expect(try Tool.run(set).code == 2)
    try cache.suspend()
    let run = try Tool.run(set)
    #expect(run.code == 0, "\(run.errors)")
    try cache.resume()
    #expect(try cache.value(forKey: "key") == Data("two".utf8))
    #expect(try Tool.run(set).code == 2)
    try cache.close()
  }
}
