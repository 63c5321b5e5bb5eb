// SPDX-License-Identifier: MIT
import CLarderStore
import Foundation

/// What the large rows call: ours and the rival alike.
protocol SizeStore {
  func fill(_ range: Range<Int>, _ draws: Draws, _ payloads: Payloads) throws
  /// The sum that `Payloads` gives for these keys.
  func sum(of keys: ArraySlice<Int>) throws -> Int
  func flushAndSync() throws
  /// Waits until nothing is done in the background any more.
  func settle()
  /// Bytes stored into mapped files, which no write call shows.
  func mappedBytes() throws -> Double
}

/// The loops of both sides.
private func fill(
  _ range: Range<Int>, _ draws: Draws, _ payloads: Payloads,
  _ put: (UnsafeRawBufferPointer, Int) throws -> Void
) rethrows {
  for position in range {
    let key = draws.key(position)
    try payloads[key].withUnsafeBytes { try put($0, key) }
  }
}

private func sum(
  of keys: ArraySlice<Int>, _ read: (Int, (UnsafeRawBufferPointer) -> Int) throws -> Int?
) throws -> Int {
  var sum = 0
  for key in keys {
    guard let ends = try read(key, { Int($0.first ?? 0) + Int($0.last ?? 0) }) else {
      throw Failure(description: "a value is missing")
    }
    sum &+= ends
  }
  return sum
}

/// Ours. What it appends to its log, and what cleaning copies, is stored into mapped files.
struct LarderSizeStore: SizeStore {
  private let store: LarderStore

  init(_ path: String) throws { store = try LarderStore(path) }

  func fill(_ range: Range<Int>, _ draws: Draws, _ payloads: Payloads) throws {
    try LarderBench.fill(range, draws, payloads) { try store.put($0, under: $1) }
  }

  func sum(of keys: ArraySlice<Int>) throws -> Int {
    try LarderBench.sum(of: keys) { try store.read($0, $1) }
  }

  func flushAndSync() throws {
    try store.flush()
    try store.sync()
  }

  /// A flush leaves nothing to do.
  func settle() {}

  func mappedBytes() throws -> Double {
    let figures = try store.statistics()
    return Double(figures.appended_bytes + figures.cleaned_bytes)
  }
}

/// RocksDB, which maps no file that it writes to.
struct RocksSizeStore: SizeStore {
  private let store: RocksStore

  init(_ path: String) throws { store = try RocksStore(path, compresses: false) }

  func fill(_ range: Range<Int>, _ draws: Draws, _ payloads: Payloads) throws {
    try LarderBench.fill(range, draws, payloads) { try store.put($0, under: $1) }
  }

  func sum(of keys: ArraySlice<Int>) throws -> Int {
    try LarderBench.sum(of: keys) { try store.read($0, $1) }
  }

  func flushAndSync() throws { try store.flushAndSync() }
  func settle() { store.settle() }
  func mappedBytes() -> Double { 0 }
}
