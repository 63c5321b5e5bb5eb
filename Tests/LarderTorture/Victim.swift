// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// What a victim tells its killer: 8 bytes each, so that none is ever torn.
struct Acknowledgement {
  /// How long a victim lives whom nobody kills, in seconds.
  static let lifetime = 30.0
  /// In place of a lane: what follows is the text of an error.
  private static let failure = UInt32.max
  /// In place of a lane: what there was to open is open.
  private static let ready = UInt32.max - 1

  static func tellReady() { tell(ready, 0) }

  /// So many steps of this lane are done.
  static func tell(lane: Int, done: Int) { tell(UInt32(lane), UInt32(done)) }

  /// Ends the process.
  static func tell(_ error: any Error) -> Never {
    let record = bytes(failure, 0) + Data("\(error)".utf8)
    try? FileHandle.standardOutput.write(contentsOf: record)  // Nobody is left to tell.
    exit(3)
  }

  private static func tell(_ lane: UInt32, _ done: UInt32) {
    // Its killer is gone, or about to be.
    do { try FileHandle.standardOutput.write(contentsOf: bytes(lane, done)) } catch { exit(0) }
  }

  private static func bytes(_ lane: UInt32, _ done: UInt32) -> Data {
    withUnsafeBytes(of: (lane.littleEndian, done.littleEndian)) { Data($0) }
  }

  /// What was told until now.
  struct Reader {
    private(set) var isReady = false
    /// The steps that each lane has done.
    private(set) var done: [Int]
    private var rest = Data()

    init(lanes: Int) { done = [Int](repeating: 0, count: lanes) }

    var total: Int { done.reduce(0, +) }

    mutating func add(_ bytes: Data) throws {
      rest += bytes
      while rest.count >= 8 {
        let lane = number(0)
        let count = number(4)
        rest = Data(rest.dropFirst(8))
        if lane == failure {
          throw Broken("a victim failed: \(String(decoding: rest, as: UTF8.self))")
        } else if lane == Acknowledgement.ready {
          isReady = true
        } else if Int(lane) < done.count {
          done[Int(lane)] = Int(count)
        }
      }
    }

    private func number(_ offset: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(rest[rest.startIndex + offset + $1]) << (8 * $1) }
    }
  }
}

/// The end of a victim.
struct Killing {
  /// Starts a victim, kills it at a moment drawn, and gives what it had done until then.
  ///
  /// - Parameter most: The steps after which it is killed, at the latest.
  static func kill(
    _ orders: Orders, lanes: Int, _ dice: inout Dice, most: Int = 400
  ) throws -> Acknowledgement.Reader {
    var orders = orders
    orders.duty = .die
    let victim = try Child(orders.arguments)
    var heard = Acknowledgement.Reader(lanes: lanes)
    // Now and then while it opens; mostly after some steps, at once or a little later.
    let wanted = dice.oneIn(5) ? nil : dice.oneIn(4) ? dice.below(5) : dice.between(1, most)
    var end = Date() + (wanted == nil ? Double(dice.below(60)) / 1000 : 10)
    var isEnding = wanted == nil
    while true {
      let left = Int32(max(0, min(1000, end.timeIntervalSinceNow * 1000)))
      switch victim.read(milliseconds: isEnding && left == 0 ? 0 : max(1, left)) {
      case .bytes(let bytes): try heard.add(bytes)
      case .nothing: break
      case .end:
        throw Broken("a victim ended by itself, with \(victim.wait())")
      }
      if let wanted, !isEnding, heard.isReady, heard.total >= wanted {
        isEnding = true
        end = Date() + (dice.oneIn(2) ? 0 : Double(dice.below(3000)) / 1e6)
      }
      if end.timeIntervalSinceNow <= 0 { break }
    }
    victim.kill()
    // What it told before it died is still in the pipe.
    while case .bytes(let bytes) = victim.read(milliseconds: 5000) { try heard.add(bytes) }
    let ending = victim.wait()
    try expect(ending == .signal(SIGKILL), "a victim ended with \(ending), and not as it was meant")
    return heard
  }
}
