// SPDX-License-Identifier: MIT

// Every store by its asynchronous forms, at the top level of a main.swift. The compiler takes the
// blocking ones there, and warns that nothing of what is awaited is asynchronous.
import Foundation
import Larder

struct Note: Codable, Identifiable, Sendable {
  var id: Int
  var text: String
}

func expect(_ holds: Bool, line: Int = #line) {
  if !holds { fatalError("line \(line)") }
}

let folder = URL(fileURLWithPath: CommandLine.arguments[1])
func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

let memory = MemoryCache<Int, String>(countLimit: 10)
expect(try await memory.value(forKey: 1) { "one" } == "one")

let log = try MessageLog<String>(
  at: .url(folder.appendingPathComponent("log")), capacity: 1.megabytes, whenFull: .refuse)
try await log.append("one", durability: .power)
for try await entry in try log.follow() {
  expect(try entry.message == "one")
  break
}
try await log.close()

let disk = try await DiskCache<String, Note>.opening { try DiskCache(at: .path(path("disk"))) }
try await disk.set(Note(id: 1, text: "one"), forKey: "a")
expect(try await disk.value(forKey: "a")?.text == "one")
try await disk.close()

let cache = try Cache<String, Note>(at: .path(path("cache")))
try await cache.set(Note(id: 1, text: "one"), forKey: "a")
expect(try await cache.value(forKey: "b") { Note(id: 2, text: "loaded") }.text == "loaded")
try await cache.close()

let entries = try EntryCache<String>(at: .path(path("entries")), valueCount: 1)
try await entries.setValues([Data("one".utf8)], forKey: "a")
expect(try await entries.snapshot(forKey: "a")?.string(at: 0) == "one")
try await entries.close()

let archive = try Archive<Note>(at: .path(path("archive")))
try await archive.insert(Note(id: 1, text: "one"))
expect(try await archive.filter { $0.id == 1 }.results().count == 1)
try await archive.close()
