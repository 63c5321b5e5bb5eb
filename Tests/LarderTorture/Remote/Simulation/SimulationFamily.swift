// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport

  /// Simulates one seed after the other, some of them twice: the same seed has the same trace. The
  /// seeds are shared out to some processes.
  struct SimulationFamily {
    private let options: RemoteOptions
    /// One in so many seeds is simulated twice.
    private static let repeats: UInt64 = 50
    private static let toldFailures = 3

    init(_ options: RemoteOptions) { self.options = options }

    func run() throws -> Int32 {
      if let job = options.job {
        say(try simulate(job).line)
        return 0
      }
      let start = Date()
      var options = options
      // The first failure is that of the first seed that has one.
      options.jobs = options.stops ? 1 : max(1, min(options.jobs, options.count ?? .max))
      let parts = try (0..<options.jobs).map { job in
        try Child(remote: options.simulation(job), isHeard: true)
      }
      var sum = Sum()
      for part in parts { sum.add(try read(part)) }
      // What a process wrote is read to its end, so it waits for nothing.
      for part in parts where part.wait() != .status(0) {
        throw Broken("a simulating process failed")
      }
      let time = Date().timeIntervalSince(start)
      say("simulation \(sum), \(options.jobs) at a time, \(String(format: "%.1f", time)) s")
      return sum.failures > 0 ? 1 : 0
    }

    /// Shows what a process says, but for its last line, which is the sum.
    private func read(_ part: Child) throws -> Sum {
      var last: String?
      while let line = part.line() {
        if let last { say(last) }
        last = line
      }
      guard let sum = last.flatMap({ Sum(line: $0[...]) }) else {
        throw Broken("a simulating process ended early: \(last ?? "")")
      }
      return sum
    }

    private func simulate(_ job: Int) throws -> Sum {
      try VirtualLoop.shared.take()
      let start = Date()
      let seconds = options.seconds ?? 60
      let count = options.count ?? (options.isShort ? 200 : .max)
      var sum = Sum()
      let isRepeatable = ChanceOfAll.isRepeatable
      if !isRepeatable, job == 0 {
        say("simulation: not repeatable, as this build is not optimised")
      }
      var number = job
      while number < count, Date().timeIntervalSince(start) < seconds || options.count != nil {
        let seed = options.seed &+ UInt64(number)
        number += options.jobs
        let run = try run(seed)
        sum.seeds += 1
        if run.isCluster { sum.clusters += 1 }
        sum.deeds += run.deeds
        // In whatever order they are added.
        var mixed = Dice(run.trace, salt: seed)
        sum.trace &+= mixed.next()
        if isRepeatable, seed % Self.repeats == 0 || options.count == 1 {
          sum.repeated += 1
          if try self.run(seed).trace != run.trace {
            sum.failures += 1
            say("FAILED simulation: seed \(seed) had another trace when it was simulated again")
          }
        }
        guard let violation = run.violations.first else { continue }
        sum.failures += 1
        if sum.failures <= Self.toldFailures { tell(violation, seed) }
        if options.stops { break }
      }
      return sum
    }

    private func run(_ seed: UInt64) throws -> SimulatedRun {
      let servers = options.plant?.needsCluster ?? false ? .cluster : options.servers
      let run = try SimulatedRun(
        seed: seed, options.plant, isCluster: servers.map { $0 == .cluster })
      try run.run()
      return run
    }

    private func tell(_ violation: Violation, _ seed: UInt64) {
      say("FAILED simulation: \(violation.what)")
      for line in violation.story { say("       \(line)") }
      let servers = options.servers.map { " --servers \($0)" } ?? ""
      say("       again: --family simulation --seed \(seed) --count 1\(servers)")
    }

    /// What was simulated, by one process or all.
    private struct Sum: CustomStringConvertible {
      var seeds = 0
      var clusters = 0
      var deeds = 0
      var failures = 0
      var repeated = 0
      var trace: UInt64 = 0

      init() {}

      /// For the process that started this one.
      var line: String { "sum \(seeds) \(clusters) \(deeds) \(failures) \(repeated) \(trace)" }

      init?(line: Substring) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "sum", numbers.count == 6 else { return nil }
        let counts = numbers.prefix(5).map { Int(clamping: $0) }
        (seeds, clusters, deeds) = (counts[0], counts[1], counts[2])
        (failures, repeated, trace) = (counts[3], counts[4], numbers[5])
      }

      mutating func add(_ other: Sum) {
        seeds += other.seeds
        clusters += other.clusters
        deeds += other.deeds
        failures += other.failures
        repeated += other.repeated
        trace &+= other.trace
      }

      var description: String {
        """
        \(seeds) seeds, \(clusters) of them clusters, \(deeds) operations, \(failures) failed, \
        \(repeated) simulated twice, trace \(String(trace, radix: 16))
        """
      }
    }
  }
#endif
