// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderTestSupport
import Testing

/// Every command over logs and stores that somebody changed who means harm: it ends by itself, with
/// an exit code that is documented.
///
/// `LARDER_FUZZ_SECONDS` makes it go on for so long, as `make fuzz AREA=tool` does, and
/// `LARDER_SEED` repeats a run.
struct HostileFilesTests {
  private static let seconds =
    ProcessInfo.processInfo.environment["LARDER_FUZZ_SECONDS"].flatMap { Double($0) } ?? 0
  /// Runs of each command without that.
  private static let fewest = 4

  /// Some read only; the more they find, the better.
  static let calls = (OutputTests.calls + OutputTests.variants).filter {
    $0.arguments.contains { $0.hasPrefix(",") } && !$0.command.hasPrefix("demo")
  }

  private let samples: Samples

  init() throws {
    samples = try Samples()
    let log = try MessageLog(
      at: .url(samples.file("log")), capacity: 64.kilobytes, whenFull: .overwriteOldest,
      coder: .string)
    for number in 1...3_000 { try log.append("message \(number)") }
    try log.consumer(named: "reader").acknowledge(through: 2_990)
    try log.close()
    let cache = try DiskCache<String, Data>(at: .path(samples.file("cache").path))
    for number in 0..<60 {
      try cache.set(
        Data(count: number * 50), forKey: "key \(number)", extendedData: Data("more".utf8),
        expiration: number % 3 == 0 ? .seconds(3_600) : nil)
    }
    try cache.checkpoint()
    for number in 0..<20 { try cache.set(nil, forKey: "key \(number)") }
    try cache.close()
  }

  @Test(arguments: calls)
  func everyCommandEndsAsItIsDocumented(_ call: Samples.Call) throws {
    let seed = UInt64(
      truncatingIfNeeded: call.testDescription.utf8.reduce(7) { $0 &* 31 &+ Int($1) })
    var mutant = Mutant(dice: SeededGenerator(seed: seed))
    let end = ContinuousClock.now + .seconds(Self.seconds / Double(Self.calls.count))
    var runs = 0
    while runs < Self.fewest || ContinuousClock.now < end {
      runs += 1
      let directory = try TemporaryDirectory()
      let folder = directory.file("files")
      try FileManager.default.copyItem(at: samples.folder, to: folder)
      try mutant.change(log: folder.appendingPathComponent("log"))
      for name in ["cache", "entries", "archive"] {
        try mutant.change(store: folder.appendingPathComponent(name, isDirectory: true))
      }
      let run = try Tool.run(samples.arguments(call, in: folder))
      #expect(
        (0...3).contains(run.code),
        "seed \(mutant.dice.seed), run \(runs): \(call.arguments): \(run.errors.suffix(2_000))")
    }
  }
}
