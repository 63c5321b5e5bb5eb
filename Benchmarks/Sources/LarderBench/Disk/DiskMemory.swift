// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// What memory a process takes that fills a cache on disk.
enum DiskMemory {
  private static let option = "--disk-memory-of"
  private static let status = "/proc/self/status"

  /// Why it cannot be measured here, if it cannot.
  static let absence =
    FileManager.default.fileExists(atPath: status) ? nil : "there is no \(status)"

  /// Starts this program again to fill a new cache at `path`, which stays there. Returns the bytes.
  static func measure(_ path: String, count: Int) throws -> Double {
    try ResidentBytes.runChild([option, path, String(count)])
  }

  /// What a command line that `measure` made asks for.
  static func request(of arguments: [String]) -> (path: String, count: Int)? {
    guard arguments.count == 4, arguments[1] == option else { return nil }
    return Int(arguments[3]).map { (arguments[2], $0) }
  }

  static func runAsChild(_ path: String, count: Int) throws -> Never {
    let cache = try DiskArea.integers(path)
    let before = anonymousBytes()
    var most = before
    for key in 0..<count {
      try cache.put(value(of: key), under: key)
      if key % 10_000 == 0 { most = max(most, anonymousBytes()) }
    }
    try cache.checkpoint()
    most = max(most, anonymousBytes())
    try cache.close()
    print(most - before)
    exit(0)
  }

  private static func anonymousBytes() -> Int {
    let text = (try? String(contentsOfFile: status, encoding: .utf8)) ?? ""
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
      let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
    else { return 0 }
    return kilobytes * 1024
  }
}
