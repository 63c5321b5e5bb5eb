// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Random calls against a dictionary. DiskLruCache's sizes drifted from what was there; here
/// they are compared all the time, and so is what a kill would leave.
struct EntryModelTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func randomCallsAgreeWithADictionary(seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    var model: [String: [Data]] = [:]
    var cache = try open()
    for step in 0..<2000 {
      let note: Comment = "seed \(dice.seed), step \(step)"
      let key = "k\(Int.random(in: 0..<12, using: &dice))"
      switch Int.random(in: 0..<20, using: &dice) {
      case 0..<5:
        let values = (0..<3).map { _ in bytes(&dice) }
        try cache.setValues(values, forKey: key)
        model[key] = values
      case 5..<9: try update(cache, key, &model, &dice, note)
      case 9..<14: try edit(cache, key, &model, &dice, note)
      case 14..<17:
        #expect(try cache.remove(forKey: key) == (model.removeValue(forKey: key) != nil), note)
      case 17: try cache.checkpoint()
      case 18:
        if Int.random(in: 0..<20, using: &dice) == 0 {
          try cache.removeAll()
          model = [:]
        }
      default:
        if Int.random(in: 0..<10, using: &dice) == 0 {
          try compare(
            try place.open(values: 3, at: place.afterKill("kill-\(step)")), model, note)
          try cache.close()
          cache = try open()
        }
      }
      #expect(try cache.snapshot(forKey: key)?.values == model[key], note)
      #expect(try cache.count == model.count, note)
      #expect(try cache.size.bytes == size(model), note)
    }
    try compare(cache, model, "seed \(dice.seed), at the end")
  }

  private func open() throws -> EntryCache<String> {
    try place.open(values: 3) {
      $0.inlineThreshold = 150
      $0.journalCapacity = 64 << 10
    }
  }

  private func bytes(_ dice: inout SeededGenerator) -> Data {
    dice.bytes(Int.random(in: 0..<120, using: &dice))
  }

  private func indices(_ dice: inout SeededGenerator) -> [Int] {
    (0..<3).filter { _ in Bool.random(using: &dice) }
  }

  private func update(
    _ cache: EntryCache<String>, _ key: String, _ model: inout [String: [Data]],
    _ dice: inout SeededGenerator, _ note: Comment
  ) throws {
    var values: [Int: Data] = [:]
    for index in indices(&dice) { values[index] = bytes(&dice) }
    if model[key] == nil {
      #expect(errorCode { try cache.update(values, forKey: key) } == .invalidArgument, note)
      return
    }
    try cache.update(values, forKey: key)
    for (index, value) in values { model[key]?[index] = value }
  }

  private func edit(
    _ cache: EntryCache<String>, _ key: String, _ model: inout [String: [Data]],
    _ dice: inout SeededGenerator, _ note: Comment
  ) throws {
    let editor = try cache.editor(key)
    var values = model[key] ?? []
    let chosen = Bool.random(using: &dice) ? [0, 1, 2] : indices(&dice)
    if model[key] == nil, chosen.count == 3 { values = [Data(), Data(), Data()] }
    for index in chosen {
      let value = bytes(&dice)
      if !values.isEmpty { values[index] = value }
      if Bool.random(using: &dice) {
        try editor.set(value, at: index)
      } else {
        let writer = try editor.writer(at: index)
        try writer.write(value.prefix(value.count / 2))
        try writer.write(value.dropFirst(value.count / 2))
      }
    }
    #expect(try editor.data(at: 1) == model[key]?[1], note)
    switch Int.random(in: 0..<4, using: &dice) {
    case 0: try editor.abort()
    case 1: editor.abortUnlessCommitted()
    default:
      if values.isEmpty {
        #expect(errorCode { try editor.commit() } == .invalidArgument, note)
      } else {
        try editor.commit()
        model[key] = values
      }
    }
  }

  private func size(_ model: [String: [Data]]) -> Int {
    model.values.joined().reduce(0) { $0 + $1.count }
  }

  private func compare(
    _ cache: EntryCache<String>, _ model: [String: [Data]], _ note: Comment
  ) throws {
    #expect(try cache.keys() == model.keys.sorted(), note)
    for (key, values) in model {
      #expect(try cache.snapshot(forKey: key)?.values == values, note)
      #expect(try cache.info(forKey: key)?.lengths == values.map(\.count), note)
    }
    #expect(try cache.count == model.count, note)
    #expect(try cache.size.bytes == size(model), note)
    #expect(try cache.verify().isIntact, note)
  }
}
