// SPDX-License-Identifier: MIT
import Foundation

/// A process that appends to a ring and is killed, so that the ring is not closed.
enum KilledWriter {
  private static let option = "--killed-writer-of"

  /// Starts this program again to append to the ring at `path`, and waits until it was killed.
  static func run(_ path: String, capacity: UInt64) throws {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      child.executableURL = URL(fileURLWithPath: own)
    }
    child.arguments = [option, path, String(capacity)]
    try child.run()
    child.waitUntilExit()
    guard child.terminationReason == .uncaughtSignal, child.terminationStatus == SIGKILL else {
      throw Failure(description: "the writer was not killed")
    }
  }

  /// What a command line that `run` made asks for.
  static func request(of arguments: [String]) -> (path: String, capacity: UInt64)? {
    guard arguments.count == 4, arguments[1] == option else { return nil }
    return UInt64(arguments[3]).map { (arguments[2], $0) }
  }

  static func runAsChild(_ path: String, capacity: UInt64) throws -> Never {
    let ring = try RingFile(path, capacity: capacity, overwrite: true)
    try ring.append(LogArea.payload, count: 1000)
    kill(getpid(), SIGKILL)
    exit(1)
  }
}
