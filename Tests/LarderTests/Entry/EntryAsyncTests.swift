// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The asynchronous forms, which take the place of SwiftyCache's completion handlers: no
/// queue has to run for them to come back.
struct EntryAsyncTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test func everyCallHasAnAsynchronousForm() async throws {
    let cache = try place.open { $0.inlineThreshold = 10 }
    try await cache.setValues([Data("A".utf8), entryBytes(100)], forKey: "a")
    try await cache.setValues([Data(), Data()], forKey: "b", durability: .power)
    try await cache.update([0: Data("C".utf8)], forKey: "a", expiration: .never)
    let snapshot = try #require(try await cache.snapshot(forKey: "a"))
    #expect(try snapshot.values == [Data("C".utf8), entryBytes(100)])
    #expect(try await cache.snapshot(forKey: "a", values: [1])?.data(at: 1) == entryBytes(100))
    #expect(try await cache.contains("b"))
    #expect(try await cache.keys() == ["a", "b"])
    #expect(try await cache.infos(order: .byKeyDescending).map(\.size) == [0, 101])
    #expect(try await cache.info(forKey: "a")?.lengths == [1, 100])

    let editor = try #require(try await cache.edit("a"))
    #expect(try await cache.edit("a") == nil)
    #expect(try await editor.data(at: 1) == entryBytes(100))
    #expect(try await editor.string(at: 0) == "C")
    let writer = try editor.writer(at: 1)
    try await writer.write("D")
    try await writer.write(Data("E".utf8))
    try writer.close()
    try await editor.commit()
    await #expect(throws: LarderError.self) { try await editor.commit() }
    #expect(try await cache.snapshot(forKey: "a")?.string(at: 1) == "DE")

    #expect(try await snapshot.edit() == nil)
    let fresh = try #require(try await cache.snapshot(forKey: "a"))
    let second = try #require(try await fresh.edit())
    #expect(try await cache.edit(fresh) == nil)
    try second.set("F", at: 0)
    try await second.commit(expiration: .never, durability: .power)
    #expect(try await cache.snapshot(forKey: "a")?.string(at: 0) == "F")

    #expect(try await cache.remove(forKey: "b"))
    #expect(try await !cache.remove(forKey: "b"))
    try await cache.checkpoint()
    try await cache.sync()
    #expect(try await cache.verify().isIntact)
    try await cache.removeAll()
    #expect(try cache.isEmpty)
    try await cache.close()
    await #expect(throws: LarderError.self) { try await cache.snapshot(forKey: "a") }
    try await cache.destroy()
    #expect(try place.directory.names == [])
  }

  @Test func tasksOfManyKindsAtOnceAgreeInTheEnd() async throws {
    let cache = try place.open { $0.checkpointInterval = .milliseconds(1) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<20 {
        group.addTask {
          for round in 0..<20 {
            let key = "\(task)-\(round)"
            try await cache.setValues([Data(key.utf8), Data()], forKey: key)
            if let editor = try await cache.edit(key) {
              try editor.set("edited", at: 1)
              try await editor.commit()
            }
            let snapshot = try await cache.snapshot(forKey: key)
            #expect(try snapshot?.string(at: 0) == key)
            #expect(try snapshot?.string(at: 1) == "edited")
            if round % 2 == 1 { #expect(try await cache.remove(forKey: key)) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try cache.count == 200)
    #expect(try await cache.verify().isIntact)
  }
}
