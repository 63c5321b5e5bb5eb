// SPDX-License-Identifier: MIT

#if Tracing
  import Foundation
  import Larder
  import LarderTestSupport
  import LarderTracing
  import Testing

  /// The example of the article on servers.
  @Suite("The example of tracing") struct TracingExamples {
    private struct Server {
      func user(_ id: Int) async throws -> String { "user \(id)" }
    }

    @Test func aLoadIsASpan() async throws {
      let directory = try TemporaryDirectory()
      let users = try Cache<Int, String>(at: .path(directory.file("users").path))
      let server = Server()
      // Example: a traced load
      let user = try await users.value(forKey: 7, tracing: "load user") {
        try await server.user(7)
      }
      // End of example
      #expect(user == "user 7")
      try await users.close()
    }
  }
#endif
