// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogStat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Show a log's figures: messages, room, losses, consumers.",
    discussion: """
      Works while a program writes to the log. With --json, sizes are in bytes and times are in \
      seconds since 1970. Of a log that keeps times, it shows those of its oldest and its newest \
      message, in UTC.

      EXAMPLES
        larder log stat app.larder
        larder log stat --json app.larder | jq '.overwritten, .consumers'
      """)

  @Argument(help: "The log.", completion: .file())
  var file: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let ring = try LogCreation.read(file)
    let statistics = try ring.statistics()
    let consumers = try ring.cursors().sorted { $0.key < $1.key }
    var output = StandardOutput()
    if json {
      try object(statistics, consumers).write(to: &output)
    } else {
      try output.write(table(statistics, consumers))
    }
    try output.flush()
  }

  private func table(_ s: LogStatistics, _ consumers: [(key: String, value: UInt64)]) -> String {
    var rows: [(String, String)] = []
    var messages = Quantity.count(s.count)
    if let oldest = s.oldestSequence, let newest = s.newestSequence {
      messages += "  (\(Quantity.count(oldest)) to \(Quantity.count(newest)))"
    }
    if s.keepsTimes { rows.append(("times", span(s))) }
    let percent = s.dataCapacity > 0 ? Double(s.size) / Double(s.dataCapacity) * 100 : 0
    rows.append(("messages", messages))
    rows.append(
      ("capacity", "\(Quantity.bytes(s.capacity))  (\(Quantity.count(s.capacity, "byte")))"))
    rows.append(
      (
        "in use",
        "\(Quantity.bytes(s.size)) of \(Quantity.bytes(s.dataCapacity)), "
          + "\(Quantity.decimals(percent, 1)) %"
      ))
    rows.append(
      (
        "when full",
        s.whenFull == .overwriteOldest ? "drops its oldest messages" : "refuses new messages"
      ))
    rows.append(("overwritten", Quantity.count(s.overwritten)))
    rows.append(("removed", Quantity.count(s.removed)))
    rows.append(("lost", Quantity.count(s.lost)))
    rows.append(("numbers skipped", Quantity.count(s.skipped)))
    rows.append(("wraps", Quantity.count(s.wraps)))
    rows.append(("next number", Quantity.count(s.nextSequence)))
    rows.append(("on the disk to", Quantity.count(s.syncedSequence)))
    rows.append(("written by", s.writerProcess.map { "process \($0)" } ?? "no process"))
    rows.append(("message format", s.format.isEmpty ? "any" : s.format))
    rows.append(("created", s.created.formatted(.iso8601)))
    rows.append(("file format", "version \(s.formatVersion)"))
    rows.append(("consumers", "\(consumers.count) of \(s.consumerSlots)"))
    for (name, acknowledged) in consumers {
      let behind = behind(acknowledged, s)
      rows.append(
        (
          "  " + TerminalText.escaped(name, isLine: true),
          "done to \(Quantity.count(acknowledged)), "
            + (behind == 0 ? "nothing left" : "\(Quantity.count(behind)) behind")
        ))
    }
    let width = (rows.map(\.0.count).max() ?? 0) + 2
    return "\(file)\n"
      + rows.map { "  \($0.padding(toLength: width, withPad: " ", startingAt: 0))\($1)\n" }.joined()
  }

  private func object(
    _ s: LogStatistics, _ consumers: [(key: String, value: UInt64)]
  ) -> JSONObject {
    var object = JSONObject()
    object.add("file", file)
    object.add("count", s.count)
    object.add("oldestSequence", s.oldestSequence)
    object.add("newestSequence", s.newestSequence)
    object.add("nextSequence", s.nextSequence)
    object.add("syncedSequence", s.syncedSequence)
    object.add("keepsTimes", s.keepsTimes)
    object.add("oldestTime", s.oldestDate?.timeIntervalSince1970)
    object.add("newestTime", s.newestDate?.timeIntervalSince1970)
    object.add("capacity", s.capacity)
    object.add("dataCapacity", s.dataCapacity)
    object.add("size", s.size)
    object.add("whenFull", s.whenFull == .overwriteOldest ? "overwriteOldest" : "refuse")
    object.add("overwritten", s.overwritten)
    object.add("removed", s.removed)
    object.add("lost", s.lost)
    object.add("skipped", s.skipped)
    object.add("wraps", s.wraps)
    object.add("writerProcess", s.writerProcess)
    object.add("format", s.format)
    object.add("created", s.created.timeIntervalSince1970)
    object.add("formatVersion", s.formatVersion)
    object.add("consumerSlots", s.consumerSlots)
    object.add(
      "consumers",
      consumers.map { name, acknowledged in
        var consumer = JSONObject()
        consumer.add("name", name)
        consumer.add("acknowledged", acknowledged)
        consumer.add("behind", behind(acknowledged, s))
        return consumer
      })
    return object
  }

  /// From when to when the messages are.
  private func span(_ s: LogStatistics) -> String {
    guard let newest = s.newestDate else { return s.count == 0 ? "none yet" : "unknown" }
    guard let oldest = s.oldestDate else { return "unknown to \(TimeText.utc(newest))" }
    return "\(TimeText.utc(oldest)) to \(TimeText.utc(newest))"
  }

  /// How many messages a consumer has before it, of those that the log holds.
  private func behind(_ acknowledged: UInt64, _ statistics: LogStatistics) -> UInt64 {
    let numbers = statistics.nextSequence.subtracting(clamping: 1)
    return min(numbers.subtracting(clamping: acknowledged), UInt64(statistics.count))
  }
}
