// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogAppend: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "append",
    abstract: "Append lines to a log, one message a line.",
    discussion: """
      Reads the inputs, or the standard input, and appends every line as one message, without its \
      newline. A missing log is created; a log that exists keeps its capacity and policy. One \
      whose messages are CBOR, or of another format that is no text, does not take lines, nor does \
      one that is damaged: see larder log salvage. Lines \
      are appended as they come, so a slow input is not held back, and what was appended survives \
      the end of this and any other program. If the log is deleted meanwhile, or another file gets \
      its name, that is an error.

      Ctrl-C stops reading and keeps what was appended. It goes to every process of a pipeline: \
      where an input is a pipe, the first one is left to the program at its other end, whose last \
      lines are appended, and a second one stops reading. SIGTERM stops it always.

      A line that is longer than the log has room for becomes several messages of a quarter of \
      that room, all but its last one marked as partial, and larder log cat joins them again.

      Sizes are written as 64MiB, 1GB, 100k: k, M, G and T are powers of 1,024, as KiB is; kB, MB, \
      GB and TB are powers of 1,000.

      EXAMPLES
        my-server 2>&1 | larder log append app.larder
        larder log append --capacity 1GiB app.larder access.log error.log
        larder log append --refuse --capacity 10MB queue.larder < jobs.txt
        find / -print0 | larder log append --null files.larder
        larder log append --sync --json app.larder access.log | jq .lastSequence
        my-server 2>&1 | larder log append --timestamps app.larder
      """)

  @Argument(help: "The log; created if it is missing.", completion: .file())
  var file: String

  @Argument(
    help: "Files to append, in this order. None, or -, is the standard input.", completion: .file())
  var input: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("The size of a new log's file. (default: 64MiB)", valueName: "size"),
    transform: ByteCount.init)
  var capacity: ByteCount?

  @Flag(
    exclusivity: .exclusive,
    help: ArgumentHelp("When a new log is full: drop its oldest messages (default), or refuse."))
  var policy: PolicyChoice?

  @Flag(
    name: .long,
    help: """
      Have a new log keep the time of each message, for larder log cat --since. One that does \
      keeps them without this, too.
      """)
  var timestamps = false

  @Flag(
    name: .long,
    help: "Sync what was read to the disk before reading on, so that it survives a power cut.")
  var sync = false

  @Flag(name: [.customShort("0"), .long], help: "Messages end with a NUL byte, not a newline.")
  var null = false

  @Flag(name: .shortAndLong, help: "No summary and no progress.")
  var quiet = false

  @Flag(name: .long, help: "Print a summary as a JSON object on the standard output.")
  var json = false

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    let inputs = try InputFile.list(input, writingTo: file)
    Interruption.enable(sparesFirst: inputs.contains(where: \.isPipe))
    try LogCreation.requireWhole(file, undone: "appended")
    var job = try AppendJob(
      ring: try LogCreation.open(
        file, capacity: capacity?.bytes, policy: policy, keepsTimes: timestamps, others: others),
      sync: sync, showsProgress: !quiet && !json)
    let hasLost = try job.recovery().lost > 0
    if !quiet { try reportRecovery(job) }
    let result: AppendJob.Result
    do {
      for input in inputs where !Interruption.isRequested {
        try job.append(input, terminator: null ? 0 : UInt8(ascii: "\n"))
      }
      result = try job.finish()
    } catch {
      job.endProgress()
      // What was appended before the failure is in the log; the failure itself is told after it.
      if let result = try? job.result() { try? summarize(result) }
      throw error
    }
    try summarize(result)
    // Not a success: what follows in a script may rely on all of the input being in the log.
    if Interruption.isRequested { throw ExitCode(ToolExit.interrupted) }
    if hasLost { throw ExitCode(ToolExit.damage) }
  }

  private func summarize(_ result: AppendJob.Result) throws {
    if json { try StandardOutput.line(object(result).line) }
    if !json && !quiet { StandardError.note(sentence(result)) }
  }

  private func object(_ result: AppendJob.Result) -> JSONObject {
    var object = JSONObject()
    object.add("file", file)
    object.add("appended", result.appended)
    object.add("bytes", result.bytes)
    object.add("seconds", result.duration.inSeconds)
    object.add("firstSequence", result.appended > 0 ? result.firstSequence : nil)
    object.add("lastSequence", result.appended > 0 ? result.lastSequence : nil)
    object.add("overwritten", result.overwritten)
    object.add("interrupted", Interruption.isRequested)
    return object
  }

  private func sentence(_ result: AppendJob.Result) -> String {
    var text = "\(file): appended \(Quantity.count(result.appended, "message"))"
    if result.appended > 0 {
      text += " (\(Quantity.count(result.firstSequence)) to "
      text += "\(Quantity.count(result.lastSequence)))"
    }
    text += ", \(Quantity.bytes(result.bytes)) in \(Quantity.time(result.duration))"
    if result.duration > .seconds(1) {
      text += ", \(Quantity.rate(bytes: result.bytes, in: result.duration))"
    }
    if result.overwritten > 0 {
      text += "; the log was full and dropped its oldest "
      text += Quantity.count(result.overwritten, "message")
    }
    return text + (Interruption.isRequested ? "; interrupted" : "")
  }

  /// Says what opening found in a log whose last writer did not close it, if that is worth saying.
  private func reportRecovery(_ job: borrowing AppendJob) throws {
    let report = try job.recovery()
    guard !report.isIntact else { return }
    StandardError.note(
      "\(file): the last writer did not close it; \(Quantity.count(report.lost, "message")) lost "
        + "and \(Quantity.count(report.intact, "message")) intact, see larder log verify")
  }
}

/// What a full log does, as flags.
enum PolicyChoice: String, EnumerableFlag {
  case overwrite, refuse

  var isOverwriting: Bool { self == .overwrite }
}
