// SPDX-License-Identifier: MIT
import Foundation

/// Bytes that go to the device, and bytes that lie there.
enum DeviceBytes {
  private static let counters = "/proc/self/io"

  /// Why it cannot be measured here, if it cannot.
  static let absence =
    FileManager.default.fileExists(atPath: counters) ? nil : "there is no \(counters)"

  /// What this process has given to write calls so far. `write_bytes`, in the same file, counts
  /// whole folios of the page cache, which is too much.
  static func written() -> Double {
    let text = (try? String(contentsOfFile: counters, encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("wchar:") }
    return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? 0
  }

  /// What the files in a folder take on disk.
  static func allocated(in path: String) -> Double {
    let names = FileManager.default.enumerator(atPath: path)
    var total = 0.0
    while let name = names?.nextObject() as? String {
      var facts = stat()
      if lstat("\(path)/\(name)", &facts) == 0 { total += Double(facts.st_blocks) * 512 }
    }
    return total
  }

  /// Takes what is clean of the files in a folder out of the page cache, where the system lets do
  /// that.
  static func leavePageCache(_ path: String) {
    #if os(Linux)
      let names = FileManager.default.enumerator(atPath: path)
      while let name = names?.nextObject() as? String {
        let file = open("\(path)/\(name)", O_RDONLY)
        if file < 0 { continue }
        _ = posix_fadvise(file, 0, 0, Int32(POSIX_FADV_DONTNEED))
        close(file)
      }
    #endif
  }
}
