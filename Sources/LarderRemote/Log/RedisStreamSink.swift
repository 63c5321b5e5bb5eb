// SPDX-License-Identifier: MIT

#if Remote
  public import Foundation
  public import LarderCore

  /// A stream of a Redis or Valkey server that a log is shipped to.
  ///
  /// ```swift
  /// let sink = try RedisStreamSink(
  ///   connection: RedisConnection(server), stream: "events", identity: log.identity())
  /// let shipper = try LogShipper(log, consumer: "redis", sink: sink)
  /// try await shipper.run()
  /// ```
  ///
  /// The stream's key is the name, a colon and the log's identity. Message 7 of the log is the
  /// entry `7-0`, with these fields:
  ///
  /// - `message`: its bytes;
  /// - `time`: nanoseconds since 1970, if the log keeps times;
  /// - `partial`: `1`, if it was marked as not ended.
  ///
  /// Numbers whose messages are gone are one entry, under the last of them: `lost` is how many they
  /// are. So whoever reads the stream finds each number from 1 on once: as an entry, or counted.
  ///
  /// Each batch is one script (`EVAL`), which the server runs in one piece: it appends if the last
  /// entry ever added is the one that the batch comes after. A batch that arrives late, from a
  /// connection that was given up, finds that it is not. Entries may be trimmed and deleted at
  /// will, and groups of consumers made before the first entry, as the server remembers the last
  /// ID. Nobody else may add to the stream. One that was deleted gets all that the log still has.
  ///
  /// **Concurrency.** Safe to use from any number of tasks at a time.
  public struct RedisStreamSink: LogSink {
    /// The key of the stream.
    public let key: String

    private let connection: any RemoteConnection
    private let configuration: RedisStreamConfiguration

    /// Names the stream; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - connection: The connection to the server. A batch has to fit into its time-out.
    ///   - stream: What the stream is called, before the log's identity.
    ///   - identity: The log's: see `MessageLog.identity()`.
    ///   - configuration: How; see there for the defaults.
    /// - Throws: `.invalidArgument` for an empty name, or a configuration out of range.
    /// - Complexity: O(1).
    public init(
      connection: any RemoteConnection, stream: String, identity: UUID,
      configuration: RedisStreamConfiguration = .init()
    ) throws {
      guard !stream.isEmpty, configuration.maximumLength ?? 1 > 0 else {
        throw LarderError(
          .invalidArgument, "A stream has a name, and a length of at least 1 if it has one.")
      }
      switch configuration.confirmation {
      case .memory: break
      case .replicas(let count, let time), .disk(let count, let time):
        // 0 is for ever to the server.
        guard count >= 0, time >= .milliseconds(1) else {
          throw LarderError(
            .invalidArgument, "Replicas are not fewer than 0, and have at least 1 ms.")
        }
      }
      key = "\(stream):\(identity.uuidString.lowercased())"
      self.connection = connection
      self.configuration = configuration
    }

    /// The number of the last entry that was ever added.
    ///
    /// - Returns: nil if there is no stream, or nothing was ever added.
    /// - Throws: `.configurationMismatch` if the key holds something else than a stream, or
    ///   somebody else adds to it; as ``RemoteConnection/send(_:key:patience:)`` otherwise.
    /// - Complexity: One round trip.
    public func lastSequence() async throws -> UInt64? {
      // Confirmed as an append is: one whose confirmation was missing may be what is found.
      let isConfirmed = configuration.confirmation != .memory
      let reply = try await run(Self.question, [isConfirmed ? "1" : ""].map { Array($0.utf8) })
      guard case .bytes(let id) = reply else { throw unexpected(reply) }
      return try sequence(of: id)
    }

    /// Appends records if the last entry ever added is the one given.
    ///
    /// - Parameters:
    ///   - batch: The records.
    ///   - last: The number of that entry; nil: there was none.
    /// - Throws: `.conflict` if it is another one; `.remote` if the server refuses, or what
    ///   ``RedisStreamConfiguration/confirmation`` asks for was not reached; as ``lastSequence()``
    ///   otherwise.
    /// - Complexity: One round trip; O(bytes) in time and memory.
    public func append(_ batch: LogBatch, after last: UInt64?) async throws {
      var arguments = [Self.id(last ?? 0), configuration.maximumLength.map { "\($0)" } ?? ""]
        .map { Array($0.utf8) }
      for record in batch.records { Self.add(record, to: &arguments) }
      let reply = try await run(Self.appending, arguments)
      switch reply {
      case .status: return
      case .bytes(let id):
        let found = try sequence(of: id).map { "\($0)" } ?? "none"
        let wanted = last.map { "\($0)" } ?? "none"
        throw LarderError(.conflict, "The last entry of the stream is \(found), not \(wanted).")
      default: throw unexpected(reply)
      }
    }

    // MARK: - Entries

    private static func id(_ sequence: UInt64) -> String { "\(sequence)-0" }

    private func sequence(of id: [UInt8]) throws(LarderError) -> UInt64? {
      let parts = String(decoding: id, as: UTF8.self).split(separator: "-")
      guard parts.count == 2, parts[1] == "0", let sequence = UInt64(parts[0]) else {
        throw LarderError(
          .configurationMismatch,
          "The stream has an entry that is none of a log: somebody else adds to it.")
      }
      return sequence == 0 ? nil : sequence
    }

    /// How many words follow, the ID, fields and values by turns.
    private static func add(_ record: LogBatch.Record, to arguments: inout [[UInt8]]) {
      var words = [Array(id(record.sequence).utf8)]
      func add(_ field: String, _ value: [UInt8]) { words += [Array(field.utf8), value] }
      switch record {
      case .message(let message):
        add("message", Array(message.bytes))
        if let time = message.time { add("time", Array("\(time)".utf8)) }
        if message.isPartial { add("partial", Array("1".utf8)) }
      case .gap(let numbers):
        add("lost", Array("\(numbers.upperBound - numbers.lowerBound + 1)".utf8))
      }
      arguments.append(Array("\(words.count)".utf8))
      arguments += words
    }

    // MARK: - Scripts

    /// IDs are compared as text: a number of the script's has 53 bits.
    private static let last = """
      local last = '0-0'
      if redis.call('EXISTS', KEYS[1]) == 1 then
        local info = redis.call('XINFO', 'STREAM', KEYS[1])
        for i = 1, #info, 2 do
          if info[i] == 'last-generated-id' then last = info[i + 1] end
        end
      end

      """

    /// Setting the last ID to what it is is a write, which those that follow wait for.
    private static let question =
      last + """
        if ARGV[1] ~= '' and last ~= '0-0' then redis.call('XSETID', KEYS[1], last) end
        return last
        """

    /// The first command that fails ends the script: what is behind it is not added either.
    private static let appending =
      last + """
        if last ~= ARGV[1] then return last end
        local at = 3
        while ARGV[at] do
          local command = {'XADD', KEYS[1]}
          if ARGV[2] ~= '' then command = {'XADD', KEYS[1], 'MAXLEN', '~', ARGV[2]} end
          local count = tonumber(ARGV[at])
          for i = at + 1, at + count do command[#command + 1] = ARGV[i] end
          redis.call(unpack(command))
          at = at + count + 1
        end
        return redis.status_reply('OK')
        """

    private func run(_ script: String, _ arguments: [[UInt8]]) async throws -> RemoteReply {
      let head = [script, "1", key].map { Array($0.utf8) }
      var commands = [RemoteCommand("EVAL", head + arguments)]
      switch configuration.confirmation {
      case .memory: break
      case .replicas(let count, let time):
        commands.append(RemoteCommand("WAIT", "\(count)", Self.milliseconds(time)))
      case .disk(let count, let time):
        commands.append(RemoteCommand("WAITAOF", "1", "\(count)", Self.milliseconds(time)))
      }
      let replies = try await connection.send(commands, key: Array(key.utf8), patience: nil)
      guard let reply = replies.first, replies.count == commands.count else {
        throw LarderError(.remote, "\(commands.count) commands got \(replies.count) replies.")
      }
      if case .error = reply { throw unexpected(reply) }
      if commands.count > 1 { try confirm(replies[1]) }
      return reply
    }

    private static func milliseconds(_ time: Duration) -> String {
      "\(max(1, time.inNanoseconds / 1_000_000))"
    }

    private func confirm(_ reply: RemoteReply) throws(LarderError) {
      let isConfirmed =
        switch (configuration.confirmation, reply) {
        case (.memory, _): true
        case (.replicas(let wanted, _), .integer(let found)): found >= Int64(wanted)
        case (.disk(let wanted, _), .array(let found)):
          if case .integer(let own)? = found.first, case .integer(let others)? = found.last {
            own >= 1 && others >= Int64(wanted)
          } else {
            false
          }
        default: throw unexpected(reply)
        }
      if !isConfirmed {
        throw LarderError(.remote, "Too few replicas or files had the messages in time: \(reply).")
      }
    }

    /// An error of the server's, or an answer that makes no sense.
    private func unexpected(_ reply: RemoteReply) -> LarderError {
      if case .error("WRONGTYPE") = reply {
        return LarderError(
          .configurationMismatch, "The stream's key holds something that is no stream.")
      }
      return LarderError(.remote, "The server answered with \(reply) to what the stream was sent.")
    }
  }
#endif
