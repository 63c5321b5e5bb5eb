// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// Attributes on a system that has them, which is made up here.
struct FileAttributesTests {
  private let directory: TemporaryDirectory
  private let classes = Locked<[String: FileAttributes.Protection]>([:])
  private let excluded = Locked<[String]>([])
  private let sets = Locked(0)

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.url.path }

  private var system: FileAttributeSystem {
    var system = FileAttributeSystem()
    system.protection = (
      get: { [classes] path in classes.withLock { $0[path] } },
      set: { [classes, sets] protection, path in
        guard FileManager.default.fileExists(atPath: path) else {
          throw CocoaError(.fileNoSuchFile)
        }
        if path.hasSuffix("refused") { throw CocoaError(.fileWriteNoPermission) }
        classes.withLock { $0[path] = protection }
        sets.withLock { $0 += 1 }
      }
    )
    system.excludeFromBackup = { [excluded] path in excluded.withLock { $0.append(path) } }
    return system
  }

  private func make(_ name: String) throws -> String {
    let file = directory.file(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data().write(to: file)
    return file.path
  }

  @Test func theDefaultCanBeUsedInTheBackgroundAndIsBackedUp() {
    let attributes = FileAttributes()
    #expect(attributes.protection == .completeUntilFirstUserAuthentication)
    #expect(!attributes.isExcludedFromBackup)
    #expect(MessageLogConfiguration().files == attributes)
  }

  @Test func aFolderAndWhatIsInItGetTheClassOnce() throws {
    let files = [try make("data"), try make("log/1"), directory.file("log").path, path]
    let attributes = FileAttributes()
    try attributes.apply(to: path, system)
    #expect(classes.withLock { $0.keys.sorted() } == files.sorted())
    #expect(
      classes.withLock { Set($0.values) } == [.completeUntilFirstUserAuthentication])
    try attributes.apply(to: path, system)
    #expect(sets.withLock { $0 } == files.count)
    #expect(excluded.withLock { $0 } == [])
  }

  @Test func anotherClassReplacesTheFirst() throws {
    let file = try make("data")
    var attributes = FileAttributes()
    try attributes.apply(to: path, system)
    attributes.protection = .complete
    try attributes.apply(to: path, system)
    #expect(classes.withLock { $0[file] } == .complete)
    attributes.protection = nil
    try attributes.apply(to: path, system)
    #expect(classes.withLock { $0[file] } == .complete)
  }

  @Test func aFileAloneGetsThemToo() throws {
    let file = try make("log.larder")
    var attributes = FileAttributes()
    attributes.isExcludedFromBackup = true
    try attributes.apply(to: file, system)
    #expect(classes.withLock { $0 } == [file: .completeUntilFirstUserAuthentication])
    #expect(excluded.withLock { $0 } == [file])
  }

  @Test func whatCannotBeSetIsAnErrorAndTriedAgain() throws {
    let file = try make("refused")
    let attributes = FileAttributes()
    #expect(errorCode { try attributes.apply(to: path, system) } == .io)
    // The folder does not say yet that all is done.
    #expect(classes.withLock { $0[path] } == nil)
    try FileManager.default.removeItem(atPath: file)
    try attributes.apply(to: path, system)
    #expect(classes.withLock { $0[path] } != nil)
  }

  @Test func withoutAttributesNothingHappens() throws {
    var attributes = FileAttributes()
    attributes.isExcludedFromBackup = true
    try attributes.apply(to: directory.file("missing").path, FileAttributeSystem())
  }
}
