// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// Properties that are archived. After Vellum's IntegratedSpec "should archiverd property" and
/// "should archiverd property with key"; errors, which it ignored, can be asked for.
struct ArchivedTests {
  private let place: ArchivePlace
  private let factory: ArchiveFactory

  init() throws {
    place = try ArchivePlace()
    factory = place.factory()
  }

  private var users: Archive<ArchiveUser> {
    get throws { try factory.archive(for: ArchiveUser.self) }
  }

  @Test func assigningRecordsAndNilDeletes() throws {
    let session = Session(factory)
    #expect(session.user == nil && session.$user.key == nil)
    session.user = ArchiveUser(email: "a", age: 1)
    #expect(try users.access("a")?.age == 1)
    #expect(session.user?.age == 1 && session.$user.key == "a")
    session.user?.age = 2
    #expect(try users.access("a")?.age == 2)
    session.user = nil
    #expect(try users.access("a") == nil)
    #expect(session.user == nil && session.$user.key == nil)
    session.user = nil
    #expect(session.$user.error == nil)
  }

  @Test func anotherElementLeavesTheFirstInItsArchive() throws {
    let session = Session(factory)
    session.user = ArchiveUser(email: "a")
    session.user = ArchiveUser(email: "b")
    #expect(try users.accessAll().map(\.email) == ["a", "b"])
    session.user = nil
    #expect(try users.accessAll().map(\.email) == ["a"])
  }

  @Test func anInitialValueIsRecorded() throws {
    let session = Session(factory, user: ArchiveUser(email: "a", age: 7))
    #expect(try users.access("a")?.age == 7)
    #expect(session.user?.age == 7)
    let nobody = Session(factory, user: nil)
    #expect(nobody.user == nil)
    #expect(try users.count == 1)
  }

  @Test func anInitialKeyIsReadWhenItIsNeeded() throws {
    let session = Keyed(factory, key: "key")
    try users.record(ArchiveUser(email: "key", age: 3))
    #expect(session.$user.key == "key")
    #expect(session.user?.age == 3)
    try users.record(ArchiveUser(email: "key", age: 4))
    #expect(session.user?.age == 3)
    #expect(try session.$user.reload()?.age == 4)
    #expect(session.user?.age == 4)
    session.user = nil
    #expect(try users.access("key") == nil)
  }

  @Test func anInitialKeyIsDeletedEvenIfItWasNotRead() throws {
    try users.record(ArchiveUser(email: "key"))
    let session = Keyed(factory, key: "key")
    session.user = nil
    #expect(try users.isEmpty)
    #expect(Keyed(factory, key: "none").user == nil)
  }

  @Test func whatFailsIsSaidAndTheValueIsKept() throws {
    let session = Session(factory)
    try Data().write(to: place.directory.file("blocked"))
    let blocked = Session(place.factory("blocked"), user: ArchiveUser(email: "a"))
    #expect((blocked.$user.error as? LarderError)?.code == .io)
    #expect(blocked.user?.email == "a")
    #expect(errorCode { try blocked.$user.archive } == .io)
    blocked.user = nil
    #expect((blocked.$user.error as? LarderError)?.code == .io)
    let keyed = Keyed(place.factory("blocked"), key: "a")
    #expect(keyed.user == nil)
    #expect((keyed.$user.error as? LarderError)?.code == .io)
    #expect(errorCode { try keyed.$user.reload() } == .io)

    session.user = ArchiveUser(email: String(repeating: "a", count: 70_000))
    #expect((session.$user.error as? LarderError)?.code == .tooLarge)
    session.user = ArchiveUser(email: "short")
    #expect(session.$user.error == nil)
    #expect(try session.$user.archive === users)
  }

  @Test func aReadThatFailedIsTriedAgain() throws {
    let file = place.directory.file("later")
    try Data().write(to: file)
    let session = Keyed(place.factory("later"), key: "a")
    #expect(session.user == nil && session.$user.error != nil)
    try FileManager.default.removeItem(at: file)
    try session.$user.archive.record(ArchiveUser(email: "a", age: 5))
    #expect(session.user?.age == 5 && session.$user.error == nil)
  }

  @Test func sendableStructuresShareIt() async throws {
    let one = Session(factory)
    let two = one
    await Task { one.user = ArchiveUser(email: "a", age: 1) }.value
    #expect(two.user?.age == 1)
  }

  @Test func actorsHaveIt() async throws {
    let actor = Login(factory)
    await actor.logIn(ArchiveUser(email: "a"))
    #expect(try await users.access("a") != nil)
    #expect(await actor.error == nil)
    await actor.logOut()
    #expect(try await users.access("a") == nil)
  }

  @Test @MainActor func classesOfAnActorHaveIt() throws {
    let object = Screen(factory)
    object.user = ArchiveUser(email: "a")
    #expect(try users.access("a") != nil)
  }

  @Test func sendableClassesHaveItInAConstant() throws {
    let object = Service(factory)
    object.user.wrappedValue = ArchiveUser(email: "a")
    #expect(try users.access("a") != nil)
  }

  @Test func manyThreadsMayUseIt() throws {
    let session = Session(factory)
    onDiskThreads(4) { thread in
      for number in 0..<50 {
        session.user = ArchiveUser(email: "a", age: thread * 100 + number)
        _ = session.user
      }
    }
    #expect(try users.access("a") == session.user)
    #expect(session.$user.error == nil)
  }

  @Test func itNeedsNothingToBeDeclared() {
    // Nothing is recorded, so that nothing is opened.
    let plain = Plain()
    #expect(plain.$user.factory === ArchiveFactory.shared)
    #expect(plain.user == nil && plain.$user.error == nil)
    #expect(plain.$keyed.key == "key")
  }
}

private struct Session: Sendable {
  @Archived var user: ArchiveUser?

  init(_ factory: ArchiveFactory) { _user = Archived(factory: factory) }

  init(_ factory: ArchiveFactory, user: ArchiveUser?) {
    _user = Archived(wrappedValue: user, factory: factory)
  }
}

private struct Keyed: Sendable {
  @Archived var user: ArchiveUser?

  init(_ factory: ArchiveFactory, key: String) {
    _user = Archived(initialPrimaryKey: key, factory: factory)
  }
}

private struct Plain: Sendable {
  @Archived var user: ArchiveUser?
  @Archived var other: ArchiveUser? = nil
  @Archived(initialPrimaryKey: "key") var keyed: ArchiveUser?
}

private actor Login {
  @Archived var user: ArchiveUser?

  init(_ factory: ArchiveFactory) { _user = Archived(factory: factory) }

  func logIn(_ user: ArchiveUser) { self.user = user }
  func logOut() { user = nil }
  var error: (any Error)? { $user.error }
}

@MainActor private final class Screen {
  @Archived var user: ArchiveUser?

  init(_ factory: ArchiveFactory) { _user = Archived(factory: factory) }
}

private final class Service: Sendable {
  let user: Archived<ArchiveUser>

  init(_ factory: ArchiveFactory) { user = Archived(factory: factory) }
}
