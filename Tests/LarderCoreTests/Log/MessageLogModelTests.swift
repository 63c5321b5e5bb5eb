// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// A log against the array that says what it should hold.
@Suite struct MessageLogModelTests {
  @Test(arguments: [
    (bytes: UInt64(1024), OverflowPolicy.overwriteOldest), (2000, .refuse),
    (4096, .overwriteOldest), (65_536, .overwriteOldest), (65_536, .refuse),
  ])
  func hundredThousandRandomOperationsAgreeWithTheModel(
    bytes: UInt64, whenFull: OverflowPolicy
  ) throws {
    var random = SeededGenerator(seed: bytes &* 31 &+ (whenFull == .refuse ? 1 : 0))
    let seed = random.seed
    let fixture = try LogFixture()
    var log = try open(fixture, bytes, whenFull)
    var model = BoundedLogModel(
      dataBytes: try log.statistics.dataCapacity, overwrites: whenFull == .overwriteOldest)

    for step in 0..<effort(4_000, long: 20_000) {
      let comment: Comment = "seed \(seed), step \(step)"
      switch Int.random(in: 0..<1000, using: &random) {
      case 0..<850:
        let message = random.bytes(Self.size(bytes, &random))
        try #require(Self.append(message, to: log) == model.append(message), comment)
      case 850..<900:
        let batch = (0..<Int.random(in: 0...5, using: &random)).map { _ in
          random.bytes(Int.random(in: 0...40, using: &random))
        }
        try Self.append(batch, to: log, &model, comment)
      case 900..<960:
        let bound = model.nextSequence + 2
        let sequence = bound - min(bound, UInt64.random(in: 0...60, using: &random))
        try #require(try log.remove(through: sequence) == model.remove(through: sequence), comment)
      case 960..<965:
        try log.close()
        log = try open(fixture, bytes, whenFull)
        #expect(try log.recovery.lost == 0, comment)
      default:
        try Self.compare(log, model, comment, &random)
      }
    }
    try Self.compare(log, model, "seed \(seed), end", &random)
    #expect(try log.verify().isIntact, "seed \(seed)")
  }

  private func open(
    _ fixture: LogFixture, _ bytes: UInt64, _ whenFull: OverflowPolicy
  ) throws -> MessageLog<Data> {
    try MessageLog(
      at: .url(fixture.url), capacity: DataSize(bytes: Int(bytes)), whenFull: whenFull, coder: .data
    )
  }

  /// Mostly small, sometimes none, sometimes as large as the file or larger.
  private static func size(_ bytes: UInt64, _ random: inout SeededGenerator) -> Int {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<5: 0
    case 5..<90: Int.random(in: 1...200, using: &random)
    case 90..<99: Int.random(in: 200...800, using: &random)
    default: Int.random(in: 0...Int(bytes), using: &random)
    }
  }

  private static func append(
    _ message: Data, to log: MessageLog<Data>
  ) -> BoundedLogModel.Outcome? {
    do {
      return .appended(try log.append(message))
    } catch let error as LarderError {
      return error.code == .full ? .full : error.code == .tooLarge ? .tooLarge : nil
    } catch {
      return nil
    }
  }

  private static func append(
    _ batch: [Data], to log: MessageLog<Data>, _ model: inout BoundedLogModel, _ comment: Comment
  ) throws {
    var last: UInt64?
    var isFull = false
    for message in batch where !isFull {
      switch model.append(message) {
      case .appended(let sequence): last = sequence
      case .full, .tooLarge: isFull = true
      }
    }
    if isFull {
      try #require(errorCode { try log.append(contentsOf: batch) } == .full, comment)
    } else {
      try #require(try log.append(contentsOf: batch) == last, comment)
    }
  }

  private static func compare(
    _ log: MessageLog<Data>, _ model: BoundedLogModel, _ comment: Comment,
    _ random: inout SeededGenerator
  ) throws {
    let statistics = try log.statistics
    try #require(statistics.count == model.records.count, comment)
    try #require(statistics.size == model.size, comment)
    try #require(statistics.oldestSequence == model.records.first?.sequence, comment)
    try #require(statistics.newestSequence == model.records.last?.sequence, comment)
    try #require(statistics.nextSequence == model.nextSequence, comment)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      try #require(try log.messages() == model.records.map(\.message), comment)
    case 1:
      let found = Array(log.reversed())
      try #require(found.map(\.sequence) == model.records.reversed().map(\.sequence), comment)
      let messages = try found.map { try $0.message }
      try #require(messages == model.records.reversed().map(\.message), comment)
    case 2:
      let start = UInt64.random(in: 0...model.nextSequence + 1, using: &random)
      let found = log.entries(from: start).map(\.sequence)
      let expected = model.records.map(\.sequence).filter { $0 >= start }
      try #require(found == expected, comment)
    default:
      let entries = Array(log.entries)
      try #require(entries.map(\.sequence) == model.records.map(\.sequence), comment)
      try #require(entries.allSatisfy { $0.lost == 0 }, comment)
    }
  }
}
