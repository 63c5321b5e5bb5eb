// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

// What is held for longer than a call: editors and snapshots.
extension EntryWorld {
  // MARK: - Editors

  mutating func beginEdit(_ key: Int) throws {
    let editor = try subject.cache.edit(EntrySubject.name(key))
    if editors[key] != nil {
      try expect(editor == nil, "key \(key) has two editors")
    } else {
      guard let editor else { throw Broken("key \(key) cannot be edited") }
      editors[key] = Edit(editor: editor)
    }
  }

  mutating func goOnEditing(_ dice: inout Dice) throws {
    guard let key = editors.keys.sorted().randomElement(using: &dice), let edit = editors[key]
    else { return }
    switch dice.below(8) {
    case 0:
      let index = dice.below(model.valueCount)
      let found = try edit.editor.data(at: index)
      let wanted = model.values(key)?[index]
      try expect(found == wanted, "an editor of key \(key) reads other than was committed")
    case 1..<5:
      let index = dice.below(model.valueCount)
      let value = Filler.bytes(key: key, index: index, version: nextVersion)
      try edit.editor.set(value, at: index)
      editors[key]?.versions[index] = nextVersion
    case 5:
      try edit.editor.abort()
      editors[key] = nil
      let code = errorCode { try edit.editor.commit() }
      try expect(code == .conflict, "a commit after abort gave \(code?.description ?? "no error")")
    case 6: editors[key] = nil
    default: try commit(key, edit)
    }
    try subject.expect(model, key)
  }

  mutating func commit(_ key: Int, _ edit: Edit) throws {
    editors[key] = nil
    let isWhole = model.entries[key] != nil || edit.versions.count == model.valueCount
    let code = errorCode { try edit.editor.commit() }
    try expect(
      code == (isWhole ? nil : .invalidArgument),
      "a commit gave \(code?.description ?? "no error")")
    if isWhole {
      stamp(key)
      var versions = model.entries[key] ?? [UInt64](repeating: 0, count: model.valueCount)
      for (index, version) in edit.versions { versions[index] = version }
      model.entries[key] = versions
    }
    let second = errorCode { try edit.editor.commit() }
    try expect(second == .conflict, "a second commit gave \(second?.description ?? "no error")")
  }

  // MARK: - Snapshots

  mutating func keepSnapshot(_ key: Int) throws {
    let snapshot = try subject.cache.snapshot(forKey: EntrySubject.name(key))
    try expect((snapshot == nil) == (model.entries[key] == nil), "a wrong miss of key \(key)")
    guard let snapshot, let values = model.values(key) else { return }
    kept.append(Kept(snapshot: snapshot, key: key, values: values, stamp: stamps[key]))
    if kept.count > 6 { try expectStill(kept.removeFirst()) }
  }

  func expectStill(_ held: Kept) throws {
    for (index, value) in held.values.enumerated() {
      try expect(
        try held.snapshot.data(at: index) == value,
        "a snapshot of key \(held.key) does not show any more what it showed")
    }
  }

  mutating func editSnapshot(_ dice: inout Dice) throws {
    guard let held = kept.randomElement(using: &dice) else { return }
    let isFree = editors[held.key] == nil
    let editor = try held.snapshot.edit()
    let isFresh = stamps[held.key] == held.stamp
    try expect(
      (editor != nil) == (isFree && isFresh),
      """
      what a snapshot shows of key \(held.key) can\(editor == nil ? "not" : "") be edited: \
      free: \(isFree), fresh: \(isFresh)
      """)
    if let editor { try editor.abort() }
  }
}

/// The code of the error that the body throws; nil if it throws none.
func errorCode(_ body: () throws -> Void) -> LarderError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? LarderError)?.code ?? .io
  }
}
