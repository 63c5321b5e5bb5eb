// SPDX-License-Identifier: MIT
public import Foundation

/// A process of this same program, whose output is read.
public final class Child {
  /// What a process said within a time.
  public enum Reading {
    /// Some of it.
    case bytes(Data)
    /// None came in time.
    case nothing
    /// It will say no more.
    case end
  }

  /// How a process ended.
  public enum Ending: Equatable, CustomStringConvertible {
    /// By itself.
    case status(Int32)
    /// By a signal.
    case signal(Int32)

    /// As a report says it.
    public var description: String {
      switch self {
      case .status(let status): "status \(status)"
      case .signal(let signal): "signal \(signal)"
      }
    }
  }

  private let process = Process()
  private let output = Pipe()
  private let input = Pipe()
  private var unread = Data()

  /// Starts one.
  ///
  /// - Parameters:
  ///   - launcher: A program that starts it, and the arguments of that.
  ///   - environment: More than this process has.
  ///   - isHeard: Whether its output is read here; else it goes to where this process's does.
  ///   - isTold: Whether it reads what it is told; else there is nothing for it to read.
  public init(
    _ arguments: [String], by launcher: [String] = [], environment: [String: String] = [:],
    isHeard: Bool = true, isTold: Bool = false
  ) throws {
    guard let program = Bundle.main.executablePath else { throw CocoaError(.fileNoSuchFile) }
    let all = launcher + [program] + arguments
    process.executableURL = URL(fileURLWithPath: all[0])
    process.arguments = Array(all.dropFirst())
    if isHeard { process.standardOutput = output }
    process.standardInput = isTold ? input : FileHandle.nullDevice
    // Swift's own report of a crash takes many seconds, outlives the process and holds its output.
    process.environment = ProcessInfo.processInfo.environment
      .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }.merging(environment) { $1 }
    try process.run()
  }

  /// Whether it has not ended.
  public var isRunning: Bool { process.isRunning }

  /// What came, if anything does within the time.
  public func read(milliseconds: Int32) -> Reading {
    let file = output.fileHandleForReading.fileDescriptor
    guard hasInput(file, milliseconds) else { return .nothing }
    let bytes = output.fileHandleForReading.availableData
    return bytes.isEmpty ? .end : .bytes(bytes)
  }

  /// The next line that it prints; nil if it has ended.
  public func line() -> String? {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      unread += more
    }
  }

  /// Tells it a line.
  public func tell(_ line: String) {
    input.fileHandleForWriting.write(Data((line + "\n").utf8))
  }

  /// Tells it no more.
  public func release() { try? input.fileHandleForWriting.close() }

  /// Kills it.
  public func kill() { end(process.processIdentifier) }

  /// Ends when it is dead, which is how.
  @discardableResult
  public func wait() -> Ending {
    process.waitUntilExit()
    let status = process.terminationStatus
    return process.terminationReason == .exit ? .status(status) : .signal(status)
  }
}

/// Whether there is something to read, or the end, within the time.
public func hasInput(_ file: Int32, _ milliseconds: Int32) -> Bool {
  var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
  return poll(&wanted, 1, milliseconds) > 0
}

// Outside, because within the class the system's function is hidden by the method.
private func end(_ process: Int32) { _ = kill(process, SIGKILL) }
