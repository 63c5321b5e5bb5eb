// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// `stat`, `verify`, `rebuild`, `salvage`, `compact` and `backup`.
struct CacheMaintenanceTests {
  private let directory: TemporaryDirectory
  private let cache: String
  private static let count = 1_000

  init() throws {
    directory = try TemporaryDirectory()
    cache = directory.file("a.cache").path
    let entries = try DiskCache<String, Data>(at: .path(cache), coder: .data)
    for number in 1...Self.count {
      try entries.set(Data(Self.value(number).utf8), forKey: "key \(number)")
    }
    try entries.set(Data(count: 100_000), forKey: "large")
    try entries.close()
  }

  private static func value(_ number: Int) -> String { "this is value number \(number)." }

  private var data: URL { URL(fileURLWithPath: cache).appendingPathComponent("data.mdb") }

  private var log: StoreLog { StoreLog(URL(fileURLWithPath: cache)) }

  /// Flips a bit in the value of an entry.
  private func damage(_ number: Int) throws {
    let value = Data(Self.value(number).utf8)
    try #require(try log.flip(value, mask: 4) == 1)
    // So short a value lies in the index too.
    try StoreLog.flip(value, mask: 4, in: data)
  }

  /// Changes a byte in the middle of the large value.
  private func damageLargeValue() throws {
    try #require(try log.flip(Data(count: 100_000), at: 50_000, mask: 8) == 1)
  }

  @Test func statShowsTheFiguresToPeopleAndPrograms() throws {
    let table = try Tool.run("cache", "stat", cache)
    #expect(table.code == 0 && table.errors.isEmpty)
    for text in ["1,001\n", "no process that writes", "segments of ", "version 3"] {
      #expect(table.text.contains(text), "\(text)")
    }
    let object = try Tool.run("cache", "stat", "--json", cache).object
    #expect(object["count"] as? Int == Self.count + 1)
    let cost = (1...Self.count).reduce(100_000) { $0 + Self.value($1).utf8.count }
    #expect(object["cost"] as? Int == cost)
    #expect(object["lastVersion"] as? Int == Self.count + 1)
    #expect(try #require(object["segmentCount"] as? Int) > 0)
    #expect(try #require(object["liveSize"] as? Int) > cost)
    #expect(object["pendingCount"] as? Int == 0)
    #expect(object["writerProcess"] is NSNull)
  }

  @Test func verifyOfAGoodCacheSaysSo() throws {
    let run = try Tool.run("cache", "verify", cache)
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(run.lines.count == 1)
    #expect(run.text.hasPrefix("\(cache): all is well, 1,001 intact entries of "))
    let object = try Tool.run("cache", "verify", "--json", cache).object
    #expect(object["isIntact"] as? Bool == true)
    #expect(object["intact"] as? Int == Self.count + 1)
    #expect(object["writerProcess"] is NSNull)
  }

