// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// Which of the two forms of a call the compiler takes, at the top level of a main.swift and
/// elsewhere.
@Suite struct TopLevelTests {
  @Test(arguments: ["TopLevelBlocking", "TopLevelAwaiting", "TopLevelBoth"])
  func aMainUsesEveryStore(program: String) throws {
    let directory = try TemporaryDirectory()
    let process = try Process.run(
      builtProducts.appendingPathComponent(program), arguments: [directory.url.path])
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
  }

  @Test func anAsyncFunctionThatDoesNotAwaitIsAnError() throws {
    let code = """
      import Larder
      func open() throws -> DiskCache<Int, Int> { try DiskCache(at: .named("never opened")) }
      func blocks() throws { try open().sync() }
      func forgets() async throws { try open().sync() }  // error
      func forgetsToLoad(_ memory: MemoryCache<Int, Int>) async throws {
        _ = try memory.value(forKey: 1) { 1 }  // error
      }
      func suspends() async throws { try await open().sync() }
      let closureBlocks = { (disk: DiskCache<Int, Int>) in Task { try disk.sync() } }
      let closureForgets = { (disk: DiskCache<Int, Int>) in
        Task {
          try disk.sync()  // error
          await Task.yield()
        }
      }
      """
    let directory = try TemporaryDirectory()
    let file = directory.file("code.swift")
    try Data(code.utf8).write(to: file)
    let modules = ["CLarderSystem", "CLarder", "CLarderStore"].map { "Sources/\($0)/include" }
    let folders =
      [builtProducts.appendingPathComponent("Modules")]
      + modules.map(Documentation.top.appendingPathComponent)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", file.path]
      + folders.flatMap { ["-I", $0.path] }
    let pipe = Pipe()
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lines = code.split(separator: "\n").enumerated()
    let expected = lines.filter { $0.element.hasSuffix("// error") }.map { $0.offset + 1 }
    let errors = output.matches(of: /code\.swift:(\d+):\d+: error: (.*)/)
    #expect(errors.compactMap { Int($0.1) }.sorted() == expected, "\(output)")
    #expect(errors.allSatisfy { $0.2 == "expression is 'async' but is not marked with 'await'" })
  }
}
