// SPDX-License-Identifier: MIT

// Every store by both forms, in a main.swift: the asynchronous ones in functions and tasks, the
// blocking ones at the top level, which awaits as well.
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

func load() async -> Note { Note(id: 3, text: "loaded") }

let memory = MemoryCache<Int, Note>(countLimit: 10)
let log = try MessageLog<String>(
  at: .url(folder.appendingPathComponent("log")), capacity: 1.megabytes, whenFull: .refuse)
let disk = try DiskCache<String, Note>(at: .path(path("disk")))
let cache = try Cache<String, Note>(at: .path(path("cache")))
let entries = try EntryCache<String>(at: .path(path("entries")), valueCount: 1)
let archive = try Archive<Note>(at: .path(path("archive")))

func write() async throws {
  try await log.append("one", durability: .power)
  try await disk.set(Note(id: 1, text: "one"), forKey: "a")
  try await cache.set(Note(id: 1, text: "one"), forKey: "a")
  try await entries.setValues([Data("one".utf8)], forKey: "a")
  try await archive.insert(Note(id: 1, text: "one"))
  var pages = archive.query.pages(of: 1)
  expect(try await pages.next()?.count == 1)
}

try await write()
try log.append("two", durability: .power)
try disk.update(forKey: "a") { $0?.text = "two" }
try cache.update(forKey: "a") { $0?.text = "two" }
try entries.update([0: Data("two".utf8)], forKey: "a")
try archive.update(id: 1) { $0.text = "two" }

var messages: [String] = []
for try await entry in try log.follow() {
  messages.append(try entry.message)
  if messages.count == 2 { break }
}
expect(messages == ["one", "two"])
for try await notes in archive.query.updates() {
  expect(notes.map(\.text) == ["two"])
  break
}

// A closure that awaits is asynchronous everywhere, and so is the form that takes it.
expect(try await memory.value(forKey: 3) { await load() }.id == 3)
expect(try await cache.value(forKey: "b") { await load() }.text == "loaded")
expect(try memory.value(forKey: 4) { Note(id: 4, text: "four") }.id == 4)
let text = Task { try await cache.value(forKey: "a")?.text }
expect(try await text.value == "two")
expect(try disk.value(forKey: "a")?.text == "two")
expect(try await entries.snapshot(forKey: "a")?.string(at: 0) == "two")
expect(try archive.filter { $0.id == 1 }.results().count == 1)

try log.close()
try await disk.close()
try cache.close()
try await entries.close()
try archive.close()
