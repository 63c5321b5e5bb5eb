// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  /// Ships a log: `read LOG PORT` one that the test writes, `own LOG PORT` one that it writes
  /// itself.
  enum Shipper {
    static func run(_ url: URL, _ port: Int, writes: Bool) async throws {
      // The input ends with the test, however that ends.
      Thread.detachNewThread {
        while !FileHandle.standardInput.availableData.isEmpty {}
        exit(0)
      }
      let log =
        writes
        ? try MessageLog(at: .url(url), capacity: 64.kilobytes, whenFull: .refuse, coder: .data)
        : try MessageLog(readingFrom: .url(url), coder: .data)
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(60)
      server.connectTimeout = .seconds(60)
      let sink = try RedisStreamSink(
        connection: RedisConnection(server), stream: "killed", identity: log.identity())
      var configuration = LogShipperConfiguration()
      configuration.maximumBatchCount = 50
      configuration.initialPause = .milliseconds(1)
      configuration.maximumPause = .milliseconds(20)
      let shipper = try LogShipper(
        log, consumer: "shipper", sink: sink, configuration: configuration)
      if writes {
        Thread.detachNewThread {
          do { try write(log) } catch { exit(1) }
        }
      }
      try await shipper.run()
    }

    /// Appends without end, and makes room of what is acknowledged.
    @Sendable private static func write(_ log: MessageLog<Data>) throws {
      let consumer = try log.consumer(named: "shipper")
      var next = try log.statistics.nextSequence
      while true {
        do {
          while true { next = try log.append(shippedMessage(next)) + 1 }
        } catch let error as LarderError where error.code == .full {
          try log.remove(through: consumer.acknowledged)
          // The processor is the shipper's, who makes the room.
          Thread.sleep(forTimeInterval: 0.0005)
        }
      }
    }
  }
#endif
