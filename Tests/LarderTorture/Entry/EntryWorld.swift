// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A cache and its model, with the editors and snapshots that somebody holds at the moment.
struct EntryWorld {
  static let keys = Array(0..<10)

  let path: String
  let plant: Plant?
  var subject: EntrySubject
  var model: EntryModel
  var cacheVersion: UInt32 = 1
  var nextVersion: UInt64 = 1
  var editors: [Int: Edit] = [:]
  /// Of each key the last step that wrote to it.
  var stamps: [Int: UInt64] = [:]
  var kept: [Kept] = []

  /// A snapshot that somebody holds, and what it shows.
  struct Kept {
    let snapshot: EntrySnapshot
    let key: Int
    let values: [Data]
    let stamp: UInt64?
  }

  /// An edit under way: what its commit would store, by index.
  struct Edit {
    let editor: EntryEditor
    var versions: [Int: UInt64] = [:]
  }

  init(path: String, plant: Plant?, _ dice: inout Dice) throws {
    self.path = path
    self.plant = plant
    model = EntryModel(valueCount: dice.between(1, 4))
    subject = try EntrySubject(
      path: path, valueCount: model.valueCount, plant: plant,
      configuration: Self.configuration(&dice))
  }

  private static func configuration(_ dice: inout Dice) -> EntryCacheConfiguration {
    var configuration = EntryCacheConfiguration()
    configuration.inlineThreshold = dice.pick([0, 400, 20_480])
    configuration.journalCapacity = 1 << 20
    configuration.checkpointInterval = dice.pick([.zero, .milliseconds(1)])
    return configuration
  }

  /// One step, and what must hold after it.
  mutating func step(_ dice: inout Dice) throws {
    nextVersion += 1
    switch dice.below(20) {
    case 0..<10: try call(&dice)
    case 10..<12: try beginEdit(dice.pick(Self.keys))
    case 12..<16: try goOnEditing(&dice)
    case 16: try keepSnapshot(dice.pick(Self.keys))
    case 17: try editSnapshot(&dice)
    case 18: try compare()
    default: if dice.oneIn(5) { try reopen(&dice) }
    }
  }

  /// What is left once everybody has gone.
  mutating func end() throws {
    for key in editors.keys.sorted() { try editors[key]?.editor.abort() }
    editors = [:]
    try compare()
    try subject.verify()
    try subject.cache.close()
    for held in kept { try expectStill(held) }
  }

  // MARK: - Calls

  private mutating func call(_ dice: inout Dice) throws {
    let step = EntryStep.draw(
      keys: Self.keys, valueCount: model.valueCount, version: nextVersion,
      removesAll: editors.isEmpty, &dice)
    guard let key = step.key, editors[key] != nil else {
      let answer = try subject.perform(step)
      let wanted = model.apply(step)
      try expect(answer == wanted, "\(step) gave \(answer), not \(wanted)")
      if step.writes, answer != .refused { stamp(step.key) }
      if let key = step.key { try subject.expect(model, key) }
      return
    }
    // While somebody edits it, nobody else may edit or remove it.
    switch step {
    case .edit:
      let other = try subject.cache.edit(EntrySubject.name(key))
      try expect(other == nil, "key \(key) has two editors")
    case .remove:
      let isRemoved = try subject.cache.remove(forKey: EntrySubject.name(key))
      try expect(!isRemoved, "an entry was removed under its editor")
    default:
      let code = errorCode { _ = try subject.perform(step) }
      try expect(
        code == .conflict || (code == nil && model.entries[key] == nil && isUpdate(step)),
        "\(step) of an entry that is edited gave \(code?.description ?? "no error")")
    }
    try subject.expect(model, key)
  }

  /// Notes a write to a key, or to all.
  mutating func stamp(_ key: Int?) {
    for key in key.map({ [$0] }) ?? Self.keys { stamps[key] = nextVersion }
  }

  private func isUpdate(_ step: EntryStep) -> Bool {
    if case .update = step { true } else { false }
  }

  // MARK: - Everything

  private func compare() throws { try subject.expect(model, keys: Self.keys) }

  private mutating func reopen(_ dice: inout Dice) throws {
    // An edit that nobody commits ends with the cache.
    for key in editors.keys.sorted() where dice.oneIn(2) { try editors[key]?.editor.abort() }
    let open = editors
    editors = [:]
    try subject.cache.close()
    for edit in open.values {
      let code = errorCode { try edit.editor.commit() }
      try expect(
        code == .closed || code == .conflict,
        "a commit into a closed cache gave \(code?.description ?? "no error")")
    }
    for held in kept { try expectStill(held) }
    kept = []
    if dice.oneIn(4) {
      // Another version, or another number of values, starts afresh.
      if dice.oneIn(2) {
        cacheVersion += 1
        model = EntryModel(valueCount: model.valueCount)
      } else {
        model = EntryModel(valueCount: model.valueCount % 4 + 1)
      }
    }
    subject = try EntrySubject(
      path: path, valueCount: model.valueCount, version: cacheVersion, plant: plant,
      configuration: Self.configuration(&dice))
    try compare()
  }
}
