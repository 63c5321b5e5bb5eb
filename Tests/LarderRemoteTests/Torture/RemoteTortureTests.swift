// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport
  import Testing

  /// What `make torture AREA=remote` does for longer.
  @Suite(.enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteTortureTests {
    @Test(arguments: ["simulation", "processes", "outage"])
    func noReadIsOlderThanPromised(family: String) throws {
      #expect(try torture(["--family", family, "--short", "--seed", "1"]).status == 0)
    }

    @Test func aPlantedDefectIsFound() throws {
      let (status, output) = try torture([
        "--family", "simulation", "--short", "--seed", "1", "--stop", "--plant", "noloop",
      ])
      #expect(status == 1)
      #expect(output.contains("FAILED simulation: key"), "\(output)")
    }

    private func torture(_ arguments: [String]) throws -> (status: Int32, output: String) {
      let process = Process()
      process.executableURL = builtProducts.appendingPathComponent("LarderTorture")
      process.arguments = ["--area", "remote"] + arguments
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      if process.terminationStatus != 0 { print(text) }
      return (process.terminationStatus, text)
    }
  }
#endif
