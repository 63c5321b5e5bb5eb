// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

/// A C program from the documentation, built with the C core's sources.
struct CProgram {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Without a compiler there is nothing to test, and that is no failure.
  static let isCompilerThere = (try? run("/usr/bin/env", ["cc", "--version"])) != nil

  /// Some modules of the core, compiled once for all programs, which takes a few seconds.
  private struct Core {
    private let directory: TemporaryDirectory
    var object: String { directory.file("core.o").path }

    init(_ modules: [String]) throws {
      directory = try TemporaryDirectory()
      let sources = modules.map(CProgram.folder).flatMap { folder in
        (FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? [])
          .filter { $0.hasSuffix(".c") }.map { folder.appendingPathComponent($0).path }
      }
      // They name each other's headers, and want more of the system than C11 has.
      let includes = CProgram.modules.map { "-I" + CProgram.folder($0).path }
      _ = try CProgram.run(
        "/usr/bin/env",
        ["cc", "-std=c11", "-D_GNU_SOURCE"] + includes + CProgram.includes(CProgram.modules)
          + sources + ["-r", "-nostdlib", "-o", object])
    }
  }

  private static let modules = ["CLarderSystem", "CLarder", "CLarderStore"]
  private static let core = Result { try Core(["CLarderSystem", "CLarder"]) }
  private static let store = Result { try Core(["CLarderStore"]) }

  private static func folder(_ module: String) -> URL {
    Documentation.top.appendingPathComponent("Sources/\(module)")
  }

  private static func includes(_ modules: [String]) -> [String] {
    modules.map { "-I" + folder($0).appendingPathComponent("include").path }
  }

  private let directory: TemporaryDirectory

  /// Compiles `code`, and links it with the core.
  ///
  /// - Parameter usesStore: Whether it needs the store, and with it LMDB, too.
  init(_ code: String, usesStore: Bool = false) throws {
    directory = try TemporaryDirectory()
    let source = directory.file("example.c")
    try code.write(to: source, atomically: true, encoding: .utf8)
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    let modules = usesStore ? Self.modules : Self.modules.dropLast()
    let objects =
      try usesStore ? [Self.store.get().object, Self.core.get().object] : [Self.core.get().object]
    _ = try Self.run(
      "/usr/bin/env",
      ["cc"] + strict + Self.includes(modules) + [source.path] + objects
        + (usesStore ? ["-llmdb"] : []) + ["-pthread", "-o", directory.file("example").path])
  }

  /// A file in the folder that all runs share.
  func file(_ name: String) -> URL { directory.file(name) }

  /// What the program prints when it runs in a folder that all its runs share.
  ///
  /// - Throws: if it does not exit with 0.
  func run(_ input: String) throws -> String {
    let inputFile = directory.file("input")
    try input.write(to: inputFile, atomically: false, encoding: .utf8)
    return try Self.run(directory.file("example").path, [], in: directory.url, input: inputFile)
  }

  /// The program while it runs, to be asked a line at a time.
  final class Running {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    fileprivate init(_ url: URL) throws {
      process.executableURL = url
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    /// Writes a line, and waits for one.
    func ask(_ line: String) throws -> String {
      try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
      var answer: [UInt8] = []
      while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
        answer.append(byte)
      }
      return String(decoding: answer, as: UTF8.self)
    }

    /// Its input ends, and with it the program.
    func end() throws {
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
      if process.terminationStatus != 0 {
        throw Failure(description: "the program ended with \(process.terminationStatus)")
      }
    }
  }

  func start() throws -> Running { try Running(directory.file("example")) }

  static func run(
    _ path: String, _ arguments: [String], in folder: URL? = nil, input: URL? = nil
  ) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    if let folder { process.currentDirectoryURL = folder }
    process.standardInput = try input.map { try FileHandle(forReadingFrom: $0) }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw Failure(description: "\(path) ended with \(process.terminationStatus): \(output)")
    }
    return output
  }
}
