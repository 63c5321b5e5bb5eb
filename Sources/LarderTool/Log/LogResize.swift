// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogResize: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resize",
    abstract: "Give a log another capacity, policy or times, and keep what fits.",
    discussion: """
      Keeps the newest messages that fit, with numbers and times, and the consumers' places. A log \
      that is to refuse when full is left as it is if its messages do not fit. Nobody may have the \
      log open for writing. A crash in the middle leaves the old log or the new one.

      EXAMPLES
        larder log resize --capacity 1GiB app.larder
        larder log resize --capacity 10MB --overwrite queue.larder
        larder log resize --refuse app.larder
        larder log resize --timestamps app.larder
      """)

  @Argument(help: "The log.", completion: .file())
  var file: String

  @Option(
    name: .long,
    help: ArgumentHelp("The new size of the file. (default: as it is)", valueName: "size"),
    transform: ByteCount.init)
  var capacity: ByteCount?

  @Flag(
    exclusivity: .exclusive,
    help: "When full: drop the oldest messages, or refuse. As it is by default.")
  var policy: PolicyChoice?

  @Flag(
    name: .long,
    help: "Keep the time of each message from now on; those of older messages are unknown.")
  var timestamps = false

  @Flag(name: .shortAndLong, help: "No summary.")
  var quiet = false

  func validate() throws {
    guard capacity != nil || policy != nil || timestamps else {
      throw ValidationError(
        "Say what to change: --capacity, --overwrite, --refuse or --timestamps.")
    }
  }

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    try LogCreation.requireWhole(file, undone: "changed")
    let before = try LogCreation.read(file).statistics()
    let whenFull = policy.map { $0.isOverwriting ? OverflowPolicy.overwriteOldest : .refuse }
    try MessageLog<Data>.resize(
      at: .path(file), to: DataSize(bytes: Int(clamping: capacity?.bytes ?? before.capacity)),
      whenFull: whenFull, keepsTimes: timestamps, trustsOtherUsers: others.areTrusted)
    guard !quiet else { return }
    let after = try LogCreation.read(file).statistics()
    let dropped = before.count.subtracting(clamping: after.count)
    StandardError.note(
      "\(file): \(Quantity.bytes(before.capacity)) before, \(Quantity.bytes(after.capacity)) now, "
        + "\(Quantity.count(after.count, "message")) kept"
        + (dropped > 0 ? ", \(Quantity.count(dropped)) oldest dropped to make them fit" : ""))
  }
}
