// SPDX-License-Identifier: MIT
import Foundation

/// A process of this same program, whose output is read.
final class Child {
  enum Reading {
    case bytes(Data)
    /// None came in time.
    case nothing
    case end
  }

  enum Ending: Equatable, CustomStringConvertible {
    case status(Int32)
    case signal(Int32)

    var description: String {
      switch self {
      case .status(let status): "status \(status)"
      case .signal(let signal): "signal \(signal)"
      }
    }
  }

  private let process = Process()
  private let output = Pipe()

  init(_ arguments: [String]) throws {
    guard let program = Bundle.main.executableURL else { throw Broken("this program has no file") }
    process.executableURL = program
    process.arguments = arguments
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    // Swift's own report of a crash would outlive the process and hold its output.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    try process.run()
  }

  /// What came, if anything does within the time.
  func read(milliseconds: Int32) -> Reading {
    let file = output.fileHandleForReading.fileDescriptor
    guard hasInput(file, milliseconds) else { return .nothing }
    let bytes = input(file)
    return bytes.isEmpty ? .end : .bytes(bytes)
  }

  func kill() { end(process.processIdentifier) }

  func wait() -> Ending {
    process.waitUntilExit()
    let status = process.terminationStatus
    return process.terminationReason == .exit ? .status(status) : .signal(status)
  }
}

// Outside, because within the class the system's functions are hidden by methods of their names.

private func hasInput(_ file: Int32, _ milliseconds: Int32) -> Bool {
  var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
  return poll(&wanted, 1, milliseconds) > 0
}

private func input(_ file: Int32) -> Data {
  var buffer = [UInt8](repeating: 0, count: 65_536)
  let count = read(file, &buffer, buffer.count)
  return Data(buffer.prefix(max(0, count)))
}

private func end(_ process: Int32) { _ = kill(process, SIGKILL) }
