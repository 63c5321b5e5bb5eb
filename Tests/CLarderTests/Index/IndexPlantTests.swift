// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// Shows that the model can find something: the index is compiled once more with a defect, and has
/// to differ from its model then.
@Suite("Index: planted defects") struct IndexPlantTests {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Without a compiler there is nothing to plant with; a sanitizer does not know such a library.
  static let canPlant = !isSanitized && (try? run(["cc", "--version"])) != nil

  @Test(
    .enabled(if: canPlant, "There is no cc, or a sanitizer is at work."),
    arguments: [
      // One that the deep check has to find.
      ("INDEX_OVERFLOW", LARDER_INDEX_FIFO, 8),
      // And one that it cannot: reads that are lost when a buffer is full.
      ("INDEX_NOTES", LARDER_INDEX_LRU, 7),
    ])
  func theModelFindsAPlantedDefect(
    defect: String, policy: larder_index_policy, plan: UInt64
  ) throws {
    #expect(try difference(in: Self.sound.get(), policy, plan) == nil)
    let found = try difference(in: Self.functions(with: defect), policy, plan)
    #expect(found != nil, "\(defect) was not found")
  }

  private static let sound = Result { try functions(with: nil) }

  /// An index with a defect, or without.
  private static func functions(with defect: String?) throws -> IndexFunctions {
    let directory = try TemporaryDirectory()
    let sources = SourceTree.c.map(\.path).filter {
      $0.hasPrefix("Sources/CLarder/index/") || $0.hasPrefix("Sources/CLarderSystem/")
    }
    var core = SourceTree.top
    if let defect {
      core = directory.url
      try Self.run(["sh", "Tests/Torture/plant.sh", defect, core.path])
    }
    let file = directory.file("planted.so")
    #if os(Linux)
      // Or its calls of itself would reach the library that the tests are linked with.
      let options = ["-Wl,-Bsymbolic"]
    #else
      let options: [String] = []
    #endif
    try Self.run(
      ["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-fPIC", "-shared", "-pthread"]
        + ["-o", file.path] + options
        + ["CLarderSystem/include", "CLarder/include", "CLarder"].flatMap {
          ["-I", core.appendingPathComponent("Sources/\($0)").path]
        }
        + sources.filter { $0.hasSuffix(".c") }.map { core.appendingPathComponent($0).path })
    guard let library = dlopen(file.path, RTLD_NOW | RTLD_LOCAL) else {
      throw Failure(description: dlerror().map { String(cString: $0) } ?? "dlopen")
    }
    return try IndexFunctions(library: library)
  }

  /// What the model says of an index; nil if it finds none.
  private func difference(
    in functions: IndexFunctions, _ policy: larder_index_policy, _ number: UInt64
  ) throws -> String? {
    let plan = try #require(IndexModelTests.plans(policy).first { $0.seed % 100 == number })
    var driver = try IndexDriver(plan, functions: functions)
    do {
      try driver.run(checks: 1000)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @discardableResult private static func run(_ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = SourceTree.top
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw Failure(description: output) }
    return output
  }
}
