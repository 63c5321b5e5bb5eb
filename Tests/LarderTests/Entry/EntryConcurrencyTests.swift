// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Many threads on few keys: a reader meets the values of one version, always.
struct EntryConcurrencyTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  /// Two values that belong together: the second is the first and its length.
  private func values(_ thread: Int, _ round: Int) -> [Data] {
    let text = String(repeating: "\(thread)-\(round);", count: 1 + round % 40)
    return [Data(text.utf8), Data("\(text)\(text.utf8.count)".utf8)]
  }

  private func belongTogether(_ values: [Data]) -> Bool {
    values[1] == values[0] + Data("\(values[0].count)".utf8)
  }

  @Test func readersMeetOneVersionWhoeverWrites() throws {
    let cache = try place.open {
      $0.inlineThreshold = 200
      $0.checkpointInterval = .milliseconds(1)
      $0.sizeLimit = 20_000
    }
    let failures = Locked<[String]>([])
    onDiskThreads(6) { thread in
      do {
        for round in 0..<400 {
          let key = "\(round % 5)"
          switch (thread + round) % 4 {
          case 0:
            do {
              try cache.setValues(values(thread, round), forKey: key)
            } catch let error as LarderError where error.code == .conflict {
              // Being edited.
            }
          case 1:
            guard let editor = try cache.edit(key) else { continue }
            let new = values(thread, round)
            try editor.set(new[0], at: 0)
            try editor.writer(at: 1).write(new[1])
            if round % 7 == 0 { try editor.abort() } else { try editor.commit() }
          case 2:
            if round % 9 == 0 { try cache.remove(forKey: key) }
          default: break
          }
          if let snapshot = try cache.snapshot(forKey: key),
            try !belongTogether(snapshot.values)
          {
            failures.withLock { $0.append("key \(key) is of two versions") }
          }
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    try cache.checkpoint()
    #expect(try cache.size <= 20_000)
    #expect(try cache.verify().isIntact)
    for key in try cache.keys() { #expect(try cache.edit(key) != nil) }
  }

  @Test func oneOfManyGetsTheEditorAndOneRemoves() throws {
    let cache = try place.open()
    for round in 0..<50 {
      try cache.set("a", "A", "B")
      let editors = Locked<[EntryEditor]>([])
      onDiskThreads(4) { _ in
        // A failure shows as a missing editor.
        if let editor = try? cache.edit("a") { editors.withLock { $0.append(editor) } }
      }
      #expect(editors.withLock { $0.count } == 1, "round \(round)")
      editors.withLock { $0 = [] }
      let removals = Locked(0)
      onDiskThreads(4) { _ in
        if (try? cache.remove(forKey: "a")) == true { removals.withLock { $0 += 1 } }
      }
      #expect(removals.withLock { $0 } == 1, "round \(round)")
    }
  }

  @Test func updatesOfOneKeyAreNotLost() throws {
    let cache = try place.open(values: 4)
    try cache.set("a", "", "", "", "")
    onDiskThreads(4) { thread in
      for round in 1...100 {
        // A failure shows in the end.
        try? cache.update([thread: Data("\(round)".utf8)], forKey: "a")
      }
    }
    #expect(try cache.texts("a") == ["100", "100", "100", "100"])
  }

  @Test func eachWriteToAWriterIsWhole() throws {
    let cache = try place.open(values: 1)
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 0)
    // More than is kept in memory.
    onDiskThreads(4) { thread in
      let piece = Data(repeating: UInt8(thread), count: 1000)
      // A failure shows in the length.
      for _ in 0..<100 { try? writer.write(piece) }
    }
    try editor.commit()
    let value = try #require(try cache.snapshot(forKey: "a")).data(at: 0)
    #expect(value.count == 400_000)
    for offset in stride(from: 0, to: value.count, by: 1000) {
      #expect(Set(value[offset..<offset + 1000]).count == 1)
    }
  }
}
