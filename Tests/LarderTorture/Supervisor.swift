// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Runs each family in a process of its own, prints what it finds, and starts another one where
/// that ended before its time.
struct Supervisor {
  /// Only so many failures of a family are told in full.
  private static let toldFailures = 8
  /// How long a worker may say nothing, in seconds, before it counts as stuck.
  private static let patience = 60.0

  private let options: Options
  private let folder: URL

  init(_ options: Options) throws {
    self.options = options
    folder = try makeWorkplace("larder-torture", in: options.directory)
  }

  /// - Returns: The status to exit with.
  func run() throws -> Int32 {
    defer {
      if options.keeps { print("files are in \(folder.path)") } else { Workplace.remove(folder) }
    }
    say("seed \(options.seed)")
    var passed = 0
    var failed = 0
    let shares = options.wanted.reduce(0) { $0 + $1.share }
    for family in options.wanted {
      let start = Date()
      var tally = Tally()
      try run(family, until: start + options.seconds * family.share / shares, &tally)
      let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
      say(
        """
        \(padded(family.name, 8)) \(padded(family.area, 9))\(left(tally.trials, 8)) trials \
        \(left(tally.failures, 6)) failed  \(left(seconds, 6)) s
        """)
      passed += max(0, tally.trials - tally.failures)
      failed += tally.failures
    }
    say("\(passed) passed, \(failed) failed")
    return failed > 0 ? 1 : 0
  }

  private struct Tally {
    var trials = 0
    var failures = 0
    var caseIndex = 0
    var note = ""
  }

  private func run(_ family: Family, until end: Date, _ tally: inout Tally) throws {
    while true {
      let orders = Orders(
        duty: .work, family: family, seed: options.seed, caseIndex: tally.caseIndex,
        folder: folder.appendingPathComponent("\(family.area)-\(family.name)").path,
        seconds: max(0, end.timeIntervalSinceNow), plant: options.plant,
        isShort: options.isShort, isOnlyCase: options.onlyCase != nil, keeps: options.keeps)
      var mine = orders
      if let only = options.onlyCase { mine.caseIndex = only }
      let worker = try Child(mine.arguments)
      let isOver = follow(worker, family, &tally)
      if isOver || options.onlyCase != nil || end.timeIntervalSinceNow <= 0 { return }
      tally.caseIndex += 1
    }
  }

  /// - Returns: Whether there is nothing more to do.
  private func follow(_ worker: Child, _ family: Family, _ tally: inout Tally) -> Bool {
    var lines = Lines()
    var silentSince = Date()
    while true {
      switch worker.read(milliseconds: 200) {
      case .bytes(let bytes):
        silentSince = Date()
        for line in lines.add(bytes) { take(line, family, &tally) }
      case .nothing:
        if Date().timeIntervalSince(silentSince) > Self.patience {
          worker.kill()
          _ = worker.wait()
          fail("it took too long", family, &tally)
          return false
        }
      case .end:
        let ending = worker.wait()
        if ending != .status(0) { fail("the process ended with \(ending)", family, &tally) }
        return ending == .status(0) || options.stops
      }
      if options.stops, tally.failures > 0 {
        worker.kill()
        _ = worker.wait()
        return true
      }
    }
  }

  /// What a worker says: a letter and a text.
  private func take(_ line: String, _ family: Family, _ tally: inout Tally) {
    let text = String(line.dropFirst(2))
    switch line.first {
    case "C": tally.caseIndex = Int(text) ?? tally.caseIndex
    case "T":
      tally.trials += 1
      tally.note = text
    case "N": tally.note = text
    case "F": fail(text, family, &tally)
    default: say(line)
    }
  }

  private func fail(_ text: String, _ family: Family, _ tally: inout Tally) {
    tally.failures += 1
    if tally.failures > Self.toldFailures { return }
    say("FAILED \(family.name) \(family.area): \(text)")
    if !tally.note.isEmpty { say("       in: \(tally.note)") }
    say(
      """
             again: --area \(family.area) --family \(family.name) --seed \(options.seed) \
      --case \(tally.caseIndex)
      """)
  }

  private func left(_ value: some CustomStringConvertible, _ width: Int) -> String {
    let text = value.description
    return String(repeating: " ", count: max(0, width - text.count)) + text
  }
}

/// Lines out of pieces of text.
struct Lines {
  private var rest = Data()

  mutating func add(_ bytes: Data) -> [String] {
    rest += bytes
    var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    rest = parts.popLast().map { Data($0) } ?? Data()
    return parts.map { String(decoding: $0, as: UTF8.self) }
  }
}
