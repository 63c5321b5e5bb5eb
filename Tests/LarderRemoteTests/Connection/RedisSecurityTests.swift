// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite("Who may connect", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RedisSecurityTests {
    private static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// A certificate that nobody has signed but itself, and its key.
    private static func makeCertificate(_ directory: TemporaryDirectory) throws -> (
      certificate: String, key: String
    ) {
      let (certificate, key) = (directory.file("cert.pem").path, directory.file("key.pem").path)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try #require(openssl))
      process.arguments = [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
      ]
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      return (certificate, key)
    }

    private func ping(_ server: RemoteServer) async -> Result<[RemoteReply], any Error> {
      do {
        let connection = try RedisConnection(server)
        let replies = try await connection.send([RemoteCommand("PING")], patience: nil)
        await connection.close()
        return .success(replies)
      } catch {
        return .failure(error)
      }
    }

    private func isAnswered(_ server: RemoteServer) async -> Bool {
      if case .success(let replies) = await ping(server) { return replies == [.status("PONG")] }
      return false
    }

    @Test(
      .enabled(if: Self.openssl != nil, "There is no openssl here."),
      .enabled(if: RedisServer.hasTLS, "The server has no TLS."))
    func aCertificateIsVerifiedUnlessToldOtherwise() async throws {
      let directory = try TemporaryDirectory()
      let (certificate, key) = try Self.makeCertificate(directory)
      let redis = try RedisServer([
        "--tls-port", "PORT", "--tls-cert-file", certificate, "--tls-key-file", key,
        "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no",
      ])
      var server = redis.patient
      server.security = .tls()
      #expect(await !isAnswered(server))
      // It does not have this address.
      server.security = .tls(authorities: certificate)
      #expect(await !isAnswered(server))
      server.security = .tls(authorities: certificate, name: "localhost")
      #expect(await isAnswered(server))
      server.security = .tls(authorities: certificate, name: "another.example")
      #expect(await !isAnswered(server))
      server.security = .tls(verifies: false)
      #expect(await isAnswered(server))
      // Nobody sends a password in plain text by mistake.
      #expect(RemoteServer(host: "localhost").security.isEncrypted)
      #expect(throws: LarderError.self) {
        var server = server
        server.security = .tls(authorities: directory.file("none").path)
        _ = try RedisConnection(server)
      }
    }

    @Test func aServerWithoutTLSIsAskedAbout() async throws {
      let redis = try RedisServer()
      var server = redis.patient
      server.security = .tls()
      // Long enough to be connected, on a busy machine, too.
      server.timeout = .seconds(5)
      guard case .failure(let error as LarderError) = await ping(server) else {
        try #require(Bool(false), "there is no failure")
        return
      }
      // A server that hangs up says so before the time is over.
      #expect(error.code == .remote || error.message.contains("speak TLS"), "\(error)")
    }

    /// What the page "Beyond one machine" gives the user of a cache is enough, and no more is
    /// needed.
    @Test func theDocumentedUserIsEnough() async throws {
      let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/Larder/Larder.docc/BeyondOneMachine.md")
      let text = try String(contentsOf: page, encoding: .utf8)
      let line = try #require(
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
          .first { $0.hasPrefix("user users-cache ") })
      let redis = try RedisServer()
      let admin = try RedisConnection(redis.patient)
      let rules = line.split(separator: " ").dropFirst().map { Array($0.utf8) }
      let replies = try await admin.send(
        [RemoteCommand("ACL", [Array("SETUSER".utf8)] + rules)], patience: nil)
      #expect(replies == [.status("OK")])
      var server = redis.patient
      server.credentials = RemoteCredentials(user: "users-cache", password: "PASSWORD")
      let directory = try TemporaryDirectory()
      let cache = try Cache<String, Int>(at: .path(directory.file("users").path), remote: server)
      try await cache.set(1, forKey: "a")
      #expect(try await cache.value(forKey: "b") { 2 } == 2)
      try await cache.remove(forKey: "a")
      try await cache.removeAll()
      #expect(try await cache.value(forKey: "b") == nil)
      let connection = try RedisConnection(server)
      let refused = try await connection.send(
        [RemoteCommand("GET", "elsewhere"), RemoteCommand("FLUSHALL")], patience: nil)
      #expect(refused == [.error("NOPERM"), .error("NOPERM")])
    }
  }
#endif
