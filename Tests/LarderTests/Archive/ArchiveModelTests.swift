// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Random calls, compared with a dictionary that cannot be wrong.
struct ArchiveModelTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private struct Model {
    var people: [Int: ArchivePerson] = [:]
    var accessed: [Int: Date] = [:]
  }

  @Test(arguments: [1, 2, 3])
  func anArchiveIsADictionaryThatLasts(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let comment = Comment("seed \(generator.seed)")
    var model = Model()
    var archive = try place.openPersons { $0.inlineThreshold = 200 }
    for step in 0..<1500 {
      let id = Int(generator.next() % 60)
      switch generator.next() % 100 {
      case 0..<30:
        let person = person(id, &generator)
        try archive.upsert(person)
        model.people[id] = person
        model.accessed[id] = place.clock.date
      case 30..<60:
        #expect(try archive.element(forID: id) == model.people[id], comment)
        if model.people[id] != nil { model.accessed[id] = place.clock.date }
      case 60..<70:
        try archive.delete(id: id)
        model.people[id] = nil
      case 70..<75:
        let people = (0..<10).map { person(id + $0, &generator) }
        try archive.upsert(all: people)
        for person in people {
          model.people[person.id] = person
          model.accessed[person.id] = place.clock.date
        }
      case 75..<80:
        let changed = try archive.update(id: id) { $0.age += 1 }
        model.people[id]?.age += 1
        if changed != nil { model.accessed[id] = place.clock.date }
        #expect(changed == model.people[id], comment)
      case 80..<82: try archive.checkpoint()
      case 82..<84: archive.memorySizeLimit = .bytes(Int(generator.next() % 2000))
      case 84..<85:
        let age = Int64(generator.next() % 200)
        let limit = place.clock.date - Double(age)
        try archive.deleteAll(olderThan: .seconds(age))
        model.people = model.people.filter { model.accessed[$0.key, default: limit] >= limit }
      case 85..<86:
        try archive.close()
        archive = try place.openPersons { $0.inlineThreshold = 200 }
      case 86..<87:
        let expected = model.people[id] == nil ? nil : model.accessed[id]
        #expect(try archive.latestAccessTime(of: id) == expected, comment)
      default: place.clock.advance(Double(generator.next() % 10))
      }
      if step % 150 == 0 {
        #expect(try archive.elements() == model.people.values.sorted { $0.id < $1.id }, comment)
        #expect(try archive.count == model.people.count, comment)
        #expect(try archive.verify().isIntact, comment)
      }
    }
  }

  private func person(_ id: Int, _ generator: inout SeededGenerator) -> ArchivePerson {
    ArchivePerson(
      id, name: generator.text(Int(generator.next() % 300)), age: Int(generator.next() % 50),
      mail: generator.next() % 2 == 0 ? nil : "somebody@example.org")
  }
}
