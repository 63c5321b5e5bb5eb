// SPDX-License-Identifier: MIT

#if Remote
  import Foundation

  /// Simulates one seed after the other, some of them twice: the same seed has the same trace.
  struct SimulationFamily {
    private let options: Options
    /// One in so many seeds is simulated twice.
    private static let repeats: UInt64 = 50
    private static let toldFailures = 3

    init(_ options: Options) { self.options = options }

    func run() throws -> Int32 {
      try VirtualLoop.shared.take()
      let start = Date()
      let seconds = options.seconds ?? 60
      let count = options.count ?? (options.isShort ? 200 : .max)
      var (seeds, deeds, failures, repeated) = (0, 0, 0, 0)
      var traces: UInt64 = 0
      let isRepeatable = ChanceOfAll.isRepeatable
      if !isRepeatable { say("simulation: not repeatable, as this build is not optimised") }
      while seeds < count, Date().timeIntervalSince(start) < seconds || options.count != nil {
        let seed = options.seed &+ UInt64(seeds)
        seeds += 1
        let run = try SimulatedRun(seed: seed, options.plant)
        let violations = try run.run()
        traces = (traces ^ run.trace) &* 0x100_0000_01B3
        deeds += run.deeds
        if isRepeatable, seed % Self.repeats == 0 || options.count == 1 {
          repeated += 1
          let again = try SimulatedRun(seed: seed, options.plant)
          _ = try again.run()
          if again.trace != run.trace {
            failures += 1
            say("FAILED simulation: seed \(seed) had another trace when it was simulated again")
          }
        }
        guard let violation = violations.first else { continue }
        failures += 1
        if failures <= Self.toldFailures { tell(violation, seed) }
        if options.stops { break }
      }
      let time = Date().timeIntervalSince(start)
      say(
        """
        simulation \(seeds) seeds, \(deeds) operations, \(failures) failed, \(repeated) simulated \
        twice, trace \(String(traces, radix: 16)), \(String(format: "%.1f", time)) s, \
        \(Int(Double(seeds + repeated) / max(time, 0.001))) seeds/s
        """)
      return failures > 0 ? 1 : 0
    }

    private func tell(_ violation: Violation, _ seed: UInt64) {
      say("FAILED simulation: \(violation.what)")
      for line in violation.story { say("       \(line)") }
      say("       again: --family simulation --seed \(seed) --count 1")
    }
  }
#endif
