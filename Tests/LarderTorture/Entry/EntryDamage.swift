// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Hurts the files of a cache: no crash, nothing that nobody stored under that key, and a value's
/// damage is the miss of its entry alone.
enum EntryDamageFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      let patient = try EntryPatient(run, &dice)
      for number in 0..<200 where number == 0 || run.goesOn {
        var hurt = patient.specimen
        if dice.oneIn(3), let (key, injury) = patient.hurtOneValue(&hurt, &dice) {
          run.trial("trial \(number), \(injury), in a value of key \(key)") {
            try patient.examine(hurt, Reach(of: key, in: injury.name), &dice)
          }
        } else {
          let injury = hurt.hurt(&dice)
          run.trial("trial \(number), \(injury)") {
            try patient.examine(hurt, .anything, &dice)
          }
        }
      }
    }
  }
}

/// A cache of which there are the files, and everything that its entries ever were.
private struct EntryPatient {
  let specimen: Specimen
  private let valueCount: Int
  private let path: String
  private let plant: Plant?
  /// All that each key ever had.
  private var history: [Int: [[Data]]] = [:]
  /// All that it had since the last flush.
  private var waiting: [Int: [[Data]?]] = [:]
  /// What it has.
  private var now: [Int: [Data]] = [:]
  private let threshold: Int
  private static let keys = Array(0..<30)

  init(_ run: Run, _ dice: inout Dice) throws {
    valueCount = dice.between(1, 3)
    threshold = dice.pick([300, 4000])
    plant = run.orders.plant
    path = try Workplace.fresh("case", in: run.folder)
    let subject = try EntrySubject(
      path: path, valueCount: valueCount, configuration: Self.configuration(threshold))
    var model = EntryModel(valueCount: valueCount)
    let isClosed = dice.oneIn(2)
    for number in 0..<90 {
      // The last third is not flushed, if the cache is not closed.
      if number % 30 == 0 {
        try subject.cache.checkpoint()
        for key in Self.keys { waiting[key] = [model.values(key)] }
      }
      let step = EntryStep.draw(
        keys: Self.keys, valueCount: valueCount, version: UInt64(number + 1), removesAll: false,
        &dice)
      if case .flush = step { continue }
      let answer = try subject.perform(step)
      try expect(answer == model.apply(step), "\(step) gave \(answer)")
      guard let key = step.key else { continue }
      waiting[key, default: []].append(model.values(key))
      if let values = model.values(key) { history[key, default: []].append(values) }
    }
    for key in Self.keys { now[key] = model.values(key) }
    if isClosed { for key in Self.keys { waiting[key] = [now[key]] } }
    if isClosed { try subject.cache.close() }
    specimen = try Specimen(path)
    if !isClosed { try subject.cache.close() }
  }

  private static func configuration(_ threshold: Int) -> EntryCacheConfiguration {
    var configuration = EntryCacheConfiguration()
    configuration.inlineThreshold = threshold
    configuration.journalCapacity = 256 << 10
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    return configuration
  }

  /// Changes a byte in the middle of what an entry has.
  func hurtOneValue(_ hurt: inout Specimen, _ dice: inout Dice) -> (key: Int, Injury)? {
    let key = dice.pick(Self.keys)
    guard let value = now[key]?.first(where: { $0.count >= 64 }) else { return nil }
    let places = specimen.places(of: value)
    guard !places.isEmpty else { return nil }
    let place = dice.pick(places)
    return (key, hurt.flip(place.name, at: place.range.lowerBound + dice.below(value.count), &dice))
  }

  /// Opens and uses what was hurt.
  func examine(_ hurt: Specimen, _ reach: Reach, _ dice: inout Dice) throws {
    Workplace.remove(URL(fileURLWithPath: path))
    try hurt.write(to: path)
    var configuration = Self.configuration(threshold)
    configuration.isReadOnly = dice.oneIn(3)
    configuration.readingDamage = dice.pick([.asError, .asMiss])
    for _ in 0..<(configuration.isReadOnly ? 1 : 2) {
      guard let subject = try open(configuration, mustOpen: reach.isLocal) else { return }
      try look(subject, reach, missesDamage: configuration.readingDamage == .asMiss)
      if !configuration.isReadOnly { try write(subject, mustHold: reach.isLocal) }
      // Closing may find damage, too.
      try unlessDamaged(mustHold: false) { try subject.cache.close() }
    }
  }

  private func open(
    _ configuration: EntryCacheConfiguration, mustOpen: Bool
  ) throws -> EntrySubject? {
    var subject: EntrySubject?
    try unlessDamaged(mustHold: mustOpen) {
      subject = try EntrySubject(
        path: path, valueCount: valueCount, plant: plant, configuration: configuration)
    }
    return subject
  }

  private func look(_ subject: EntrySubject, _ reach: Reach, missesDamage: Bool) throws {
    for key in Self.keys {
      var found: [Data]?
      let mustHold = reach.isLocal && (missesDamage || !reach.isOf(key))
      try unlessDamaged(mustHold: mustHold) { found = try subject.values(key) }
      let isRight =
        switch reach {
        case .key(let hurt): found == now[key] || key == hurt && found == nil
        case .log(let hurt):
          waiting[key, default: []].contains(found) || key == hurt && found == nil
        case .anything: found.map { history[key, default: []].contains($0) } ?? true
        }
      try expect(
        isRight,
        "key \(key): \(EntrySubject.describe(found)), where there was "
          + EntrySubject.describe(now[key]))
    }
    try unlessDamaged(mustHold: false) { _ = try subject.keys().sorted() }
    try unlessDamaged(mustHold: false) { _ = try subject.cache.verify() }
    try unlessDamaged(mustHold: false) { _ = (try subject.size, try subject.count) }
  }

  /// Goes on using it: what can still be stored is stored.
  private func write(_ subject: EntrySubject, mustHold: Bool) throws {
    let key = 1000
    let version = UInt64.random(in: 1...1_000_000)
    try unlessDamaged(mustHold: mustHold) {
      _ = try subject.perform(.set(key: key, version: version))
      try subject.cache.checkpoint()
      let wanted = (0..<valueCount).map { Filler.bytes(key: key, index: $0, version: version) }
      try expect(try subject.values(key) == wanted, "what was stored afterwards is not there")
      _ = try subject.perform(.remove(key: key))
    }
  }
}
