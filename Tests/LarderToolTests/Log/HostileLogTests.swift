// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// A log whose header says what no log of ours says, under a checksum that is right: every command
/// ends with an exit code that is documented.
struct HostileLogTests {
  private let directory: TemporaryDirectory
  private let log: URL
  private let good: [UInt8]

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder")
    let writer = try MessageLog(
      at: .url(log), capacity: 4_100, whenFull: .overwriteOldest, coder: .string)
    for number in 1...200 { try writer.append("message \(number)") }
    try writer.consumer(named: "reader").acknowledge(through: 150)
    try writer.close()
    good = try log.bytes()
  }

  /// Of the state, of who opened it, of the numbers and of the session.
  static let fields = Array(stride(from: 64, to: 320, by: 8)).filter { ![160, 168].contains($0) }
  /// 250 is more than there are numbers before the append, and not after it.
  private static let values: [UInt64] = [0, 1, 250, 1 << 54, 1 << 62, .max]
  private static let lines = String(repeating: "a line\n", count: 100)

  @Test(arguments: fields)
  func appendingNeverTraps(_ field: Int) throws {
    for value in Self.values {
      var bytes = good
      bytes.set(value, at: field)
      // An epoch shares its word with the checksum.
      bytes.set(bytes.closedChecksum, at: 124)
      try log.patch(bytes)
      let run = try Tool.run("log", "append", log.path, input: Data(Self.lines.utf8))
      #expect((0...2).contains(run.code), "\(value) at \(field): \(run.errors)")
    }
  }
}
