// SPDX-License-Identifier: MIT
import Foundation

/// Which file it is, by whatever path or descriptor it is reached.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
  }

  /// Of the file that a path leads to at the moment; `nil` if there is none.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Whether it is the log at `path`, or a file of the store whose folder that is.
  func isPart(of path: String) -> Bool {
    if self == FileIdentity(path) { return true }
    return [path, path + "/log"].contains { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains { self == FileIdentity(folder + "/" + $0) }
    }
  }
}
