// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// What a process that this program starts is to do: the command line between two of them.
struct Orders {
  enum Duty: String {
    /// Runs a family.
    case work
    /// Writes until it is killed.
    case die
  }

  var duty: Duty
  var family: Family
  var seed: UInt64
  var caseIndex: Int
  var folder: String
  var seconds: Double
  var plant: Plant?
  var isShort = false
  var isOnlyCase = false
  var keeps = false
  /// Of a victim: its life, of several in one folder.
  var life = 0

  init(
    duty: Duty, family: Family, seed: UInt64, caseIndex: Int, folder: String, seconds: Double,
    plant: Plant?, isShort: Bool = false, isOnlyCase: Bool = false, keeps: Bool = false,
    life: Int = 0
  ) {
    self.duty = duty
    self.family = family
    self.seed = seed
    self.caseIndex = caseIndex
    self.folder = folder
    self.seconds = seconds
    self.plant = plant
    self.isShort = isShort
    self.isOnlyCase = isOnlyCase
    self.keeps = keeps
    self.life = life
  }

  var arguments: [String] {
    [
      "--\(duty.rawValue)", family.area, family.name, "\(seed)", "\(caseIndex)", folder,
      "\(seconds)", plant?.rawValue ?? "", "\(isShort)", "\(isOnlyCase)", "\(keeps)", "\(life)",
    ]
  }

  /// nil if a person wrote the command line.
  init?(_ arguments: some Sequence<String>) throws {
    let words = Array(arguments)
    guard let first = words.first, let duty = Duty(rawValue: String(first.dropFirst(2))) else {
      return nil
    }
    guard words.count == 12,
      let family = Family.all.first(where: { $0.area == words[1] && $0.name == words[2] }),
      let seed = UInt64(words[3]), let caseIndex = Int(words[4]), let seconds = Double(words[6]),
      let isShort = Bool(words[8]), let isOnlyCase = Bool(words[9]), let keeps = Bool(words[10]),
      let life = Int(words[11])
    else { throw UsageError("\(first) is not for people") }
    self.init(
      duty: duty, family: family, seed: seed, caseIndex: caseIndex, folder: words[5],
      seconds: seconds, plant: Plant(rawValue: words[7]), isShort: isShort,
      isOnlyCase: isOnlyCase, keeps: keeps, life: life)
  }

  func carryOut() throws {
    switch duty {
    case .work:
      let run = Run(self)
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      try family.body(run)
    case .die:
      switch family.area {
      case "entry": try EntryVictim(self).live()
      case "migration": try MigrationVictim(self).live()
      case "queue": try QueueVictim(self).live()
      case "suspend": try SuspendVictim(self).live()
      default: try ArchiveVictim(self).live()
      }
    }
  }
}
