// SPDX-License-Identifier: MIT
import Foundation

/// Another process that appends to a ring, and closes it or is killed.
struct OtherWriter {
  let path: String
  let capacity: UInt64
  let isKilled: Bool

  private static let option = "--other-writer-of"

  /// Starts this program again to append to the ring, and waits for its end.
  func run() throws {
    let child = Process.ofThisProgram([Self.option, path, String(capacity), String(isKilled)])
    try child.run()
    child.waitUntilExit()
    let wasKilled = child.terminationReason == .uncaughtSignal
    guard wasKilled == isKilled, child.terminationStatus == (isKilled ? SIGKILL : 0) else {
      throw Failure(description: "the other writer ended otherwise than it was to")
    }
  }

  func runAsChild() throws -> Never {
    do {
      let ring = try RingFile(path, capacity: capacity, overwrite: true)
      try ring.append(LogArea.payload, count: 1000)
      // Until here it is open.
      withExtendedLifetime(ring) { if isKilled { kill(getpid(), SIGKILL) } }
    }
    exit(0)
  }
}

extension OtherWriter {
  /// What a command line that `run` made asks for.
  init?(arguments: [String]) {
    guard arguments.count == 5, arguments[1] == Self.option, let capacity = UInt64(arguments[3])
    else { return nil }
    self.init(path: arguments[2], capacity: capacity, isKilled: arguments[4] == String(true))
  }
}
