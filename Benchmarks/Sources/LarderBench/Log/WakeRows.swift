// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

/// Another process that follows a log or a cache, and says when it had what was written.
final class Watcher {
  enum Subject: String { case log, disk }

  private static let option = "--watcher-of"
  private let child: Process
  private let output = Pipe()

  convenience init(_ subject: Subject, _ path: String) throws {
    try self.init(arguments: [Self.option, subject.rawValue, path])
  }

  /// One of another kind, which these arguments make of this program.
  init(arguments: [String]) throws {
    child = Process.ofThisProgram(arguments)
    child.standardOutput = output
    try child.run()
    // It waits, or is about to.
    _ = try time()
  }

  deinit {
    child.terminate()
    child.waitUntilExit()
  }

  /// What it says next, in nanoseconds of the monotonic clock, which all processes share.
  func time() throws -> UInt64 {
    guard let data = try output.fileHandleForReading.read(upToCount: 8), data.count == 8 else {
      throw Failure(description: "the process that watches has ended")
    }
    return data.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
  }

  /// The median of some writes, each from before it until the other process had it.
  func sample(_ write: () throws -> Void) throws -> Double {
    let times = try (0..<11).map { _ in
      // So long that it sleeps again.
      usleep(300)
      let start = rivals_now_ns()
      try write()
      return Double(try time() - start)
    }
    return median(times)
  }

  /// Does what a command line asks for that `init` made; returns for any other.
  static func runAsChild(_ arguments: [String]) throws {
    guard arguments.count == 4, arguments[1] == option,
      let subject = Subject(rawValue: arguments[2])
    else { return }
    let path = arguments[3]
    switch subject {
    case .log:
      let log = try MessageLog<Data>(readingFrom: .path(path), coder: .data)
      let messages = try log.follow(from: .newest)
      Task {
        say()
        for try await _ in messages { say() }
      }
      dispatchMain()
    case .disk:
      var configuration = DiskCacheConfiguration<Int, Int>()
      configuration.isReadOnly = true
      let changes = try DiskCache(at: .path(path), configuration: configuration).changes()
      say()
      while try changes.next(timeout: nil) != nil { say() }
    }
  }

  static func say() {
    let now = rivals_now_ns()
    _ = withUnsafeBytes(of: now) { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
  }
}

extension LogArea {
  static var wake: Row {
    Row(
      id: "log.wake",
      ours: """
        MessageLog<Data>.append of 100 B, until another process that had fallen asleep in \
        `for await … in log.follow()` has the message; medians of 11
        """,
      rival: nil, goal: .nanoseconds(50_000)
    ) { bench in
      let path = bench.fresh("watched")
      let log = try MessageLog(
        at: .path(path), capacity: smallCapacity, whenFull: .overwriteOldest,
        coder: .data)
      let watcher = try Watcher(.log, path)
      return Contest(ours: { try watcher.sample { try log.append(payload) } })
    }
  }
}

extension DiskArea {
  static var wake: Row {
    Row(
      id: "disk.wake",
      ours: """
        DiskCache.set of an Int, until another process that had fallen asleep in \
        `changes().next()` has it; medians of 11
        """,
      rival: nil, goal: .nanoseconds(50_000)
    ) { bench in
      let path = bench.freshFolder("watched")
      let cache = try integers(path)
      try cache.set(0, forKey: 0)
      let watcher = try Watcher(.disk, path)
      return Contest(
        ours: { try watcher.sample { try cache.set(1, forKey: 1) } },
        close: { closeQuietly(cache) })
    }
  }
}
