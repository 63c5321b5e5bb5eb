// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

// Example: sink
actor MemorySink: LogSink {
  private(set) var records: [LogBatch.Record] = []

  func lastSequence() async throws -> UInt64? { records.last?.sequence }

  func append(_ batch: LogBatch, after last: UInt64?) async throws {
    guard last == records.last?.sequence else {
      throw LarderError(.conflict, "Another shipper was faster.")
    }
    records += batch.records
  }
}
// End of example

@Suite("The examples of \"Shipping logs\"") struct ShippingExamples {
  private let transcript = Transcript()

  private func print(_ items: Any...) { transcript.add(items) }

  @Test func shipALogToASinkOfYourOwn() async throws {
    let directory = try TemporaryDirectory()
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .refuse, coder: .string)
    try log.append("started")
    let sink = MemorySink()
    // Example: ship
    let shipper = try LogShipper(log, consumer: "memory", sink: sink)
    try await shipper.shipAll()
    print(shipper.statistics.messages, "shipped,", shipper.statistics.lag, "to go")
    // End of example
    #expect(transcript.lines == ["1 shipped, 0 to go"])
    #expect(await sink.records.map(\.sequence) == [1])
  }
}
