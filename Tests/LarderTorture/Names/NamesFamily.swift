// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Stores of one name: the process goes to other folders, stores are renamed, deleted and made anew
/// while handles are open, and no handle ever changes a file that is not its own.
enum NamesFamily {
  /// Random histories.
  static func mix(_ run: Run) throws {
    while var dice = run.nextCase() {
      let steps = dice.between(8, 40)
      try play(run, "\(steps) steps") { world in
        for number in 0..<steps {
          do { try step(world, &dice) } catch { throw Broken("step \(number): \(error)") }
        }
      }
    }
  }

  private static func play(
    _ run: Run, _ note: String, _ body: (NamesWorld) throws -> Void
  ) throws {
    let folder = try Workplace.fresh("case", in: run.folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    run.trial(note) {
      let world = try NamesWorld(folder, run.orders.plant)
      try body(world)
      try world.end()
    }
    // Whoever is in a folder that is deleted cannot start a process.
    chdir(run.folder)
    if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: folder)) }
  }

  private static func step(_ world: NamesWorld, _ dice: inout Dice) throws {
    let there = world.places.filter { $0.path != nil }
    switch dice.below(16) {
    case 0: try world.go(to: dice.pick(NamesWorld.yards))
    case 1 where !there.isEmpty:
      let place = dice.pick(there)
      let target = world.path(of: place.kind, in: dice.pick(NamesWorld.yards))
      if target == place.path { return try world.moveAside(place) }
      // What lies there goes elsewhere, or for ever.
      if let other = world.place(at: target) {
        if dice.oneIn(2) { try world.moveAside(other) } else { try world.remove(other) }
      }
      if access(target, F_OK) != 0 { try world.move(place, to: target) }
    case 2 where !there.isEmpty && dice.oneIn(2): try world.remove(dice.pick(there))
    case 3...6 where world.holders.count < 10:
      try world.open(
        dice.pick(Kind.allCases), in: dice.pick(NamesWorld.yards), way: dice.below(3),
        isReader: dice.oneIn(4))
    default:
      if world.holders.isEmpty { return }
      let holder = dice.pick(world.holders)
      try world.perform(dice.pick(holder.tenant.calls), holder)
    }
  }

  // MARK: - Each

  private enum Fate: String, CaseIterable {
    case nothing = "as it was"
    case elsewhere = "with the process where another one lies"
    case nowhere = "with the process where none lies"
    case moved = "moved"
    case remade = "moved, with a new one in its place"
    case replaced = "moved, with the other one in its place"
    case deleted = "deleted"
    case deletedAndRemade = "deleted, with a new one in its place"
    case second = "open a second time"
    case movedBack = "moved and moved back"
  }

  private enum Manner: String, CaseIterable {
    case once, twice
    case closed = "after it was closed"
    case suspended = "while it is suspended"
  }

  private struct Scene {
    let kind: Kind
    let fate: Fate
    let manner: Manner
    /// Which of the handle's calls.
    let call: Int
  }

  /// Each call of each kind, in every manner, whatever became of the name.
  static func each(_ run: Run) throws {
    var scenes: [Scene] = []
    for kind in Kind.allCases {
      let probe = try Workplace.fresh("probe", in: run.folder)
      let calls = try kind.open(probe, isReader: false, scratch: "", nil).calls.indices
      for fate in Fate.allCases {
        for manner in Manner.allCases {
          scenes += calls.map { Scene(kind: kind, fate: fate, manner: manner, call: $0) }
        }
      }
    }
    // In an order of its own, so that any part of them has some of all.
    var dice = Dice(seed: 1)
    scenes.shuffle(using: &dice)
    while run.nextCase() != nil {
      // One case after the other, until there are no more.
      if run.caseIndex >= scenes.count { return }
      try play(run, scenes[run.caseIndex])
    }
  }

  private static func play(_ run: Run, _ scene: Scene) throws {
    let (kind, fate, manner) = (scene.kind, scene.fate, scene.manner)
    try play(run, "\(kind), \(fate.rawValue): call \(scene.call), \(manner.rawValue)") { world in
      try fill(world.open(kind, in: "there", way: 0), world)
      try world.end()
      guard let holder = try world.open(kind, in: "here", way: 1) else { return }
      let call = holder.tenant.calls[scene.call]
      try fill(holder, world)
      if manner == .closed { try world.end() }
      for call in holder.tenant.calls where manner == .suspended && call.effect == .suspend {
        try world.perform(call, holder)
      }
      try meet(fate, holder, world)
      try world.perform(call, holder)
      if manner == .twice { try world.perform(call, holder) }
    }
  }

  /// Has something written.
  private static func fill(_ holder: Holder?, _ world: NamesWorld) throws {
    guard let holder else { return }
    for call in holder.tenant.calls
    where ["insert", "set", "append", "follow", "edit", "consume"].contains(call.name) {
      try world.perform(call, holder)
    }
  }

  private static func meet(_ fate: Fate, _ holder: Holder, _ world: NamesWorld) throws {
    let kind = holder.place.kind
    switch fate {
    case .nothing: break
    case .elsewhere: try world.go(to: "there")
    case .nowhere: try world.go(to: "empty")
    case .moved: try world.moveAside(holder.place)
    case .remade:
      try world.moveAside(holder.place)
      try fill(world.open(kind, in: "here", way: 1), world)
    case .replaced:
      try world.moveAside(holder.place)
      if let other = world.place(at: world.path(of: kind, in: "there")) {
        try world.move(other, to: holder.home)
      }
    case .deleted: try world.remove(holder.place)
    case .deletedAndRemade:
      try world.remove(holder.place)
      try fill(world.open(kind, in: "here", way: 1), world)
    case .second: try world.open(kind, in: "here", way: 0, isReader: true)
    case .movedBack:
      try world.moveAside(holder.place)
      try world.move(holder.place, to: holder.home)
    }
  }
}
