// SPDX-License-Identifier: MIT

#if Remote
  import Dispatch
  import Foundation
  import Larder
  import LarderCore
  import LarderRemote
  import LarderTestSupport
  import Testing

  /// A process that does what it is told: see `Tests/LarderRemoteMachine`.
  private final class MachineProcess: Sendable {
    private let process: Process
    private let input: Pipe
    private let lines: AsyncStream<String>
    private let directory: TemporaryDirectory

    init(_ redis: RedisServer) throws {
      directory = try TemporaryDirectory()
      let process = Process()
      process.executableURL = builtProducts.appendingPathComponent("LarderRemoteMachine")
      process.arguments = [String(redis.port), directory.file("counts").path]
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try RedisServer.spawning.withLock { try process.run() }
      (self.process, self.input) = (process, input)
      let (lines, continuation) = AsyncStream<String>.makeStream()
      self.lines = lines
      Thread.detachNewThread {
        var unread = Data()
        while true {
          let more = output.fileHandleForReading.availableData
          if more.isEmpty { break }
          unread += more
          while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            continuation.yield(String(decoding: unread[..<end], as: UTF8.self))
            unread = Data(unread[(end + 1)...])
          }
        }
        continuation.finish()
      }
    }

    // It ends with its input.
    deinit { try? input.fileHandleForWriting.close() }

    func tell(_ line: String) throws {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The words of the next line that begins like this.
    func next(_ word: String) async throws -> [String] {
      for await line in lines where line.hasPrefix(word) {
        return line.split(separator: " ").map(String.init)
      }
      throw LarderError(.closed, "The process has ended.")
    }
  }

  @Suite("Processes that share a server", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteMachinesTests {
    @Test func eightProcessesLoadAKeyOnce() async throws {
      let redis = try RedisServer()
      let machines = try (0..<8).map { _ in try MachineProcess(redis) }
      for machine in machines { _ = try await machine.next("ready") }
      for (round, key) in ["a", "b", "c"].enumerated() {
        for machine in machines { try machine.tell("load \(key) 7") }
        var loads = 0
        for machine in machines {
          let words = try await machine.next("found")
          #expect(words.dropFirst().first == "7")
          loads += try #require(words.last.flatMap(Int.init))
        }
        // So far.
        #expect(loads == round + 1)
      }
    }

    /// From the call of a write in one process until the memory of another is without the copy.
    @Test func anInvalidationReachesAnotherProcess() async throws {
      let redis = try RedisServer()
      let machine = try MachineProcess(redis)
      _ = try await machine.next("ready")
      let directory = try TemporaryDirectory()
      let cache = try Cache<String, Int>(
        at: .path(directory.file("counts").path), remote: redis.patient)
      var times: [Double] = []
      for round in 0..<100 {
        try await cache.set(2 * round, forKey: "k")
        try machine.tell("watch k \(2 * round)")
        _ = try await machine.next("watching")
        let start = DispatchTime.now().uptimeNanoseconds
        try await cache.set(2 * round + 1, forKey: "k")
        let end = try #require(try await machine.next("gone").last.flatMap(Double.init))
        times.append((end - Double(start)) / 1e6)
      }
      times.sort()
      if ProcessInfo.processInfo.environment["LARDER_SHOW_TIMES"] != nil {
        print("invalidation of another process: median \(times[50]) ms, 99 % \(times[98]) ms")
      }
    }
  }
#endif
