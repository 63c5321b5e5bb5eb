// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport

  /// A program that was built with the tests, and runs beside one. Ends with the last reference to
  /// it.
  final class Child: Sendable {
    private struct State {
      var code: Int32?
      var waiting: [CheckedContinuation<Int32, Never>] = []
    }

    private let process = Process()
    // A program that ends with the test, however that ends, looks at its input.
    private let input = Pipe()
    private let directory: TemporaryDirectory
    private let state: Locked<State>

    init(
      _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws {
      let state = Locked(State())
      self.state = state
      directory = try TemporaryDirectory()
      let file = directory.file("errors")
      try Data().write(to: file)
      process.executableURL = builtProducts.appendingPathComponent(program)
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment
        .merging(environment) { _, new in new }
      process.standardInput = input
      process.standardOutput = FileHandle.nullDevice
      process.standardError = try FileHandle(forWritingTo: file)
      process.terminationHandler = { process in
        let isSignal = process.terminationReason == .uncaughtSignal
        let code = isSignal ? -process.terminationStatus : process.terminationStatus
        let waiting = state.withLock { state in
          defer { state.waiting = [] }
          state.code = code
          return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: code) }
      }
      // What is started at the same time would have this one's pipes.
      try RedisServer.spawning.withLock { try process.run() }
    }

    deinit { if process.isRunning { kill(SIGKILL) } }

    var isRunning: Bool { state.withLock { $0.code == nil } }

    /// What it wrote to its standard error.
    var errors: String {
      let bytes = try? Data(contentsOf: directory.file("errors"))
      return String(decoding: bytes ?? Data(), as: UTF8.self)
    }

    func kill(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    /// Waits for its end.
    ///
    /// - Returns: Its exit code, or the negative number of the signal that ended it.
    func wait() async -> Int32 {
      await withCheckedContinuation { continuation in
        let code = state.withLock { state in
          if state.code == nil { state.waiting.append(continuation) }
          return state.code
        }
        if let code { continuation.resume(returning: code) }
      }
    }
  }
#endif
