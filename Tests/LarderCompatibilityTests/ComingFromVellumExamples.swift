// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

// Example: an archivable type
struct Member: Codable, Archivable {
  var userName: String
  var age: Int
  var email: String?
  var tags: [String] = []
  var primaryKey: String { userName }
}
// End of example

/// The code of the page "Coming from Vellum": its examples, and every cell of its tables.
@Suite("Coming from Vellum") struct ComingFromVellumExamples {
  private let directory: TemporaryDirectory
  private let factory: ArchiveFactory
  private let transcript = Transcript()
  private let ada = Member(userName: "ada", age: 36, email: "ada@example.org", tags: ["math"])
  private let bob = Member(userName: "bob", age: 20)
  private let eve = Member(userName: "eve", age: 28, tags: ["math", "code"])

  init() throws {
    directory = try TemporaryDirectory()
    factory = ArchiveFactory(directory: directory.url)
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func theSameProgram() throws {
    // Example: from Vellum
    let members = try factory.archive(for: Member.self)
    try members.record(Member(userName: "ada", age: 36))
    try members.insert(Member(userName: "bob", age: 20), Member(userName: "eve", age: 28))

    let found = try members.findWhere { $0.age(.greater(than: 21)).userName(.contains("e")) }
      .sorted { $0.age(.descending) }.limitResults(by: 10).getResults()
    print(found.map(\.userName))  // ["eve"]
    // End of example
    #expect(transcript.lines == [#"["eve"]"#])
  }

  @Test func calls() throws {
    let members = try factory.archive(
      for: Member.self, maximumMemorySize: 1.megabytes, maximumDiskSize: 10.megabytes)
    try members.record(ada)
    try members.update(ada)
    try members.update("ada") { $0.age = 37 }
    try members.insert(all: [bob, eve])
    try members.insert(bob, eve)
    let member = try members.access("ada")
    let all = try members.accessAll()
    let some = try members.accessAll(limitedBy: 2)
    #expect(member?.age == 37 && all.count == 3 && some.count == 2)
    #expect(try members.latestAccessTime(of: "ada") != nil)
    #expect(try members.size > .zero)
    #expect(members.memorySize <= members.memorySizeLimit)
    #expect(members.sizeLimit == 10.megabytes)
    #expect(try members.deleteAll(olderThan: .seconds(3600)) == 0)
    try members.delete(id: "ada")
    try members.delete(ids: "ada", "bob")
    try members.delete(allIDs: ["ada", "bob"])
    try members.delete(bob)
    try members.delete(bob, eve)
    try members.delete(all: [bob, eve])
    #expect(try members.count == 0)
    try members.deleteAll()
    let path = directory.file("own").path
    var configuration = ArchiveConfiguration()
    configuration.sizeLimit = 10.megabytes
    configuration.memorySizeLimit = 1.megabytes
    let own = try Archive<Member>(at: .path(path), configuration: configuration)
    #expect(try own.isEmpty)
    #expect(Member.archiveName == "vellum_member")
    try ada.updateArchive(in: factory)
    #expect(try ada.archivedVersion(in: factory)?.userName == "ada")
    #expect(try ada.sizeOfData > .zero)
    #expect(try factory.archive(for: Member.self) === members)
    #expect(ArchiveFactory.shared !== factory)
  }

  @Test func finders() throws {
    let members = try factory.archive(for: Member.self)
    try members.insert(ada, bob, eve)
    func count(_ filter: @escaping @Sendable (ArchiveFilter<Member>) -> ArchiveFilter<Member>)
      throws -> Int
    {
      try members.findWhere(filter).count()
    }
    #expect(try count { $0.age(.isValid { $0 % 2 == 0 }) } == 3)
    #expect(try count { $0.email(.isNil()) } == 2)
    #expect(try count { $0.email(.isNotNil()) } == 1)
    #expect(try count { $0.age(.isEqual(with: 36)) } == 1)
    #expect(try count { $0.age(.isNotEqual(with: 36)) } == 2)
    #expect(try count { $0.email(.isNotEqual(nil)) } == 1)
    #expect(try count { $0.age(.greater(than: 28)) } == 1)
    #expect(try count { $0.age(.less(than: 28)) } == 1)
    #expect(try count { $0.age(.greaterOrEqual(with: 28)) } == 2)
    #expect(try count { $0.age(.lessOrEqual(with: 28)) } == 2)
    #expect(try count { $0.tags(.countEqual(with: 2)) } == 1)
    #expect(try count { $0.tags(.countGreater(than: 0)) } == 2)
    #expect(try count { $0.tags(.countLess(than: 1)) } == 1)
    #expect(try count { $0.tags(.countGreaterOrEqual(with: 1)) } == 2)
    #expect(try count { $0.tags(.countLessOrEqual(with: 1)) } == 2)
    #expect(try count { $0.tags(.isEmpty()) } == 1)
    #expect(try count { $0.tags(.isNotEmpty()) } == 2)
    #expect(try count { $0.tags(.contains(with: "math")) } == 2)
    #expect(try count { $0.tags(.contains(atLeastOne: ["math", "art"])) } == 2)
    #expect(try count { $0.tags(.contains(all: ["math", "code"])) } == 1)
    #expect(try count { $0.tags(.contains("math", "code")) } == 1)
    #expect(try count { $0.userName(.contains(string: "A", caseSensitive: false)) } == 1)
    #expect(try count { $0.userName(.contains("a")) } == 1)
    #expect(try count { $0.userName(.matches(regex: "^[ab]")) } == 2)
    #expect(try count { $0.email(.isNilOrEmpty()) } == 2)
  }

  @Test func sorters() throws {
    let members = try factory.archive(for: Member.self)
    try members.insert(ada, bob, eve)
    let query = members.sorted { $0.email(.ascending).age(.descending) }.limitResults(by: 2)
    let results = try query.getResults()
    let first = try query.firstResult()
    let last = try query.lastResult()
    #expect(results.map(\.userName) == ["eve", "bob"])
    #expect(first?.userName == "eve" && last?.userName == "bob")
    let byLength = try members.sorted {
      $0.by.manual(.descending) { left, right in
        left.tags.count < right.tags.count
          ? .orderedAscending
          : left.tags.count > right.tags.count ? .orderedDescending : .orderedSame
      }
    }.getResults()
    #expect(byLength.map(\.userName) == ["eve", "ada", "bob"])
  }

  @Test func larderHasNamesOfItsOwn() throws {
    let members = try factory.archive(for: Member.self)
    try members.upsert(ada)
    try members.upsert(all: [bob, eve])
    let member = try members.element(forID: "ada")
    let some = try members.elements(limit: 2)
    #expect(member?.age == 36 && some.count == 2)
    #expect(try members.update(id: "ada") { $0.age = 38 }?.age == 38)
    let adults = members.where { $0.age > 21 && $0.userName.contains("e") }
    #expect(try adults.first()?.userName == "eve")
    let young = members.where { $0.age == 28 && $0.email != nil && $0.age.within(20...30) }
    #expect(try young.count() == 0)
    let tagged = members.where {
      $0.tags.contains(anyOf: ["art"]) || $0.tags.contains(allOf: ["math"]) && $0.tags.count > 1
    }
    #expect(try tagged.count() == 1)
    let even = members.where { $0.age.satisfies { $0 % 2 == 0 } && $0.tags.isEmpty }
    #expect(try even.count() == 1)
    let query = members.sorted(by: \.age, .reverse).sorted(by: \.email)
    #expect(try query.limit(2).results().map(\.userName) == ["eve", "bob"])
    let (first, last) = (try query.first(), try query.last())
    #expect(first?.userName == "eve" && last?.userName == "ada")
    try members.delete(ids: ["ada", "bob"])
    #expect(try members.count == 1)
    try members.destroy()
  }

  @Test func sizes() {
    #expect(10.megabytes.bytes == 10 << 20)
    #expect(DataSize.kilobytes(1.5).bytes == 1536)
    #expect(9.bits.bytes == 2 && 3.nibbles.bytes == 2)
  }

  private struct Profile: Codable, Archivable {
    var primaryKey: String
    var owner: Member?
    static let archivePropertyBehavior = ArchivePropertyBehavior.replaceExisting
  }

  private struct Drawing: Archivable {
    var primaryKey: String
    var points: [UInt8]
    static let archiveName = "drawings"
    func archiveData() -> Data { Data(primaryKey.utf8) + [0] + points }
    static func decode(archive: Data) -> Drawing {
      let parts = archive.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
      return Drawing(
        primaryKey: String(decoding: parts[0], as: UTF8.self), points: Array(parts[1]))
    }
  }

  @Test func ownBytesAndNestedProperties() throws {
    let drawings = try factory.archive(for: Drawing.self)
    try drawings.record(Drawing(primaryKey: "a/b", points: [1, 2]))
    #expect(try drawings.access("a/b")?.points == [1, 2])
    let profiles = try factory.archive(for: Profile.self)
    try profiles.record(Profile(primaryKey: "p", owner: ada))
    #expect(try factory.archive(for: Member.self).access("ada")?.age == 36)
  }

  @Test func archivedProperties() throws {
    // Example: archived properties
    @Archived(factory: factory) var member: Member?
    @Archived(initialPrimaryKey: "ada", factory: factory) var stored: Member?

    member = Member(userName: "ada", age: 36)
    print(stored?.age ?? 0, $member.error == nil)  // 36 true
    member = nil
    // End of example
    #expect(transcript.lines == ["36 true"])
    #expect(try factory.archive(for: Member.self).access("ada") == nil)
  }
}
