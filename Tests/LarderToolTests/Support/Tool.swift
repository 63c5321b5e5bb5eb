// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Runs the `larder` that was built with the tests.
enum Tool {
  /// What a run left behind.
  struct Run {
    /// The exit code, or the negative number of the signal that ended it.
    let code: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [Substring] { text.split(separator: "\n") }

    /// The output as one JSON object.
    var object: [String: Any] {
      get throws {
        try JSONSerialization.jsonObject(with: output) as? [String: Any] ?? [:]
      }
    }
  }

  /// Runs it to its end. Output goes through files, so that no pipe can fill up.
  static func run(_ arguments: String..., input: Data = Data()) throws -> Run {
    try run(arguments, input: input)
  }

  /// - Parameter redirections: As a shell has them, behind those of the test: `">&-"`.
  static func run(
    _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
    redirections: String = ""
  ) throws -> Run {
    let directory = try TemporaryDirectory()
    let files = ["in", "out", "err"].map { directory.file($0) }
    try input.write(to: files[0])
    try Data().write(to: files[1])
    try Data().write(to: files[2])
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    if !redirections.isEmpty {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "exec \"$0\" \"$@\" \(redirections)", executable.path] + arguments
    }
    process.environment = ProcessInfo.processInfo.environment
      .merging(environment) { _, new in new }
    process.standardInput = try FileHandle(forReadingFrom: files[0])
    process.standardOutput = try FileHandle(forWritingTo: files[1])
    process.standardError = try FileHandle(forWritingTo: files[2])
    try process.run()
    process.waitUntilExit()
    return Run(
      code: process.exitCode, output: try Data(contentsOf: files[1]),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  static let executable = builtProducts.appendingPathComponent("larder")
}

extension Process {
  /// The exit code, or the negative number of the signal that ended the process.
  var exitCode: Int32 {
    terminationReason == .uncaughtSignal ? -terminationStatus : terminationStatus
  }
}
