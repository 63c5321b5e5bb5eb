// SPDX-License-Identifier: MIT
import Foundation
import LarderLogTool

/// This program once more, in another process, with its standard output in a pipe.
final class ChildProcess {
  private let process = Process()
  private let output = Pipe()

  /// Nobody waits longer than this for a child to say something.
  private static let patience: CInt = 30_000

  init(_ arguments: [String]) throws {
    guard let executable = Bundle.main.executableURL else {
      throw ToolFailure("cannot find the larder executable to start it again")
    }
    process.executableURL = executable
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    do {
      try process.run()
    } catch {
      throw ToolFailure("cannot start \(executable.path): \(error.localizedDescription)")
    }
  }

  deinit {
    if process.isRunning { send(SIGKILL) }
  }

  /// Waits for output.
  /// - Returns: What is there, at least one byte; empty at the end of the output, or if nothing
  ///   came for half a minute.
  func read() -> Data {
    let descriptor = output.fileHandleForReading.fileDescriptor
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    var ready: CInt
    repeat { ready = poll(&waiting, 1, Self.patience) } while ready < 0 && errno == EINTR
    guard ready > 0 else { return Data() }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count: Int
    repeat {
      count = Foundation.read(descriptor, &bytes, bytes.count)
    } while count < 0
      && errno == EINTR
    return Data(bytes.prefix(max(0, count)))
  }

  func send(_ signal: CInt) { kill(process.processIdentifier, signal) }

  /// Waits for the end.
  /// - Returns: The exit code, or the negative number of the signal that ended it.
  func wait() -> Int32 {
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal
      ? -process.terminationStatus : process.terminationStatus
  }
}
