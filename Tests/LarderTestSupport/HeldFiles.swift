// SPDX-License-Identifier: MIT
public import Foundation

/// The descriptors and mappings that this process has of a file or of what is in a folder; empty
/// on systems that do not tell.
public func filesHeld(under url: URL) -> [String] {
  let path = url.resolvingSymlinksInPath().path
  let manager = FileManager.default
  // What is closed meanwhile is not held.
  let descriptors = ((try? manager.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [])
    .compactMap { try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0) }
  let maps = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
  let mapped = maps.split(separator: "\n").map(String.init)
  return (descriptors + mapped).filter { $0.contains(path) }
}
