// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Random calls and queries beside a model that is too simple to be wrong.
enum ArchiveModelFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      let path = try Workplace.fresh("case", in: run.folder)
      let steps = dice.between(20, 400)
      if dice.oneIn(4) {
        let limit = dice.between(2_000, 40_000)
        run.trial("\(steps) steps, at most \(limit) bytes") {
          try playLimited(path, run.orders.plant, limit, steps, &dice)
        }
      } else {
        run.trial("\(steps) steps") { try play(path, run.orders.plant, steps, &dice) }
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: path)) }
    }
  }

  private static func play(
    _ path: String, _ plant: Plant?, _ steps: Int, _ dice: inout Dice
  ) throws {
    let keys = Array(0..<dice.pick([10, 60]))
    var way = dice.below(4)
    var model = ArchiveModel()
    var subject = try open(path, way, plant, &dice)
    for number in 0..<steps {
      do {
        let step = ArchiveStep.draw(
          keys: keys, version: UInt64(number + 1), deletesAll: true, &dice)
        try subject.perform(step)
        model.apply(step)
        try subject.expect(model, dice.pick(keys))
        if dice.oneIn(4) {
          try subject.expectAnswer(to: ArchiveQuestion(&dice), among: model.exhibits)
        }
        if dice.oneIn(30) { try subject.expect(model, keys: keys, &dice) }
        if dice.oneIn(60) {
          try subject.archive.close()
          way = dice.below(4)
          subject = try open(path, way, plant, &dice)
          try subject.expect(model, keys: keys, &dice)
        }
      } catch {
        throw Broken("step \(number): \(error)")
      }
    }
    try subject.expect(model, keys: keys, &dice)
    try subject.verify()
    try subject.archive.close()
  }

  /// A limit that nothing may ever exceed: what is there is right, and what is missing had to go.
  private static func playLimited(
    _ path: String, _ plant: Plant?, _ limit: Int, _ steps: Int, _ dice: inout Dice
  ) throws {
    let keys = Array(0..<40)
    var model = ArchiveModel()
    let subject = try open(path, dice.below(4), plant, limit: limit, &dice)
    for number in 0..<steps {
      let key = dice.pick(keys)
      let exhibit = Exhibit(key: key, version: UInt64(number + 1))
      let size = try subject.archive.coder.encode(exhibit).count
      do {
        try subject.perform(.record(key: key, version: exhibit.version))
        try expect(size <= limit, "an element of \(size) bytes was stored")
        model.versions[key] = exhibit.version
        try subject.expect(model, key)
      } catch let error as LarderError where error.code == .tooLarge {
        try expect(size > limit, "an element of \(size) bytes was refused")
      }
      let now = try subject.archive.size.bytes
      try expect(now <= limit, "step \(number): the size is \(now), above \(limit)")
    }
    let left = Set(try subject.all().map(\.id))
    model.versions = model.versions.filter { left.contains(Exhibit.id($0.key)) }
    try subject.expect(model, keys: keys, &dice)
    try subject.verify()
    try subject.archive.close()
  }

  private static func open(
    _ path: String, _ way: Int, _ plant: Plant?, limit: Int? = nil, _ dice: inout Dice
  ) throws -> ArchiveSubject {
    var configuration = ArchiveConfiguration()
    configuration.sizeLimit = limit?.bytes
    configuration.inlineThreshold = dice.pick([0, 400, 20_480])
    configuration.journalCapacity = 1 << 20
    configuration.checkpointInterval = dice.pick([.zero, .milliseconds(1)])
    configuration.memorySizeLimit = dice.pick([.zero, 4.kilobytes, 1.megabytes])
    return try ArchiveSubject(path: path, way: way, plant: plant, configuration: configuration)
  }
}
