// SPDX-License-Identifier: MIT

#if Configuration && Logging && Metrics && ServiceLifecycle
  import Foundation
  import Larder
  import LarderLogging
  import LarderTestSupport
  import Logging
  import Testing

  @Suite("A server that is stopped") struct ServerTests {
    /// What waits is written when the server ends, and not before, as far as that can be had.
    @Test(arguments: ["writeThrough", "writeBack"])
    func aTerminatedServerLosesNothing(policy: String) async throws {
      let directory = try TemporaryDirectory()
      let server = try ServerProcess(
        ["serve", directory.url.path], environment: ["USERS_WRITE_POLICY": policy])
      #expect(server.readLine() == "ready")
      for user in 0..<500 {
        try server.write("\(user)")
        #expect(server.readLine() == "\(user)")
      }
      server.send(SIGTERM)
      #expect(server.readLine() == "closed")
      #expect(server.wait() == 0)

      let users = try Cache<Int, String>(at: .path(directory.file("users").path))
      for user in 0..<500 { #expect(try await users.value(forKey: user) == "user \(user)") }
      try await users.close()
      let log = try MessageLog<LogRecord>(readingFrom: .url(directory.file("server.log")))
      let records = try log.messages()
      let stored = records.filter { $0.message == "stored" }.map {
        $0.metadata["user"]?.description
      }
      #expect(stored == (0..<500).map { "\($0)" })
      #expect(try log.recovery.wasClosed)
    }

    @Test func nonsenseInTheEnvironmentStopsTheServer() throws {
      let directory = try TemporaryDirectory()
      let server = try ServerProcess(
        ["serve", directory.url.path], environment: ["USERS_DISK_SIZE_LIMIT": "plenty"])
      try #require(server.readLine() == nil)
      #expect(server.wait() != 0)
    }
  }
#endif
