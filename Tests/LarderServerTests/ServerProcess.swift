// SPDX-License-Identifier: MIT

#if Logging
  import Foundation
  import LarderTestSupport

  /// A `LarderServer` that runs beside the test.
  final class ServerProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread = Data()

    /// - Parameters:
    ///   - prefix: A program that runs it, with its arguments.
    ///   - environment: Added to the test's own.
    init(
      _ arguments: [String], under prefix: [String] = [], environment: [String: String] = [:]
    ) throws {
      // A child that has ended already must not end the test with it.
      _ = signal(SIGPIPE, SIG_IGN)
      let whole = prefix + [builtProducts.appendingPathComponent("LarderServer").path] + arguments
      process.executableURL = URL(fileURLWithPath: whole[0])
      process.arguments = Array(whole.dropFirst())
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    deinit {
      if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    func write(_ line: String) throws {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line; nil at the end.
    func readLine() -> String? {
      while true {
        if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
          let line = String(decoding: unread[..<end], as: UTF8.self)
          unread = Data(unread[(end + 1)...])
          return line
        }
        let more = output.fileHandleForReading.availableData
        if more.isEmpty { return nil }
        unread.append(more)
      }
    }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end; the status, or minus the signal.
    func wait() -> Int32 {
      process.waitUntilExit()
      let status = process.terminationStatus
      return process.terminationReason == .exit ? status : -status
    }
  }
#endif