  /// Once the store was open for writing, nothing else tells of it.
  @Test func lostWritesAreToldByEveryCommandOnce() throws {
    let killed = directory.file("killed.cache").path
    do {
      let entries = try DiskCache<String, Data>(at: .path(cache), coder: .data)
      try entries.set(Data("the last value".utf8), forKey: "last")
      try FileManager.default.copyItem(atPath: cache, toPath: killed)
      try entries.close()
    }
    try #require(
      try StoreLog(URL(fileURLWithPath: killed)).flip(Data("the last value".utf8)) == 1)
    for command in ["ls", "stat"] {
      let run = try Tool.run("cache", command, killed)
      #expect(run.code == 1 && run.errors.contains("at least 1 write is lost"), "\(command)")
    }
    #expect(try Tool.run("cache", "get", killed, "last").code == 3)
    #expect(try Tool.run("cache", "verify", killed).code == 1)
    let compact = try Tool.run("cache", "compact", killed)
    #expect(compact.code == 1 && compact.errors.contains("at least 1 write is lost"))
    #expect(try Tool.run("cache", "ls", killed).code == 0)
  }

  @Test func aFlippedBitIsFoundAndCostsOneEntry() throws {
    try damage(500)
    let verify = try Tool.run("cache", "verify", cache)
    #expect(verify.code == 1)
    #expect(verify.text.hasPrefix("\(cache): damaged, 1,000 intact entries"))
    #expect(verify.text.contains("1 damaged entry") && verify.text.contains("salvage"))
    #expect(try Tool.run("cache", "verify", "--json", cache).object["damaged"] as? Int == 1)

    let get = try Tool.run("cache", "get", cache, "key 500")
    #expect(get.code == 1 && get.output.isEmpty)
    #expect(try Tool.run("cache", "get", cache, "key 501").text == Self.value(501))
    let list = try Tool.run("cache", "ls", cache)
    #expect(list.code == 1 && list.lines.count == Self.count)
    #expect(list.errors.contains("with the key \"key 500\" is damaged"))

    let target = directory.file("saved.cache").path
    let salvage = try Tool.run("cache", "salvage", cache, target)
    #expect(salvage.code == 1)
    #expect(salvage.text.hasPrefix("\(target): 1,000 intact entries"))
    #expect(try Tool.run("cache", "verify", target).code == 0)
    #expect(try Tool.run("cache", "get", target, "key 500").code == 3)
    #expect(try Tool.run("cache", "get", target, "key 1000").text == Self.value(1_000))
    #expect(try Tool.run("cache", "get", target, "large").output == Data(count: 100_000))

    let rm = try Tool.run("cache", "rm", cache, "key 500", "key 501")
    #expect(rm.code == 0 && rm.errors.contains("2 entries removed"))
    #expect(try Tool.run("cache", "ls", cache).code == 0)
  }

  @Test func aDamagedLargeValueIsFoundAndNoBackupIsMadeOfIt() throws {
    try damageLargeValue()
    let verify = try Tool.run("cache", "verify", "--json", cache)
    #expect(verify.code == 1)
    #expect(try verify.object["isIntact"] as? Bool == false)
    #expect(try verify.object["damaged"] as? Int == 1)
    #expect(try verify.object["intact"] as? Int == Self.count)
    let get = try Tool.run("cache", "get", cache, "large")
    #expect(get.code == 1 && get.output.isEmpty)
    let target = directory.file("copy.cache").path
    #expect(try Tool.run("cache", "backup", cache, target).code == 1)
    #expect(try directory.names == ["a.cache"])
    #expect(try Tool.run("cache", "salvage", cache, target).code == 1)
    #expect(try Tool.run("cache", "ls", target).lines.count == Self.count)
  }

  @Test func aCacheThatCannotBeOpenedIsDamagedForVerify() throws {
    try Data().write(to: data)
    let run = try Tool.run("cache", "verify", cache)
    #expect(run.code == 1 && run.errors.isEmpty)
    #expect(run.text.hasPrefix("\(cache): damaged\n  "))
    let json = try Tool.run("cache", "verify", "--json", cache)
    #expect(json.code == 1)
    #expect(try json.object["isIntact"] as? Bool == false)
    #expect(try Tool.run("cache", "ls", cache).code == 1)
  }

  @Test func salvageOfAGoodCacheLosesNothing() throws {
    let target = directory.file("saved.cache").path
    let run = try Tool.run("cache", "salvage", "--json", cache, target)
    #expect(run.code == 0, "\(run.errors)")
    #expect(try run.object["intact"] as? Int == Self.count + 1)
    #expect(try run.object["damaged"] as? Int == 0)
    #expect(try Tool.run("cache", "ls", target).output == Tool.run("cache", "ls", cache).output)
    let again = try Tool.run("cache", "salvage", cache, directory.file("again.cache").path)
    #expect(again.text.contains("nothing was lost"))
  }

  @Test func salvageWithoutAnIndexDoesNotSayThatNothingWasLost() throws {
    try FileManager.default.removeItem(at: data)
    let target = directory.file("saved.cache").path
    let run = try Tool.run("cache", "salvage", cache, target)
    #expect(run.code == 1)
    #expect(run.text.contains("nobody can tell") && !run.text.contains("nothing was lost"))
    #expect(try Tool.run("cache", "ls", target).lines.count == Self.count + 1)
  }

  @Test func rebuildMakesALostIndexAnew() throws {
    let before = try Tool.run("cache", "ls", cache).output
    try FileManager.default.removeItem(atPath: cache + "/data.mdb")
    let run = try Tool.run("cache", "rebuild", cache)
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.text.contains("intact entries"))
    #expect(try Tool.run("cache", "ls", cache).output == before)
  }

  @Test func compactGivesRoomBackAndKeepsTheRest() throws {
    let size = { try Tool.run("cache", "stat", "--json", cache).object["logSize"] as? Int }
    let before = try #require(try size())
    #expect(try Tool.run("cache", "rm", "--prefix", "key ", cache).code == 0)
    let run = try Tool.run("cache", "compact", cache)
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.errors.contains(" of log before, ") && run.errors.contains(" of index before, "))
    #expect(run.errors.hasSuffix(" now\n"))
    #expect(try #require(try size()) < before)
    #expect(try Tool.run("cache", "get", cache, "large").output == Data(count: 100_000))
    #expect(try Tool.run("cache", "verify", cache).code == 0)
    let quiet = try Tool.run("cache", "compact", "--quiet", cache)
    #expect(quiet.code == 0 && quiet.errors.isEmpty)
  }

  @Test func backupCopiesEverything() throws {
    let target = directory.file("copy.cache").path
    let run = try Tool.run("cache", "backup", cache, target)
    #expect(run.code == 0, "\(run.errors)")
    #expect(run.errors.hasPrefix("larder: \(target): 1,001 entries of "))
    #expect(
      try Tool.run("cache", "ls", "--long", target).output
        == Tool.run("cache", "ls", "--long", cache).output)
    #expect(try Tool.run("cache", "get", target, "key 77").text == Self.value(77))
    #expect(try Tool.run("cache", "verify", target).code == 0)
  }

  @Test(arguments: ["backup", "salvage"])
  func aTargetThatExistsIsLeftAsItWas(_ command: String) throws {
    let target = directory.file("target")
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: false)
    let file = target.appendingPathComponent("precious")
    try Data("precious".utf8).write(to: file)
    let run = try Tool.run("cache", command, cache, target.path)
    #expect(run.code == 2 && run.errors.contains(target.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == ["precious"])
    #expect(try Data(contentsOf: file) == Data("precious".utf8))
  }
}
