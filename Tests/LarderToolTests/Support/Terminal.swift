// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Runs `larder` at a terminal of the test's own.
enum Terminal {
  /// A pseudo-terminal that passes on what it gets.
  private struct Pair {
    let master: CInt
    let slave: CInt

    init(columns: UInt16 = 0) throws {
      var (master, slave) = (CInt(-1), CInt(-1))
      var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      guard openpty(&master, &slave, nil, nil, &size) == 0 else {
        throw CocoaError(.fileReadUnknown)
      }
      (self.master, self.slave) = (master, slave)
      for descriptor in [master, slave] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
      var settings = termios()
      guard tcgetattr(slave, &settings) == 0 else { throw CocoaError(.fileReadUnknown) }
      cfmakeraw(&settings)
      guard tcsetattr(slave, TCSANOW, &settings) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// All that comes until the last process has closed it, or nothing for a minute.
    ///
    /// - Parameter look: Called with all that came so far.
    func readAll(_ look: (Data) -> Void = { _ in }) -> Data {
      var all = Data()
      var chunk = [UInt8](repeating: 0, count: 1 << 12)
      while true {
        var waiting = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 60_000) > 0 else { return all }
        let count = read(master, &chunk, chunk.count)
        guard count > 0 else { return all }
        all.append(contentsOf: chunk[..<count])
        look(all)
      }
    }
  }

  /// - Parameters:
  ///   - columns: The width of the terminal; 0 if it has none.
  ///   - isEnough: Whether what was shown so far is; then it gets SIGTERM.
  /// - Returns: The exit code, and what output and errors are at the terminal, one after the other.
  static func run(
    _ arguments: [String], environment: [String: String] = [:], columns: UInt16 = 0,
    until isEnough: (Data) -> Bool = { _ in false }
  ) throws -> (code: Int32, shown: Data) {
    let pair = try Pair(columns: columns)
    defer { close(pair.master) }
    let process = Process()
    process.executableURL = Tool.executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["NO_COLOR": "1", "COLUMNS": "80"]) { _, new in new }
      .merging(environment) { _, new in new }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(fileDescriptor: pair.slave)
    process.standardError = FileHandle(fileDescriptor: pair.slave)
    try process.run()
    close(pair.slave)
    let shown = pair.readAll { if isEnough($0) { process.terminate() } }
    process.waitUntilExit()
    return (process.exitCode, shown)
  }
}
