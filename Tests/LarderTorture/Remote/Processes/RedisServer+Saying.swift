// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderRemote
  import LarderTestSupport

  extension RedisServer {
    /// Sends it a command, behind the proxy's back, and waits for the answer.
    @discardableResult
    func say(_ words: String...) throws -> RemoteReply { try say(words) }

    func say(_ words: [String]) throws -> RemoteReply {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      (server.timeout, server.connectTimeout) = (.seconds(60), .seconds(60))
      let connection = try RedisConnection(server)
      let command = RemoteCommand(words[0], words.dropFirst().map { Array($0.utf8) })
      let result = Box<Result<[RemoteReply], any Error>>()
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        do {
          result.value = .success(
            try await connection.send([command], key: nil, patience: nil))
        } catch {
          result.value = .failure(error)
        }
        await connection.close()
        done.signal()
      }
      done.wait()
      guard let reply = try result.value?.get().first else { throw Broken("no answer") }
      if case .error(let text) = reply {
        throw Broken("the server answered \(words.prefix(3)) with \(text)")
      }
      return reply
    }

    /// Unchecked: written before a semaphore is signalled, read after.
    private final class Box<Value>: @unchecked Sendable { var value: Value? }
  }
#endif
