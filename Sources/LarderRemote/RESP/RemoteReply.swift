// SPDX-License-Identifier: MIT

#if Remote
  /// What a server answers to a command, as RESP3 has it.
  ///
  /// Its description never has any content: replies hold values of yours.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum RemoteReply: Sendable, Equatable {
    /// Nothing: an absent key, for example.
    case null
    /// A short text that the server made, `OK` for example.
    case status(String)
    /// An error of the server's: its first word, `ERR` for example. The rest is dropped, as servers
    /// quote there what they were sent. Of `MOVED` and `ASK`, with which a server of a cluster
    /// names another one, also the slot and the address.
    case error(String)
    /// A whole number.
    case integer(Int64)
    /// A number with a fraction.
    case double(Double)
    /// Yes or no.
    case boolean(Bool)
    /// Bytes: a value or a key.
    case bytes([UInt8])
    /// Several replies in order; of a set in any order.
    case array([RemoteReply])
    /// Keys and values by turns.
    case map([RemoteReply])
    /// What the server sends unasked: its kind, and then what belongs to it.
    case push([RemoteReply])
  }

  extension RemoteReply: CustomStringConvertible, CustomDebugStringConvertible {
    /// The kind of reply, and how much it holds.
    public var description: String {
      switch self {
      case .null: "null"
      case .status: "a status"
      case .error(let word): "the error \(word)"
      case .integer: "an integer"
      case .double: "a double"
      case .boolean: "a boolean"
      case .bytes(let bytes): "\(bytes.count) bytes"
      case .array(let elements): "an array of \(elements.count)"
      case .map(let elements): "a map of \(elements.count / 2)"
      case .push(let elements): "a push of \(elements.count)"
      }
    }

    /// As ``description``.
    public var debugDescription: String { description }
  }
#endif
