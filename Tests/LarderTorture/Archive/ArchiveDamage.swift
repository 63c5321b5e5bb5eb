// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Hurts the files of an archive: no crash, no element that nobody recorded under that key, and
/// what is not hurt is there.
enum ArchiveDamageFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      let patient = try ArchivePatient(run, &dice)
      for number in 0..<200 where number == 0 || run.goesOn {
        var hurt = patient.specimen
        if dice.oneIn(3), let (key, injury) = patient.hurtOneElement(&hurt, &dice) {
          run.trial("trial \(number), \(injury), in the element of key \(key)") {
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

/// An archive of which there are the files, and everything that its elements ever were.
private struct ArchivePatient {
  private static let keys = Array(0..<40)
  /// Recorded after the damage.
  private static let later = 9999

  let specimen: Specimen
  private let path: String
  private let plant: Plant?
  private let way: Int
  private let threshold: Int
  /// All versions that each key ever had.
  private var history: [Int: Set<UInt64>] = [:]
  /// All that it had since the last flush.
  private var waiting: [Int: Set<UInt64?>] = [:]
  /// What there is.
  private var model = ArchiveModel()

  init(_ run: Run, _ dice: inout Dice) throws {
    threshold = dice.pick([300, 4000])
    way = dice.below(4)
    plant = run.orders.plant
    path = try Workplace.fresh("case", in: run.folder)
    let subject = try ArchiveSubject(
      path: path, way: way, configuration: Self.configuration(threshold))
    let isClosed = dice.oneIn(2)
    // Where the checkpoint behind it meets damage, it stays, in the log.
    history[Self.later] = [77]
    for number in 0..<120 {
      // The last third is not flushed, if the archive is not closed.
      if number % 40 == 0 {
        try subject.archive.checkpoint()
        for key in Self.keys { waiting[key] = [model.versions[key]] }
      }
      let step = ArchiveStep.draw(
        keys: Self.keys, version: UInt64(number + 1), deletesAll: false, &dice)
      if case .flush = step { continue }
      try subject.perform(step)
      model.apply(step)
      for (key, version) in model.versions { history[key, default: []].insert(version) }
      for key in Self.keys { waiting[key, default: []].insert(model.versions[key]) }
    }
    if isClosed {
      try subject.archive.close()
      for key in Self.keys { waiting[key] = [model.versions[key]] }
    }
    specimen = try Specimen(path)
    if !isClosed { try subject.archive.close() }
  }

  private static func configuration(_ threshold: Int) -> ArchiveConfiguration {
    var configuration = ArchiveConfiguration()
    configuration.inlineThreshold = threshold
    configuration.journalCapacity = 1 << 20
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    return configuration
  }

  /// Changes a byte in the middle of what an element has.
  func hurtOneElement(_ hurt: inout Specimen, _ dice: inout Dice) -> (key: Int, Injury)? {
    let key = dice.pick(Self.keys)
    guard let version = model.versions[key] else { return nil }
    let payload = Exhibit(key: key, version: version).payload
    guard payload.count >= 64 else { return nil }
    let places = specimen.places(of: payload)
    guard !places.isEmpty else { return nil }
    let place = dice.pick(places)
    let offset = place.range.lowerBound + dice.below(payload.count)
    return (key, hurt.flip(place.name, at: offset, &dice))
  }

  /// Opens and uses what was hurt.
  func examine(_ hurt: Specimen, _ reach: Reach, _ dice: inout Dice) throws {
    Workplace.remove(URL(fileURLWithPath: path))
    try hurt.write(to: path)
    var configuration = Self.configuration(threshold)
    configuration.isReadOnly = dice.oneIn(3)
    if plant == .damagePassed { configuration.undecodable = .skip }
    // Now and then it is to be indexed anew, which meets everything.
    let way = !configuration.isReadOnly && dice.oneIn(4) ? way + 1 : way
    for _ in 0..<(configuration.isReadOnly ? 1 : 2) {
      var subject: ArchiveSubject?
      try unlessDamaged(mustHold: reach.isLocal && way == self.way) {
        subject = try ArchiveSubject(
          path: path, way: way, plant: plant, configuration: configuration)
      }
      guard let subject else { return }
      try look(subject, reach)
      try ask(subject, reach, &dice)
      if !configuration.isReadOnly { try write(subject, mustHold: reach.isLocal) }
      // Closing may find damage, too.
      try unlessDamaged(mustHold: false) { try subject.archive.close() }
    }
  }

  private func look(_ subject: ArchiveSubject, _ reach: Reach) throws {
    for key in Self.keys {
      var mustHold = reach.isLocal
      if case .key(key) = reach { mustHold = false }
      if case .log(key) = reach { mustHold = false }
      var found: Exhibit?
      try unlessDamaged(mustHold: mustHold) { found = try subject.access(key) }
      let now = model.versions[key]
      let isRight =
        switch reach {
        case .key(let hurt): found?.version == now || key == hurt && found == nil
        case .log(let hurt):
          waiting[key, default: []].contains(found?.version) || key == hurt && found == nil
        case .anything: true
        }
      try expect(
        isRight,
        "key \(key): step \(ArchiveSubject.describe(found)), where there was "
          + (now.map { String($0, radix: 16) } ?? "none"))
      if let found { try expectWas(found, key) }
    }
  }

  private func expectWas(_ found: Exhibit, _ key: Int) throws {
    try expect(
      history[key, default: []].contains(found.version)
        && found == Exhibit(key: key, version: found.version),
      "key \(key): step \(ArchiveSubject.describe(found)), which it never was")
  }

  private func ask(_ subject: ArchiveSubject, _ reach: Reach, _ dice: inout Dice) throws {
    for _ in 0..<3 {
      let question = ArchiveQuestion(&dice)
      if case .key = reach {
        // What lacks an element says so.
        try unlessDamaged(mustHold: false) {
          try subject.expectAnswer(to: question, among: model.exhibits)
        }
        continue
      }
      var found: [Exhibit] = []
      try unlessDamaged(mustHold: false) { found = try question.ask(subject.archive) }
      for exhibit in found { try expectIsAnswer(exhibit, to: question) }
    }
    try unlessDamaged(mustHold: false) { _ = try subject.archive.elements() }
    try unlessDamaged(mustHold: false) { _ = try subject.archive.verify() }
    try unlessDamaged(mustHold: false) { _ = try subject.archive.count }
  }

  /// Whatever is missing, what there is has been recorded, and answers the question.
  private func expectIsAnswer(_ exhibit: Exhibit, to question: ArchiveQuestion) throws {
    guard let key = Int(exhibit.id.dropFirst(5)) else { throw Broken("a strange element") }
    try expectWas(exhibit, key)
    try expect(
      question.passes(exhibit), "query (\(question)): \(exhibit.id) is no answer")
  }

  /// Goes on using it: what can still be stored is stored.
  private func write(_ subject: ArchiveSubject, mustHold: Bool) throws {
    let exhibit = Exhibit(key: Self.later, version: 77)
    try unlessDamaged(mustHold: mustHold) {
      try subject.archive.upsert(exhibit)
      try subject.archive.checkpoint()
      let found = try subject.archive.element(forID: exhibit.id)
      try expect(found == exhibit, "what was recorded afterwards is not there")
      try subject.archive.delete(id: exhibit.id)
    }
  }
}
