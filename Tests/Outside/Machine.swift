// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Seconds since 1970.
func now() -> Double { Date().timeIntervalSince1970 }

/// How late an expired value may be returned, in seconds: the documentation says that it never is,
/// and a clock of microseconds is compared with one of nanoseconds.
let lateness = 0.001

/// A moment at which a part of a program is to end.
struct Deadline: Sendable {
  private let end: ContinuousClock.Instant

  init(seconds: Double) { end = ContinuousClock.now + .seconds(seconds) }

  var isOver: Bool { ContinuousClock.now >= end }
}

/// How long calls took.
struct Latencies: Sendable {
  private var nanoseconds: [UInt64] = []

  mutating func time<R>(_ body: () throws -> R) rethrows -> R {
    let start = DispatchTime.now().uptimeNanoseconds
    defer { nanoseconds.append(DispatchTime.now().uptimeNanoseconds - start) }
    return try body()
  }

  mutating func time<R>(
    isolation actor: isolated (any Actor)? = #isolation, _ body: () async throws -> R
  ) async rethrows -> R {
    let start = DispatchTime.now().uptimeNanoseconds
    defer { nanoseconds.append(DispatchTime.now().uptimeNanoseconds - start) }
    return try await body()
  }

  mutating func add(_ other: Latencies) { nanoseconds += other.nanoseconds }

  /// Count, median, p99 and slowest, in milliseconds.
  var figures: String {
    let sorted = nanoseconds.sorted()
    func at(_ part: Double) -> String {
      let place = min(sorted.count - 1, Int(Double(sorted.count) * part))
      return sorted.isEmpty ? "-" : String(format: "%.3f", Double(sorted[place]) / 1e6)
    }
    return "\(sorted.count), p50 \(at(0.5)), p99 \(at(0.99)), slowest \(at(1)) ms"
  }
}

/// What this process and its files take.
enum Machine {
  /// Resident memory, in bytes; 0 where the system does not say.
  static var resident: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(separator: " ").dropFirst().first).flatMap { Int($0) }.map { $0 << 10 }
      ?? 0
  }

  static var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  /// The bytes of deleted files below a folder that this process still has mapped.
  static func deletedBytes(below folder: String) -> Int {
    let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    let deleted = maps.split(separator: "\n").filter { line in
      line.hasSuffix("(deleted)") && line.contains(folder)
    }
    return deleted.reduce(0) { sum, line in
      let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
      return ends.count == 2 ? sum + ends[1] - ends[0] : sum
    }
  }

  /// What a folder's files take on the disk: all of them, and of that data.mdb.
  static func disk(_ folder: String) -> (total: Int, index: Int) {
    let names = FileManager.default.enumerator(atPath: folder)
    var (total, index) = (0, 0)
    while let name = names?.nextObject() as? String {
      var file = stat()
      // It may have been deleted meanwhile.
      guard stat(folder + "/" + name, &file) == 0 else { continue }
      total += Int(file.st_blocks) * 512
      if name.hasSuffix("data.mdb") { index += Int(file.st_blocks) * 512 }
    }
    return (total, index)
  }
}

/// The most that was seen of something.
struct Peak {
  private(set) var most = 0

  mutating func see(_ value: Int) { most = max(most, value) }
}

func megabytes(_ bytes: Int) -> String { String(format: "%.1f MiB", Double(bytes) / 1_048_576) }

extension Child {
  /// Prints what it prints, and takes its broken promises for this program's.
  func finish(_ name: String) {
    release()
    while let line = line() { pass(line, name) }
    if case .signal(let signal) = wait() {
      broken("No process crashes", "\(name) ended by signal \(signal)")
    }
  }

  private func pass(_ line: String, _ name: String) {
    let parts = line.components(separatedBy: ": ")
    guard parts.count > 2, parts[0] == "BROKEN" else { return say("\(name): \(line)") }
    broken(parts[1], parts[2...].joined(separator: ": "))
  }

  /// What the one who started this process says next, if it says something within that time;
  /// empty if it has released this process.
  static func order(milliseconds: Int32) -> String? {
    hasInput(0, milliseconds) ? readLine() ?? "" : nil
  }
}
