// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The Swift examples of the article on the change feed.
@Suite("The examples on the change feed") struct ChangeFeedExamples {
  private let directory: TemporaryDirectory
  private let users: DiskCache<String, String>
  private let transcript = Transcript()

  init() throws {
    directory = try TemporaryDirectory()
    users = try DiskCache(at: .path(directory.file("users").path))
  }

  /// Keeps what an example prints.
  private func print(_ items: Any...) { transcript.add(items) }

  @Test func mirror() throws {
    try users.set("Ada", forKey: "1")
    // Example: change mirror
    var mirror: [String: String] = [:]
    func apply(_ change: DiskCacheChange<String, String>) {
      switch change {
      case .put(let key, let value): mirror[key] = value
      case .removed(let key): mirror[key] = nil
      case .removedAll: mirror = [:]
      }
    }

    var token = try users.changeLog.snapshot(apply)
    try users.set("Grace", forKey: "7")
    let feed = try users.changes(since: token)
    while let event = try feed.next(timeout: .zero) {
      event.changes.forEach(apply)
      token = event.token
    }
    print(mirror["7"] ?? "")  // Grace
    // End of example
    #expect(transcript.lines == ["Grace"])
    #expect(mirror == ["1": "Ada", "7": "Grace"])

    let other = try DiskCache<String, String>(at: .path(directory.file("other").path))
    try users.remove(forKey: "1")
    do {
      var feed = try users.changes(since: other.changeLog.now)
      while let event = try feed.next(timeout: .zero) {
        // Example: change gap
        switch event.kind {
        case .changes(let changes): changes.forEach(apply)
        case .gap, .rewound:
          mirror = [:]
          token = try users.changeLog.snapshot(apply)
          feed = try users.changes(since: token)
        }
        // End of example
      }
    }
    #expect(mirror == ["7": "Grace"])
    #expect(try token == users.changeLog.now)
  }

  @Test func observe() async throws {
    let token = try users.changeLog.now
    try await users.set("Ada", forKey: "1")
    let users = users, transcript = transcript
    let task = Task {
      func print(_ change: DiskCacheChange<String, String>) {
        transcript.add([change])
        try? users.close()
      }
      // Example: change observer
      for try await event in try users.changes(since: token) {
        for change in event.changes { print(change) }
      }
      // End of example
    }
    try await task.value
    #expect(transcript.lines.count == 1)
  }

  @Test func namedCursor() throws {
    // Example: change cursor
    let feed = try users.changes(named: "search")
    try users.set("Alan", forKey: "8", durability: .power)
    if let event = try feed.next(timeout: .seconds(1)) {
      print(event.changes.count)  // 1
      try feed.acknowledge(event.token)
    }
    // End of example
    #expect(transcript.lines == ["1"])
    #expect(try users.changeLog.cursors.map(\.lag) == [0])
  }
}
