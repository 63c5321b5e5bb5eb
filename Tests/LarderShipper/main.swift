// SPDX-License-Identifier: MIT

// A program that ships a log, to be killed by LogShipKillTests: `LarderShipper read LOG PORT` one
// that the test writes, `LarderShipper own LOG PORT` one that it writes itself.

import Foundation

#if Remote
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  let arguments = Array(CommandLine.arguments.dropFirst())
  guard arguments.count == 3, let port = Int(arguments[2]) else { exit(64) }
  let url = URL(fileURLWithPath: arguments[1])
  // The input ends with the test, however that ends.
  Thread.detachNewThread {
    while !FileHandle.standardInput.availableData.isEmpty {}
    exit(0)
  }

  /// Appends without end, and makes room of what is acknowledged.
  @Sendable func write(_ log: MessageLog<Data>) throws {
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

  let owns = arguments[0] == "own"
  let log =
    owns
    ? try MessageLog(fileURL: url, maximumBytes: 1 << 16, whenFull: .refuse, coder: .data)
    : try MessageLog(readingFrom: url, coder: .data)
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
  let shipper = try LogShipper(log, consumer: "shipper", sink: sink, configuration: configuration)
  if owns {
    Thread.detachNewThread {
      do { try write(log) } catch { exit(1) }
    }
  }
  try await shipper.run()
#endif
