// SPDX-License-Identifier: MIT
import Foundation

/// A `larder` that runs beside the test, with pipes for its input, output and errors.
final class RunningTool {
  private let process = Process()
  private let inputPipe = Pipe()
  private let outputPipe = Pipe()
  private let errorPipe = Pipe()
  private var unread = Data()

  convenience init(_ arguments: String...) throws { try self.init(arguments) }

  /// - Parameter ignoresInterrupts: As a script's job in the background does.
  init(_ arguments: [String], ignoresInterrupts: Bool = false) throws {
    // A child that has ended already must not end the test with it.
    _ = signal(SIGPIPE, SIG_IGN)
    // Children inherit it.
    _ = signal(SIGINT, SIG_DFL)
    let ignoring = ["/bin/sh", "-c", "trap '' INT; exec \"$0\" \"$@\""]
    let command = (ignoresInterrupts ? ignoring : []) + [Tool.executable.path] + arguments
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.standardInput = inputPipe
    process.standardOutput = outputPipe
    process.standardError = errorPipe
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  var identifier: Int32 { process.processIdentifier }

  func write(_ text: String) throws {
    try inputPipe.fileHandleForWriting.write(contentsOf: Data(text.utf8))
  }

  func endInput() throws { try inputPipe.fileHandleForWriting.close() }

  /// Lets go of the output, as `head` does when it has seen enough.
  func closeOutput() throws { try outputPipe.fileHandleForReading.close() }

  /// Reads exactly `count` bytes, or fewer if the output ends.
  func read(_ count: Int) -> Data {
    while unread.count < count {
      let more = Self.readAvailable(outputPipe)
      if more.isEmpty { break }
      unread.append(more)
    }
    let result = Data(unread.prefix(count))
    unread = Data(unread.dropFirst(count))
    return result
  }

  /// What is there, at least a byte. Empty at the end, and if nothing comes for a minute, so that a
  /// test of a tool that hangs fails instead of hanging, too.
  private static func readAvailable(_ pipe: Pipe) -> Data {
    let file = pipe.fileHandleForReading
    var waiting = pollfd(fd: file.fileDescriptor, events: Int16(POLLIN), revents: 0)
    var ready: Int32
    repeat { ready = poll(&waiting, 1, 60_000) } while ready < 0 && errno == EINTR
    return ready > 0 ? file.availableData : Data()
  }

  /// Waits for errors, and takes what is there.
  func readErrors() -> String { String(decoding: Self.readAvailable(errorPipe), as: UTF8.self) }

  /// Reads a line with its newline, or less if the output ends.
  func readLine() -> String {
    var line = Data()
    while true {
      let byte = read(1)
      line.append(byte)
      if byte.isEmpty || byte[0] == UInt8(ascii: "\n") {
        return String(decoding: line, as: UTF8.self)
      }
    }
  }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for the end.
  func wait() -> (code: Int32, rest: Data, errors: String) {
    let rest = unread + outputPipe.fileHandleForReading.readDataToEndOfFile()
    let errors = errorPipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.exitCode, rest, String(decoding: errors, as: UTF8.self))
  }

  /// Waits for the end without looking at the output.
  func waitForExit() -> (code: Int32, errors: String) {
    let errors = errorPipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.exitCode, String(decoding: errors, as: UTF8.self))
  }
}
