// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

extension ArchiveSubject {
  /// Throws unless all elements are those of the model, however one asks for them.
  func expect(_ model: ArchiveModel, keys: [Int], _ dice: inout Dice) throws {
    for key in keys { try expect(model, key) }
    let wanted = model.exhibits
    let found = try all()
    try LarderTorture.expect(found == wanted, "all elements: \(Self.difference(found, wanted))")
    let count = try archive.count
    try LarderTorture.expect(count == wanted.count, "the count is \(count), not \(wanted.count)")
    let limit = dice.between(0, keys.count)
    let some = try all(limitedBy: limit)
    try LarderTorture.expect(
      some.count == min(limit, wanted.count), "\(some.count) elements for a limit of \(limit)")
    try expectSize(of: wanted)
    for _ in 0..<4 { try expectAnswer(to: ArchiveQuestion(&dice), among: wanted) }
  }

  func expect(_ model: ArchiveModel, _ key: Int) throws {
    let wanted = model.versions[key].map { Exhibit(key: key, version: $0) }
    let found = try access(key)
    try LarderTorture.expect(
      found == wanted,
      "key \(key): step \(Self.describe(found)), not \(Self.describe(wanted))")
  }

  private func expectSize(of wanted: [Exhibit]) throws {
    let full = try wanted.reduce(0) { $0 + (try archive.coder.encode($1)).count }
    let size = try archive.size.bytes
    try LarderTorture.expect(size == full, "the size is \(size), not \(full)")
  }

  /// Throws unless a query finds what a scan of everything finds.
  func expectAnswer(to question: ArchiveQuestion, among all: [Exhibit]) throws {
    StaleIndex.isAtWork = false
    var wanted = question.answer(of: all)
    var found = try question.ask(archive)
    if !question.hasOrder {
      // Any will do of those that there are without the limit, as often as it says.
      let any = question.unlimited.answer(of: all)
      let ids = Set(found.map(\.id))
      try LarderTorture.expect(
        found.count == wanted.count && ids.count == found.count,
        "query (\(question)): \(found.count) elements, not \(wanted.count)")
      wanted = any.filter { ids.contains($0.id) }
      found.sort { $0.id < $1.id }
    }
    try LarderTorture.expect(
      found == wanted, "query (\(question)): \(Self.difference(found, wanted))")
    let count = try question.count(archive)
    try LarderTorture.expect(
      count == wanted.count, "query (\(question)): a count of \(count), not \(wanted.count)")
  }

  /// Throws unless the library itself finds everything in order.
  func verify() throws {
    let report = try archive.verify()
    try LarderTorture.expect(report.isIntact, "verify found damage: \(report)")
  }

  static func describe(_ exhibit: Exhibit?) -> String {
    exhibit.map { String($0.version, radix: 16) } ?? "none"
  }

  private static func difference(_ found: [Exhibit], _ wanted: [Exhibit]) -> String {
    let place = zip(found, wanted).enumerated().first { $1.0 != $1.1 }?.offset
    let first = place ?? min(found.count, wanted.count)
    func text(_ exhibits: [Exhibit]) -> String {
      guard exhibits.indices.contains(first) else { return "no more" }
      return "\(exhibits[first].id) of step \(describe(exhibits[first]))"
    }
    return """
      \(found.count) elements, not \(wanted.count); at \(first) \(text(found)), not \(text(wanted))
      """
  }
}
