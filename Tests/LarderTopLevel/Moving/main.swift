// SPDX-License-Identifier: MIT

// A program that opens stores by relative paths and then goes to where others of these names lie:
// all that it does with them is done to its own.
import Foundation
import Larder

struct Note: Codable, Identifiable, Sendable {
  var id: Int
  var text: String
}

func expect(_ holds: Bool, line: Int = #line) {
  if !holds { fatalError("line \(line)") }
}

let base = CommandLine.arguments[1]

func go(to folder: String) { expect(chdir(base + "/" + folder) == 0) }

/// All files below a folder of the base. What a global has in a `Data`, Address Sanitizer does not
/// find, and takes for a leak.
func files(_ folder: String) throws -> [String: [UInt8]] {
  var files: [String: [UInt8]] = [:]
  let url = URL(fileURLWithPath: base).appendingPathComponent(folder)
  for name in try FileManager.default.subpathsOfDirectory(atPath: url.path) {
    files[name] =
      (try? Data(contentsOf: url.appendingPathComponent(name))).map { [UInt8]($0) }
      ?? []
  }
  return files
}

struct Stores {
  let archive: Archive<Note>
  let entries: EntryCache<Int>
  let cache: Cache<Int, Int>
  let disk: DiskCache<Int, String>

  init(filledWith text: String) throws {
    archive = try Archive<Note>(at: "archive")
    try archive.insert(Note(id: 1, text: text))
    entries = try EntryCache<Int>(at: "entries", valueCount: 1, version: 1)
    try entries.setValues([Data(text.utf8)], forKey: 1)
    var configuration = CacheConfiguration<Int, Int>()
    configuration.keepsHotKeys = true
    cache = try Cache<Int, Int>(at: "cache", configuration: configuration)
    for key in 0..<text.count { try cache.set(key, forKey: key) }
    disk = try DiskCache<Int, String>(at: "disk")
    try disk.set(text, forKey: 1)
  }

  func close() throws {
    try archive.close()
    try entries.close()
    try cache.close()
    try disk.close()
  }
}

for folder in ["mine", "other", "empty"] {
  try FileManager.default.createDirectory(
    atPath: base + "/" + folder, withIntermediateDirectories: false)
}
go(to: "other")
try Stores(filledWith: "somebody else's").close()
let others = try files("other")

for elsewhere in ["other", "empty"] {
  go(to: "mine")
  let stores = try Stores(filledWith: "mine")
  go(to: elsewhere)
  let urls = [stores.archive.directoryURL, stores.entries.directoryURL, stores.disk.directoryURL]
  for (url, name) in zip(urls, ["archive", "entries", "disk"]) {
    expect(FileManager.default.fileExists(atPath: url.path) && url.lastPathComponent == name)
    expect(url.deletingLastPathComponent().lastPathComponent == "mine")
  }
  // Above what an editor keeps in memory, and above what is put together there.
  guard let editor = try stores.entries.edit(2) else { fatalError("nobody edits it") }
  let writer = try editor.writer(at: 0)
  for _ in 0..<4 { try writer.write(Data(count: 100_000)) }
  try editor.commit()
  expect(try stores.entries.snapshot(forKey: 2)?.data(at: 0).count == 400_000)
  let feed = try stores.disk.changes(named: "follower")
  try stores.disk.set("more", forKey: 2)
  try stores.disk.sync()
  if let event = try feed.next(timeout: .seconds(10)) { try feed.acknowledge(event.token) }
  try stores.archive.checkpoint()
  try stores.archive.suspend()
  try stores.archive.resume()
  try stores.disk.backup(to: base + "/copy-" + elsewhere)
  try stores.disk.checkpoint()
  try stores.disk.close()
  try stores.cache.close()
  expect(try files("mine")["cache/hot"] != nil)
  expect(try files("mine")["disk/feed"] != nil)
  try stores.archive.destroy()
  try stores.archive.destroy()
  try stores.entries.destroy()
  try stores.entries.destroy()
  let left = try files("mine")
  expect(!left.keys.contains { $0.hasPrefix("archive") || $0.hasPrefix("entries") })
  expect(try files("other") == others)
  expect(try files("empty").isEmpty)
}
