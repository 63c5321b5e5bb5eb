// SPDX-License-Identifier: MIT

#if Logging
  import Foundation
  import Larder
  import LarderLogging
  import Logging

  /// Writes a line past every buffer.
  func say(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Logs from threads, each of which keeps in a file of its own how many of its calls returned.
  ///
  /// Says `half` when the first thread has made half of its calls, and `done` when all have made
  /// theirs, and waits to be killed.
  func logFromThreads(_ folder: String, _ threads: Int, _ calls: Int) throws {
    let url = URL(fileURLWithPath: folder)
    var configuration = LogDestinationConfiguration()
    configuration.capacity = DataSize(bytes: (threads * calls) << 9 + 1 << 20)
    configuration.whenFull = .refuse
    let destination = try LogDestination(
      at: .url(url.appendingPathComponent("log")), configuration: configuration)
    let done = DispatchSemaphore(value: 0)
    // All of them before the first thread may have the process killed.
    let files = try (0..<threads).map { number in
      let returned = url.appendingPathComponent("returned-\(number)")
      try Data().write(to: returned)
      return try FileHandle(forWritingTo: returned)
    }
    for (number, file) in files.enumerated() {
      Thread.detachNewThread {
        var logger = Logger(label: "thread") {
          MessageLogHandler(label: $0, destination: destination, metadataProvider: nil)
        }
        logger[metadataKey: "thread"] = "\(number)"
        for call in 1...max(1, calls) {
          logger.info("call", metadata: ["call": "\(call)"])
          try? file.seek(toOffset: 0)
          try? file.write(contentsOf: Data("\(call)\n".utf8))
          if number == 0, call == (calls + 1) / 2 { say("half") }
        }
        done.signal()
      }
    }
    for _ in 0..<threads { done.wait() }
    say("done")
    while true { pause() }
  }

  /// Logs a hundred messages between two lines of output, with a durability of `.power` where a
  /// message is critical.
  func logAtLevel(_ folder: String, _ level: String) throws {
    var configuration = LogDestinationConfiguration()
    configuration.criticalDurability = .power
    let destination = try LogDestination(
      at: .path(folder + "/log"), configuration: configuration)
    let logger = Logger(label: "main") { MessageLogHandler(label: $0, destination: destination) }
    say("begin")
    for call in 1...100 {
      logger.log(level: Logger.Level(rawValue: level) ?? .info, "call", metadata: ["n": "\(call)"])
    }
    say("end")
    exit(destination.lostCount == 0 ? 0 : 1)
  }
#endif
