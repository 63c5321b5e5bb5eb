// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport

  /// What the command line asks for.
  struct RemoteOptions {
    enum Family: String, CaseIterable {
      case simulation, processes, outage

      var summary: String {
        switch self {
        case .simulation: "simulated machines, network and server, a seed each"
        case .processes: "processes and a real server, kills and cut connections"
        case .outage: "a server that is gone for a quarter of the time, frozen and killed"
        }
      }
    }

    enum Servers: String {
      case one, cluster
    }

    /// What this process is to do: one that was started by a person starts others.
    enum Duty: String {
      case supervise, work, client
    }

    var duty = Duty.supervise
    var families = Family.allCases
    var seconds: Double?
    var seed = UInt64.random(in: 0..<1_000_000_000)
    /// How many seeds to simulate; nil: as many as there is time for.
    var count: Int?
    var operations = 1_000_000
    var plant: RemotePlant?
    var isShort = false
    var stops = false
    var isHelp = false
    /// nil: sometimes one, sometimes a cluster.
    var servers: Servers?
    /// How many processes simulate, and which of them this one is; nil for who starts them.
    var jobs = ProcessInfo.processInfo.activeProcessorCount
    var job: Int?
    /// What a client is told by who started it.
    var client: [String] = []

    static var usage: String {
      let families = Family.allCases.map { family in
        "  \(family.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0)) \(family.summary)"
      }
      return """
        Usage: LarderTorture --area remote [options]

        Hurts caches over a server in every way they must survive, for about a minute,
        and checks that no read was older than promised. Prints one line for each
        family of trials and ends with 'N passed, M failed'. Fails if anything did.

          --family NAME     only this family
          --seconds N       time for everything together (default 60)
          --seed N          seed of all random choices (default: a new one, printed)
          --count N         how many seeds to simulate (default: what there is time for)
          --jobs N          how many processes simulate (default: one for each processor)
          --servers KIND    'one' or a 'cluster' of three (default: both)
          --operations N    of all processes in a history (default 1000000)
          --short           a few seconds
          --stop            stop at the first failure
          --plant NAME      behave as if the library had a defect, which is then to be
                            found: \(RemotePlant.allCases.map(\.rawValue).joined(separator: ", "))
          --help            this text

        Families:
        \(families.joined(separator: "\n"))

        Examples:
          LarderTorture --area remote --seconds 120
          LarderTorture --area remote --family simulation --seed 42 --count 1
        """
    }

    init(_ arguments: some Sequence<String>) throws(UsageError) {
      var words = CommandLineWords(arguments)
      while let argument = words.next() {
        switch argument {
        case "--area": _ = try words.value()
        case "--family": families = [try words.choice("family", Family.self)]
        case "--seconds": seconds = Double(try words.number())
        case "--seed": seed = try words.number()
        case "--count": count = Int(clamping: try words.number())
        case "--operations": operations = max(1, Int(clamping: try words.number()))
        case "--plant": plant = try words.choice("defect", RemotePlant.self)
        case "--jobs": jobs = max(1, Int(clamping: try words.number()))
        case "--job": job = Int(clamping: try words.number())
        case "--servers": servers = try words.choice("kind of servers", Servers.self)
        case "--short": isShort = true
        case "--stop": stops = true
        case "--help", "-h": isHelp = true
        case "--work": duty = .work
        case "--client":
          duty = .client
          client = words.all()
        default: throw UsageError("'\(argument)' is not an option")
        }
      }
    }

    /// - Returns: The status to exit with.
    func carryOut() throws -> Int32 {
      if isHelp {
        print(Self.usage)
        return 0
      }
      switch duty {
      case .supervise: return try supervise()
      case .client:
        try Client(client).live()
        return 0
      case .work:
        switch families[0] {
        case .simulation: return try SimulationFamily(self).run()
        case .processes: return try ProcessesFamily(self).run()
        case .outage: return try OutageFamily(self).run()
        }
      }
    }

    /// Each family in a process of its own, so that a crash is a failure like any other, and
    /// so that sets and dictionaries have an order that follows from the seed.
    private func supervise() throws -> Int32 {
      say("seed \(seed)")
      var failed = 0
      for family in families {
        let ending = try Child(remote: work(family)).wait()
        if ending != .status(0) { failed += 1 }
        if ending != .status(0) && ending != .status(1) {
          say("FAILED \(family.rawValue): the process ended with \(ending)")
        }
      }
      say("\(families.count - failed) passed, \(failed) failed")
      return failed > 0 ? 1 : 0
    }

    /// What a process is told that does a family's work.
    private func work(_ family: Family) -> [String] {
      let time = seconds ?? (isShort ? 6 : 60)
      var arguments = [
        "--area", "remote", "--work", "--family", family.rawValue, "--seed", "\(seed)",
      ]
      arguments += ["--seconds", "\(max(1, Int(time) / families.count))"]
      arguments += ["--operations", "\(operations)", "--jobs", "\(jobs)"]
      if let count { arguments += ["--count", "\(count)"] }
      if let plant { arguments += ["--plant", plant.rawValue] }
      if let servers { arguments += ["--servers", servers.rawValue] }
      if isShort { arguments.append("--short") }
      if stops { arguments.append("--stop") }
      return arguments
    }

    /// What one of the processes is told that simulate.
    func simulation(_ job: Int) -> [String] { work(.simulation) + ["--job", "\(job)"] }
  }

  extension Child {
    /// One of this area, with an order of sets and dictionaries that follows from the seed.
    ///
    /// - Parameter isHeard: Whether its output is read here.
    convenience init(remote arguments: [String], isHeard: Bool = false) throws {
      try self.init(
        arguments, environment: ["SWIFT_DETERMINISTIC_HASHING": "1"], isHeard: isHeard)
    }
  }
#endif
