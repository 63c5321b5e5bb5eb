// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderRemote
  import LarderTestSupport

  /// Two machines that share their entries over a server, beside a plain model: whatever one does
  /// the other sees. The server remembers no more than ten reads, and the machines' clocks are an
  /// hour apart.
  enum Remote {
    static let program = Program(
      name: "remote", summary: "two machines over a redis-server, clocks an hour apart", run: run)

    private typealias Machine = Cache<String, String>

    /// In seconds, for a machine that is busy with other things.
    private static let patience = 60.0
    private static let others = "Others read it one push later"

    private static func run(_ session: Session) async throws {
      guard RedisServer.isInstalled else {
        return say("remote: skipped: there is no redis-server here")
      }
      let redis = try RedisServer(["--tracking-table-max-keys", "10"])
      defer { redis.end() }
      var server = RemoteServer(host: "127.0.0.1", port: redis.port)
      server.security = .plaintext
      // A machine that stands still is no reason to lose the connection.
      server.timeout = .seconds(60)
      var machines: [Machine] = []
      for number in 0..<2 {
        var local = CacheConfiguration<String, String>()
        local.clock = CacheClock(
          now: { .seconds(ProcessInfo.processInfo.systemUptime) },
          date: { Date() + Double(number) * 3600 })
        local.memory.countLimit = 20
        var shared = RemoteTierConfiguration()
        shared.keyPrefix = "outside:"
        shared.loadLease = .milliseconds(200)
        shared.stalenessSampling = 1
        machines.append(
          try Cache(
            at: .path(session.path("machine \(number)")), remote: server, configuration: local,
            remoteConfiguration: shared))
      }
      try await agree(session, machines)
      try await expire(machines)
      try await loadTooLong(machines)
      for machine in machines {
        let remote = machine.remoteTier?.statistics
        expect(remote?.unannouncedChanges == 0, others, "\(remote?.description ?? "")")
        try await machine.close()
      }
    }

    private static func agree(_ session: Session, _ machines: [Machine]) async throws {
      var dice = session.dice("agree")
      var model: [String: (value: String, extended: Data?)] = [:]
      let deadline = session.deadline(share: 0.8)
      var (turns, latest) = (0, 0.0)
      while !deadline.isOver {
        turns += 1
        let (one, group) = (machines[dice.below(2)], "\(dice.below(4))/")
        let key = group + "\(dice.below(10))"
        let new = (value: "\(turns)", extended: dice.oneIn(2) ? Data("e\(turns)".utf8) : nil)
        switch dice.below(8) {
        case 0:
          try await one.remove(forKey: key)
          model[key] = nil
        case 1:
          try await one.remove(prefix: group)
          model = model.filter { !$0.key.hasPrefix(group) }
        case 2:
          let made = try await one.update(forKey: key) { value -> String in
            value = (value ?? "") + "+"
            return value ?? ""
          }
          expect(
            made == (model[key]?.value ?? "") + "+", others, "update of \(key) made \(made)")
          model[key] = (made, model[key]?.extended)
        case 3:
          let found = try await one.values(forKeys: model.keys)
          let wanted = model.mapValues(\.value)
          expect(found == wanted, others, "many: \(found), not \(wanted)")
        default:
          try await one.set(new.value, forKey: key, extendedData: new.extended)
          model[key] = new
        }
        let start = now()
        for key in (0..<10).map({ group + "\($0)" }) {
          for machine in machines {
            while try await !isSo(machine, key, model[key]) && now() - start < patience {
              try await Task.sleep(for: .milliseconds(1))
            }
            let found = try await machine.valueWithExtendedData(forKey: key)
            expect(
              now() - start < patience, others,
              "\(String(describing: found)) is not \(String(describing: model[key])) at \(turns)")
          }
        }
        latest = max(latest, now() - start)
        if latest >= patience { return }
      }
      say("remote: \(turns) turns, the other one saw each within \(Int(latest * 1000)) ms")
    }

    private static func isSo(
      _ machine: Machine, _ key: String, _ wanted: (value: String, extended: Data?)?
    ) async throws -> Bool {
      let found = try await machine.valueWithExtendedData(forKey: key)
      let isThere = try await machine.contains(key)
      return found?.value == wanted?.value && found?.extendedData == wanted?.extended
        && isThere == (wanted != nil)
    }

    /// A life is counted by nobody's calendar.
    private static func expire(_ machines: [Machine]) async throws {
      for (one, other) in [(machines[0], machines[1]), (machines[1], machines[0])] {
        let start = now()
        try await one.set("short", forKey: "life", expiration: .seconds(1))
        let found = try await other.value(forKey: "life")
        expect(
          found == "short" || now() - start > 0.9, "An entry lives as long as it should",
          "of a life of 1 s \(now() - start) are over, and it is gone")
        try await Task.sleep(for: .seconds(1.1))
        for machine in machines {
          let late = try await machine.value(forKey: "life")
          expect(late == nil, "An expired value is never returned", "after \(now() - start) s")
        }
      }
    }

    /// The other one does not wait for longer than the lease.
    private static func loadTooLong(_ machines: [Machine]) async throws {
      let (begun, begin) = AsyncStream<Void>.makeStream()
      let (ended, end) = AsyncStream<Void>.makeStream()
      async let slow: String = machines[0].value(forKey: "load") {
        begin.finish()
        for await _ in ended {}
        return "slow"
      }
      for await _ in begun {}
      let fast = try await machines[1].value(forKey: "load") { "fast" }
      end.finish()
      _ = try await slow
      let found = try await [
        machines[0].value(forKey: "load"), machines[1].value(forKey: "load"),
      ]
      expect(
        fast == "fast" && !found.contains("slow"),
        "What takes longer than its lease to load is not stored", "\(fast), then \(found)")
    }
  }
#endif
