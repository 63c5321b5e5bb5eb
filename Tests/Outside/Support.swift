// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Synchronization

/// Prints a line, in one piece.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

/// Notes that a promise of the documentation was broken, and how.
func broken(_ promise: String, _ how: @autoclosure () -> String) {
  Promises.shared.add(promise, how())
}

/// Notes that a promise was broken unless the condition holds.
func expect(_ holds: Bool, _ promise: String, _ how: @autoclosure () -> String) {
  if !holds { broken(promise, how()) }
}

/// Which promises were broken.
final class Promises: Sendable {
  static let shared = Promises()
  private let counts = Mutex<[(promise: String, count: Int)]>([])

  /// What comes before a colon in `how` says where, which is told once more.
  func add(_ promise: String, _ how: String) {
    let parts = how.split(separator: ":", maxSplits: 1)
    let whole = parts.count > 1 ? "\(promise) (\(parts[0]))" : promise
    let count = counts.withLock { counts in
      let place = counts.firstIndex { $0.promise == whole } ?? counts.count
      if place == counts.count { counts.append((whole, 0)) }
      counts[place].count += 1
      return counts[place].count
    }
    if count <= 2 { say("BROKEN: \(promise): \(how)") }
  }

  /// Whether all were kept. Says how often one was not.
  func finish(_ session: Session) -> Bool {
    let counts = counts.withLock { $0 }
    for (promise, count) in counts where count > 2 {
      say("\(session.program): \(count) times in all: \(promise)")
    }
    if session.child.isEmpty {
      let verdict = counts.isEmpty ? "kept every promise" : "broke promises"
      say("\(session.program): \(verdict); seed \(session.seed)")
    }
    return counts.isEmpty
  }
}

extension Dice {
  static func mixed(_ first: Int, _ second: Int) -> UInt64 {
    mixed(mixed(UInt64(bitPattern: Int64(first))) &+ UInt64(bitPattern: Int64(second)))
  }
}

/// Bytes that say whose they are: those of no other number, version or length are the same.
struct Stamp: Equatable, Sendable {
  var id: Int
  var version: Int

  private static let headCount = 24
  private static let pool: [UInt8] = {
    var dice = Dice(seed: 4711)
    return (0..<(1 << 17)).flatMap { _ in withUnsafeBytes(of: dice.next()) { Array($0) } }
  }()

  /// A value of 24 bytes to 512 KiB.
  func bytes(count: Int) -> Data {
    var data = Data(capacity: count)
    for word in [id, version, count] {
      withUnsafeBytes(of: Int64(word)) { data.append(contentsOf: $0) }
    }
    let rest = count - Self.headCount
    Self.pool.withUnsafeBufferPointer { pool in
      if let start = pool.baseAddress { data.append(start + offset, count: rest) }
    }
    return data
  }

  /// Where in the pool the bytes behind the head begin.
  private var offset: Int { Int(Dice.mixed(id, version) % (1 << 19)) }

  /// What a value says, if it is whole.
  init?(_ data: Data) {
    guard data.count >= Self.headCount else { return nil }
    let words = data.withUnsafeBytes { bytes in
      (0..<3).map { Int(bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
    }
    (id, version) = (words[0], words[1])
    let (rest, start) = (data.count - Self.headCount, offset)
    let isSame = data.withUnsafeBytes { bytes in
      Self.pool.withUnsafeBytes { pool in
        guard let value = bytes.baseAddress, let own = pool.baseAddress else { return false }
        return memcmp(value + Self.headCount, own + start, rest) == 0
      }
    }
    if words[2] != data.count || !isSame { return nil }
  }

  init(id: Int, version: Int) { (self.id, self.version) = (id, version) }
}

/// What was about to be written, and what had been, in a file that outlives a kill.
final class Diary: Sendable {
  struct Line {
    var isDone: Bool
    var id: Int
    var version: Int
  }

  private let file: Int32

  init(_ path: String) { file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
  deinit { close(file) }

  func note(_ line: Line) {
    let words = [line.isDone ? 1 : 0, Int64(line.id), Int64(line.version)]
    _ = words.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  }

  /// Does what is noted before and after.
  func around<R>(_ id: Int, _ version: Int, _ body: () throws -> R) rethrows -> R {
    note(Line(isDone: false, id: id, version: version))
    let result = try body()
    note(Line(isDone: true, id: id, version: version))
    return result
  }

  static func lines(_ path: String) -> [Line] {
    guard let data = FileManager.default.contents(atPath: path) else { return [] }
    return data.withUnsafeBytes { bytes in
      (0..<(bytes.count / 24)).map { line in
        let words = (0..<3).map { word in
          Int(bytes.loadUnaligned(fromByteOffset: line * 24 + word * 8, as: Int64.self))
        }
        return Line(isDone: words[0] == 1, id: words[1], version: words[2])
      }
    }
  }
}
