// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import Testing

  @testable import LarderRemote

  /// What is in a stream.
  struct StreamReader {
    struct Entry {
      let id: String
      let fields: [String: [UInt8]]

      var text: String {
        let isGap = fields["lost"] != nil
        let value = String(decoding: fields[isGap ? "lost" : "message"] ?? [], as: UTF8.self)
        return "\(id) \(isGap ? "lost " : "")\(value)"
      }
    }

    let connection: any RemoteConnection
    let key: String

    func send(_ command: RemoteCommand) async throws -> RemoteReply {
      try #require(await connection.send([command], patience: nil).first)
    }

    /// How many entries it has.
    var count: Int64 {
      get async throws {
        let reply = try await send(RemoteCommand("XLEN", key))
        return if case .integer(let count) = reply { count } else { -1 }
      }
    }

    /// Some entries behind an ID, the oldest first.
    func entries(after id: String = "0-0") async throws -> [Entry] {
      let reply = try await send(
        RemoteCommand("XRANGE", key, "(" + id, "+", "COUNT", "1000"))
      guard case .array(let entries) = reply else { return [] }
      return try entries.map { entry in
        guard case .array(let parts) = entry, case .bytes(let id)? = parts.first,
          case .array(let words)? = parts.last
        else {
          Issue.record("An entry is none.")
          throw CancellationError()
        }
        var fields: [String: [UInt8]] = [:]
        for (field, value) in zip(words, words.dropFirst()).enumerated()
        where field.isMultiple(of: 2) {
          if case (.bytes(let name), .bytes(let value)) = value {
            fields[String(decoding: name, as: UTF8.self)] = value
          }
        }
        return Entry(id: String(decoding: id, as: UTF8.self), fields: fields)
      }
    }

    var texts: [String] {
      get async throws { try await entries().map(\.text) }
    }
  }
#endif
