// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport

  /// Histories of processes with a cache each, over a real server and a proxy, while this process
  /// kills, cuts, stalls and flushes.
  struct ProcessesFamily {
    private let options: RemoteOptions
    private static let toldFailures = 3

    init(_ options: RemoteOptions) { self.options = options }

    func run() throws -> Int32 {
      let folder = try makeWorkplace("larder-torture")
      defer { try? FileManager.default.removeItem(at: folder) }
      let start = Date()
      let seconds = options.seconds ?? 60
      var sum = Tally()
      let servers = options.plant?.needsCluster ?? false ? .cluster : options.servers
      let least = servers == nil ? 2 : 1
      while sum.histories < least || Date().timeIntervalSince(start) < seconds {
        let left = seconds - Date().timeIntervalSince(start)
        let share = left / Double(max(1, least - sum.histories))
        let seed = options.seed &+ UInt64(sum.histories)
        // Checking takes its time, too.
        let history = try ProcessHistory(
          seed, options, folder, isCluster: servers.map { $0 == .cluster } ?? (seed % 2 == 1),
          seconds: max(1, share * 0.75))
        let (tally, violations) = try history.run()
        sum.add(tally)
        for violation in violations.prefix(max(0, Self.toldFailures - sum.failures)) {
          tell(violation, seed)
        }
        sum.failures += violations.count
        if options.stops, sum.failures > 0 { break }
      }
      let time = String(format: "%.1f", Date().timeIntervalSince(start))
      say("processes  \(sum), \(time) s")
      return sum.failures > 0 ? 1 : 0
    }

    private func tell(_ violation: Violation, _ seed: UInt64) {
      say("FAILED processes: \(violation.what)")
      for line in violation.story { say("       \(line)") }
      say("       again, perhaps: --family processes --seed \(seed)")
    }
  }

  /// What was done, for the report.
  struct Tally: CustomStringConvertible {
    var histories = 0
    var clusters = 0
    var processes = 0
    var operations = 0
    var failedOperations = 0
    var barriers = 0
    var serverKills = 0
    var clientKills = 0
    var cuts = 0
    var flushes = 0
    var moves = 0
    var failures = 0

    mutating func add(_ other: Tally) {
      histories += other.histories
      clusters += other.clusters
      processes += other.processes
      operations += other.operations
      failedOperations += other.failedOperations
      barriers += other.barriers
      serverKills += other.serverKills
      clientKills += other.clientKills
      cuts += other.cuts
      flushes += other.flushes
      moves += other.moves
    }

    var description: String {
      """
      \(histories) histories, \(clusters) of them on a cluster, \(processes) processes, \
      \(operations) operations (\(failedOperations) failed), \(barriers) barriers, \
      \(serverKills) kills of a server, \(clientKills) of processes, \
      \(cuts) connections cut or stalled, \(flushes) flushes, \(moves) moves of slots, \
      \(failures) failed
      """
    }
  }
#endif
