// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// What a row needs to run: a folder for its files, the clock, and how much to do.
final class Bench {
  let quick: Bool
  /// The folder of cache traces that was asked for, if any.
  let traces: String?
  /// The fewest pairs of each row, whatever its own number.
  let pairs: Int
  /// On the same disk as the results; removed at the end.
  let folder: URL
  /// What one turn of an empty C loop, and of an empty Swift loop, takes.
  let loopNanoseconds: (c: Double, swift: Double)

  private var sharedWork: [String: Any] = [:]

  init(_ options: Options, folder: URL) throws {
    quick = options.quick
    traces = options.traces
    pairs = options.pairs
    self.folder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    loopNanoseconds = try (
      c: Self.medianOfNine { try check(rivals_loop_empty($0)) },
      swift: Self.medianOfNine { emptySwiftLoop($0) }
    )
  }

  func removeFolder() { try? FileManager.default.removeItem(at: folder) }  // Only left-over files.

  /// The path of a file of the row's own; whatever was there is gone.
  func fresh(_ name: String) -> String {
    let path = folder.appendingPathComponent(name).path
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    return path
  }

  /// The path of a folder of the row's own, which is not there; whatever was there is gone.
  func freshFolder(_ name: String) -> String {
    let path = folder.appendingPathComponent(name).path
    try? FileManager.default.removeItem(atPath: path)  // Mostly there was nothing.
    return path
  }

  /// Paths in a folder of the row's own, a new one with each call. Nothing there is deleted before
  /// the end: that would slow the file system down for seconds.
  func freshPaths(_ name: String) throws -> () -> String {
    let folder = freshFolder(name)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var next = 0
    return {
      next += 1
      return "\(folder)/\(next)"
    }
  }

  /// Work that several rows have in common: made for the first of them, there for the others.
  func shared<Work>(_ name: String, _ make: () throws -> Work) rethrows -> Work {
    if let work = sharedWork[name] as? Work { return work }
    let work = try make()
    sharedWork[name] = work
    return work
  }

  /// Releases it.
  func endShared(_ name: String) { sharedWork[name] = nil }

  enum Loop { case c, swift, none }

  /// Times `body`, which does `count` operations in a loop of the kind given, and returns the
  /// nanoseconds of one operation without the loop.
  func time(_ count: Int, loop: Loop, _ body: () throws -> Void) rethrows -> Double {
    let start = rivals_now_ns()
    try body()
    return perOperation(rivals_now_ns() - start, count, loop: loop)
  }

  /// The same for a time that was taken elsewhere, with the loop divided among `threads`.
  func perOperation(_ elapsed: UInt64, _ count: Int, loop: Loop, threads: Int = 1) -> Double {
    let turn =
      switch loop {
      case .c: loopNanoseconds.c
      case .swift: loopNanoseconds.swift
      case .none: 0.0
      }
    return max(0, Double(elapsed) / Double(count) - turn / Double(threads))
  }

  /// How many operations make a sample of about a millisecond; `body` does as many as it is told.
  func turns(_ body: (Int) throws -> Void) rethrows -> Int {
    try body(1)  // The first call is slow, and says nothing of the others.
    var count = 1
    while true {
      let start = rivals_now_ns()
      try body(count)
      let elapsed = rivals_now_ns() - start
      if elapsed > 200_000 { return max(1, Int(Double(count) * 1e6 / Double(elapsed))) }
      count *= 2
    }
  }

  private static func medianOfNine(_ loop: (Int) throws -> Void) rethrows -> Double {
    let turns = 2_000_000
    var samples: [Double] = []
    for _ in 0..<9 {
      let start = rivals_now_ns()
      try loop(turns)
      samples.append(Double(rivals_now_ns() - start) / Double(turns))
    }
    return median(samples)
  }
}

@inline(never)
private func emptySwiftLoop(_ count: Int) {
  for _ in 0..<count { rivals_barrier() }
}

/// A C function's status that is not 0.
struct Failure: Error, CustomStringConvertible {
  let description: String
}

/// Turns a status of Larder's C functions, or an errno, into an error.
func check(_ status: Int32) throws {
  guard status != 0 else { return }
  throw Failure(description: "status \(status): \(String(cString: larder_strerror(status)))")
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
