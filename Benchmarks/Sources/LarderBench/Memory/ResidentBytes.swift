// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// What a store of many entries adds to the memory of a process that has nothing else.
enum ResidentBytes {
  enum Subject: String {
    case cache, boundedLRU, boundedAdaptive, dictionary
  }

  private static let option = "--resident-bytes-of"
  private static let statistics = "/proc/self/statm"

  /// Why it cannot be measured here, if it cannot.
  static let absence =
    FileManager.default.fileExists(atPath: statistics) ? nil : "there is no \(statistics)"

  /// Starts this program again to measure one subject. Returns its bytes per entry.
  static func measure(_ subject: Subject, count: Int) throws -> Double {
    try runChild([option, subject.rawValue, String(count)])
  }

  /// Starts this program again with these arguments. Returns the one number that it prints.
  static func runChild(_ arguments: [String]) throws -> Double {
    let child = Process.ofThisProgram(arguments)
    let pipe = Pipe()
    child.standardOutput = pipe
    try child.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    child.waitUntilExit()
    guard child.terminationStatus == 0,
      let bytes = Double(
        String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
    else { throw Failure(description: "the process that measures its memory failed") }
    return bytes
  }

  /// What a command line that `measure` made asks for.
  static func request(of arguments: [String]) -> (subject: Subject, count: Int)? {
    guard arguments.count == 4, arguments[1] == option,
      let subject = Subject(rawValue: arguments[2])
    else { return nil }
    return Int(arguments[3]).map { (subject, $0) }
  }

  static func runAsChild(_ subject: Subject, count: Int) -> Never {
    let bytes =
      switch subject {
      case .cache: added(count) { MemoryArea.cache() }
      case .boundedLRU: added(count) { bounded(count, .lru) }
      case .boundedAdaptive: added(count) { bounded(count, .adaptive) }
      case .dictionary: added(count) { LockedDictionary<Int, Int>() }
      }
    print(bytes)
    exit(0)
  }

  private static func bounded(_ count: Int, _ policy: EvictionPolicy) -> MemoryArea.Cache {
    MemoryArea.cache {
      $0.policy = policy
      $0.countLimit = count
    }
  }

  private static func added<Store: KeyedStore<Int, Int>>(
    _ count: Int, _ make: () -> Store
  ) -> Double {
    // A first one, so that code and the runtime's own tables are there before.
    let first = make()
    first.fill(with: [1, 2, 3])
    let before = resident()
    let store = make()
    // No list of keys: it would be memory too.
    var generator = SplitMix(seed: 1)
    for _ in 0..<count {
      let key = Int(truncatingIfNeeded: generator.next())
      store.put(value(of: key), under: key)
    }
    let after = resident()
    withExtendedLifetime((first, store)) {}
    return Double(after - before) / Double(count)
  }

  /// Of this process, now.
  static func resident() -> Int {
    let fields = (try? String(contentsOfFile: statistics, encoding: .utf8))?.split(separator: " ")
    guard let fields, fields.count > 1, let pages = Int(fields[1]) else { exit(1) }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}

extension Process {
  /// This program once more, with other arguments; not started yet.
  static func ofThisProgram(_ arguments: [String]) -> Process {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    child.arguments = arguments
    return child
  }
}
