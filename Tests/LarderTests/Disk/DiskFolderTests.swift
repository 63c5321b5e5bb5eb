// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Where a store lies that has a name and no path.
struct DiskFolderTests {
  @Test func programsDoNotShareWhatHasTheSameName() throws {
    let programs = ["a", "b"].map { "larder-test-\($0)-\(UUID().uuidString)" }
    let paths = try programs.map { try DiskFolder.caches("pages", program: $0) }
    let parents = paths.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
    // What cannot be removed is not what the test is about.
    defer { for parent in parents { try? FileManager.default.removeItem(at: parent) } }
    #expect(parents.map(\.lastPathComponent) == programs)
    #expect(paths.allSatisfy { $0.hasSuffix("/pages") })
    // The program's folder is there, and the store makes its own.
    for (path, parent) in zip(paths, parents) {
      #expect(FileManager.default.fileExists(atPath: parent.path))
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func thisProgramIsNamedByItsBundleOrItsExecutable() throws {
    let program = DiskFolder.program
    try DiskFolder.validate(program)
    #if os(Linux)
      #expect(CommandLine.arguments[0].hasSuffix(program))
    #endif
  }

  @Test(arguments: ["", ".", "..", "a/b"])
  func aNameIsThatOfOneFolder(_ name: String) {
    #expect(errorCode { try DiskFolder.caches(name, program: "larder-test") } == .invalidArgument)
    #expect(errorCode { try DiskFolder.caches("pages", program: name) } == .invalidArgument)
  }
}
