// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import LarderCore
import LarderLogging
import Logging

/// What a log call of swift-log costs.
enum LoggingArea: Area {
  static let name = "logging"
  static let title = "A backend of swift-log"

  static var rows: [Row] { [call] }

  private static var call: Row {
    Row(
      id: "logging.call",
      ours: """
        Logger.info with three values of metadata, MessageLogHandler, a LogDestination with its \
        defaults and a file of 1 MiB
        """,
      rival: Rival(
        name: "StreamLogHandler",
        settings: "swift-log's own, StreamLogHandler.standardOutput, which is /dev/null"),
      goal: .ratio(0.3)
    ) { bench in
      var configuration = LogDestinationConfiguration()
      configuration.capacity = LogArea.smallCapacity
      let destination = try LogDestination(
        at: .path(bench.fresh("ring")), configuration: configuration)
      let ours = Logger(label: "bench") { MessageLogHandler(label: $0, destination: destination) }
      let stream = Logger(label: "bench") { StreamLogHandler.standardOutput(label: $0) }
      let nowhere = try FileHandle(forWritingTo: URL(fileURLWithPath: "/dev/null"))
      let count = 1000
      return Contest(
        ours: { bench.time(count, loop: .swift) { log(count, to: ours) } },
        rival: {
          fflush(nil)
          let output = dup(1)
          dup2(nowhere.fileDescriptor, 1)
          defer {
            dup2(output, 1)
            close(output)
          }
          return bench.time(count, loop: .swift) {
            log(count, to: stream)
            fflush(nil)
          }
        },
        remarks: { destination.lostCount == 0 ? [] : ["\(destination.lostCount) calls were lost"] },
        close: { LogArea.closeQuietly(destination.log) })
    }
  }

  private static func log(_ count: Int, to logger: Logger) {
    for call in 0..<count {
      logger.info(
        "request served",
        metadata: ["path": "/index.html", "status": "200", "bytes": "\(call)"])
    }
  }
}
