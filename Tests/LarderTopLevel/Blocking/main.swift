// SPDX-License-Identifier: MIT

// Every store by its blocking forms, at the top level of a main.swift that awaits nothing.
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
memory[1] = "one"
expect(try memory.value(forKey: 2) { "two" } == "two")

let log = try MessageLog<String>(
  at: .url(folder.appendingPathComponent("log")), capacity: 1.megabytes, whenFull: .refuse)
try log.append("one")
try log.append("two", durability: .power)
try log.append(contentsOf: ["three", "four"], durability: .power)
expect(try log.consumer(named: "reader").next()?.message == "one")
expect(try log.entries.map { try $0.message }.last == "four")
try log.suspend()
try log.resume()
try log.sync()
try log.close()
expect(try MessageLog<String>(readingFrom: .url(log.fileURL)).messages().count == 4)

let disk = try DiskCache<String, Note>(at: .path(path("disk")))
try disk.set(Note(id: 1, text: "one"), forKey: "a")
try disk.update(forKey: "a") { $0?.text = "two" }
try disk.batch { try $0.set(Note(id: 2, text: "two"), forKey: "b") }
try disk.transaction { try $0.remove(forKey: "b") }
expect(try disk.value(forKey: "a")?.text == "two")
expect(try disk.keys() == ["a"])
expect(try disk.verify().isIntact)
try disk.close()

let cache = try Cache<String, Note>(at: .path(path("cache")))
try cache.set(Note(id: 1, text: "one"), forKey: "a", durability: .power)
try cache.update(forKey: "a") { $0?.text = "two" }
expect(try cache.value(forKey: "a")?.text == "two")
expect(try cache.value(forKey: "b") { Note(id: 2, text: "loaded") }.text == "loaded")
expect(try cache.valueIfFound(forKey: "c") { nil } == nil)
try cache.checkpoint()
try cache.close()

let entries = try EntryCache<String>(at: .path(path("entries")), valueCount: 2)
try entries.setValues([Data("one".utf8), Data("two".utf8)], forKey: "a")
try entries.update([1: Data("three".utf8)], forKey: "a")
if let editor = try entries.edit("a") {
  try editor.writer(at: 0).write("four")
  try editor.commit()
}
expect(try entries.snapshot(forKey: "a")?.string(at: 0) == "four")
try entries.close()

let archive = try Archive<Note>(at: .path(path("archive")), indexes: [ArchiveIndex("text", \.text)])
try archive.upsert(all: [Note(id: 1, text: "one"), Note(id: 2, text: "two")])
try archive.update(id: 2) { $0.text = "three" }
expect(try archive.element(forID: 2)?.text == "three")
expect(try archive.filter { $0.id > 1 }.results().count == 1)
var pages = archive.sorted(by: \.text).pages(of: 1)
expect(try pages.next()?.first?.text == "one")
try archive.delete(id: 1)
try archive.close()
