// SPDX-License-Identifier: MIT

// One of the machines that RemoteMachinesTests starts: does what it reads, and says what it did. Or
// one that ships a log, to be killed by LogShipKillTests: see Shipper.
#if Remote
  import Dispatch
  import Foundation
  import Larder
  import LarderRemote
  import Synchronization

  final class Machine: Sendable {
    private let cache: Cache<String, Int>
    private let loads = Atomic(0)

    init(_ port: Int, _ folder: String) throws {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(600)
      server.connectTimeout = .seconds(600)
      var remote = RemoteTierConfiguration()
      remote.localLifetime = .seconds(86_400)
      remote.loadLease = .seconds(86_400)
      cache = try Cache(at: .path(folder), remote: server, remoteConfiguration: remote)
    }

    private func say(_ text: String) {
      FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    func run() throws {
      say("ready")
      while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 3, let value = Int(words[2]) else { return say("what?") }
        switch words[0] {
        case "load":
          let found = try cache.value(forKey: words[1]) {
            loads.add(1, ordering: .relaxed)
            // For others to find that it is being loaded.
            usleep(20_000)
            return value
          }
          say("found \(found) loads \(loads.load(ordering: .relaxed))")
        case "watch":
          while cache.memoryCache.peek(forKey: words[1]) != value {
            _ = try cache.value(forKey: words[1])
          }
          say("watching")
          while cache.memoryCache.peek(forKey: words[1]) == value { sched_yield() }
          say("gone \(DispatchTime.now().uptimeNanoseconds)")
        default: say("what?")
        }
      }
    }
  }

  let words = CommandLine.arguments
  if words.count == 3, let port = Int(words[1]) {
    try Machine(port, words[2]).run()
  } else if words.count == 4, let port = Int(words[3]) {
    try await Shipper.run(URL(fileURLWithPath: words[2]), port, writes: words[1] == "own")
  }
#endif
