// SPDX-License-Identifier: MIT

#if ServiceLifecycle
  import Foundation
  import Larder
  import LarderLifecycle
  import LarderTestSupport
  import Logging
  import ServiceLifecycle
  import Testing

  @Suite("Stores that are closed with a service group") struct StoreServiceTests {
    /// Notes what is done to it, and hangs or fails where it is told to.
    private struct NotingStore: ServiceStore {
      let name: String
      let notes: Locked<[String]>
      var hangs: String?
      var fails: String?

      func checkpoint() async throws { try await note("checkpoint") }
      func sync() async throws { try await note("sync") }
      func close() async throws { try await note("close") }

      private func note(_ step: String) async throws {
        notes.withLock { $0.append("\(name) \(step)") }
        if step == fails { throw LarderError(.diskFull, step) }
        // As a device that never answers: not even a cancellation ends it.
        if step == hangs {
          await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
      }
    }

    private let notes = Locked<[String]>([])
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func store(
      _ name: String, hangs: String? = nil, fails: String? = nil
    ) -> NotingStore {
      NotingStore(name: name, notes: notes, hangs: hangs, fails: fails)
    }

    private func run(_ service: StoreService) async throws {
      let group = ServiceGroup(
        services: [service], logger: Logger(label: "group") { _ in SwiftLogNoOpLogHandler() })
      await group.triggerGracefulShutdown()
      try await group.run()
    }

    @Test func aShutdownFlushesSyncsAndClosesInThisOrder() async throws {
      try await run(StoreService([store("a"), store("b")], stepLimit: .seconds(86_400)))
      let steps = notes.withLock { $0 }
      #expect(Set(steps[0..<2]) == ["a checkpoint", "b checkpoint"])
      #expect(Set(steps[2..<4]) == ["a sync", "b sync"])
      #expect(Set(steps[4...]) == ["a close", "b close"])
    }

    @Test func aCancelledServiceClosesItsStoresToo() async throws {
      let service = StoreService([store("a")], stepLimit: .seconds(86_400))
      let task = Task { try await service.run() }
      #expect(notes.withLock { $0 } == [])
      task.cancel()
      try await task.value
      #expect(notes.withLock { $0 } == ["a checkpoint", "a sync", "a close"])
    }

    @Test func aServiceRunsUntilItIsToldToEnd() async throws {
      let service = StoreService([store("a")], stepLimit: .seconds(86_400))
      let ended = Locked(false)
      let task = Task {
        try await service.run()
        ended.withLock { $0 = true }
      }
      for _ in 0..<100 { await Task.yield() }
      #expect(!ended.withLock { $0 } && notes.withLock { $0.isEmpty })
      task.cancel()
      try await task.value
    }

    @Test func whatFailsIsThrownWhenEverythingIsClosed() async throws {
      let service = StoreService(
        [store("a", fails: "checkpoint"), store("b", fails: "close")], stepLimit: .seconds(86_400))
      let error = await #expect(throws: LarderError.self) { try await run(service) }
      #expect(error?.code == .diskFull && error?.message == "checkpoint")
      #expect(notes.withLock { Set($0) }.count == 6)
    }

    @Test(arguments: ["checkpoint", "sync", "close"])
    func aDeviceThatHangsDoesNotHoldUpTheShutdown(step: String) async throws {
      let service = StoreService(
        [store("a"), store("b", hangs: step)], stepLimit: .milliseconds(50))
      let error = await #expect(throws: LarderError.self) { try await run(service) }
      #expect(error?.code == .timedOut)
      #expect(error?.message.contains("\(step) store 2 of 2") == true)
      // On a machine that is slow enough the other one may be late as well.
      #expect(notes.withLock { $0 }.last { $0.hasPrefix("b") } == "b \(step)")
    }

    @Test func storesAreClosedAndWhatWasWrittenIsThere() async throws {
      let log = try MessageLog(
        at: .url(directory.file("log")), capacity: 64.kilobytes, whenFull: .refuse, coder: .string)
      let path = directory.file("cache").path
      var configuration = CacheConfiguration<String, String>()
      configuration.writePolicy = .writeBack()
      let cache = try Cache<String, String>(at: .path(path), configuration: configuration)
      let disk = try DiskCache<String, String>(at: .path(directory.file("disk").path))
      let entries = try EntryCache<String>(
        at: .path(directory.file("entries").path), valueCount: 1, version: 1)
      try log.append("one")
      try await cache.set("value", forKey: "key")
      try await disk.set("value", forKey: "key")
      try await run(StoreService([log, cache, disk, entries], stepLimit: .seconds(86_400)))
      #expect(errorCode { try log.count } == .closed)
      #expect(errorCode { try disk.isEmpty } == .closed)
      #expect(errorCode { try entries.statistics } == .closed)
      #expect(
        try MessageLog(readingFrom: .url(directory.file("log")), coder: .string).messages() == [
          "one"
        ])
      let again = try Cache<String, String>(at: .path(path))
      #expect(try await again.value(forKey: "key") == "value")
      try await again.close()
    }
  }
#endif
