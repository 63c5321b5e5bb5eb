// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// What memory an open, small store takes of a process that has very many of them open.
enum ManyMemory {
  enum Subject: String {
    case cache, environment
  }

  private static let option = "--many-memory-of"

  /// With fewer of them the figure would be one of something else.
  private static let fewest = 1000

  /// Starts this program again to open `count` of them in new folders below `path`. Returns the
  /// bytes of one.
  static func measure(_ subject: Subject, _ path: String, count: Int) throws -> Double {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return try ResidentBytes.runChild([option, subject.rawValue, path, String(count)])
  }

  /// What a command line that `measure` made asks for.
  static func request(of arguments: [String]) -> (subject: Subject, path: String, count: Int)? {
    guard arguments.count == 5, arguments[1] == option,
      let subject = Subject(rawValue: arguments[2])
    else { return nil }
    return Int(arguments[4]).map { (subject, arguments[3], $0) }
  }

  static func runAsChild(_ subject: Subject, _ path: String, count: Int) throws -> Never {
    raiseFileLimit()
    // A first one, so that code, threads and the runtime's own tables are there before.
    var open: [Any] = [try make(subject, "\(path)/first")]
    let before = ResidentBytes.resident()
    do {
      for number in 0..<count { open.append(try make(subject, "\(path)/\(number)")) }
    } catch {
      // The system's limits of descriptors or mappings.
      if open.count <= fewest { throw error }
    }
    let bytes = Double(ResidentBytes.resident() - before) / Double(open.count - 1)
    Progress.note("\(subject.rawValue): \(open.count - 1) open, \(significant(bytes)) bytes each")
    print(bytes)
    exit(0)
  }

  private static func make(_ subject: Subject, _ path: String) throws -> Any {
    switch subject {
    case .cache:
      let cache = try DiskArea.integers(path)
      try cache.set(1, forKey: 1)
      try cache.checkpoint()
      return cache
    case .environment:
      return try LMDBStore(path, keys: [1])
    }
  }

  /// As far as this user may.
  private static func raiseFileLimit() {
    #if os(Linux)
      let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let files = RLIMIT_NOFILE
    #endif
    var limit = rlimit(rlim_cur: 200_000, rlim_max: 200_000)
    if setrlimit(files, &limit) == 0 { return }
    guard getrlimit(files, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(files, &limit)  // What is open then is as many as it lets be.
  }
}

extension DiskArea {
  static var manyMemory: Row {
    let count = 10_000
    return Row(
      id: "disk.many.memory",
      ours: """
        resident bytes of an open DiskCache<Int, Int> with one entry, flushed, defaults; \(count) \
        of them are open in a process, or as many as the system's limits allow
        """,
      rival: Rival(
        name: "LMDB environment",
        settings: """
          LMDB \(LMDBStore.version), as many environments with one entry and a read transaction \
          that is reset
          """, absence: ResidentBytes.absence),
      goal: .ratio(1), unit: "bytes",
      effort: Effort(fewest: 1, most: 1, seconds: 0, warmsUp: false), takesLong: true
    ) { bench in
      func measure(_ subject: ManyMemory.Subject) throws -> Double {
        let name = "many.\(subject.rawValue)"
        defer { _ = bench.freshFolder(name) }
        return try ManyMemory.measure(subject, bench.freshFolder(name), count: count)
      }
      return Contest(ours: { try measure(.cache) }, rival: { try measure(.environment) })
    }
  }
}
