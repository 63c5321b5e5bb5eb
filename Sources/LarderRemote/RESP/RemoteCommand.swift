// SPDX-License-Identifier: MIT

#if Remote
  /// A command for a server: its name and its arguments.
  ///
  /// Its description is its name alone: arguments are keys, values and credentials.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteCommand: Sendable, Equatable {
    /// The name of the command, without its arguments.
    public let name: String
    /// What follows the name.
    public let arguments: [[UInt8]]

    /// Makes a command.
    ///
    /// - Parameters:
    ///   - name: Its name, `GET` for example.
    ///   - arguments: What follows the name.
    /// - Complexity: O(1).
    public init(_ name: String, _ arguments: [[UInt8]] = []) {
      self.name = name
      self.arguments = arguments
    }

    /// One whose arguments are all text.
    init(_ name: String, _ arguments: String...) {
      self.init(name, arguments.map { Array($0.utf8) })
    }

    /// As many bytes as `encode(into:)` adds, or more.
    var size: Int { arguments.reduce(32 + name.utf8.count) { $0 + $1.count + 16 } }

    /// Adds the command as it goes over the wire: an array of bulk strings.
    ///
    /// - Complexity: O(bytes).
    func encode(into bytes: inout [UInt8]) {
      bytes.append("*", arguments.count + 1)
      bytes.append("$", name.utf8.count)
      bytes += name.utf8
      bytes.appendLineEnd()
      for argument in arguments {
        bytes.append("$", argument.count)
        bytes += argument
        bytes.appendLineEnd()
      }
    }
  }

  extension [UInt8] {
    /// A kind, a count and the end of the line; interpolation takes many times as long.
    fileprivate mutating func append(_ kind: Unicode.Scalar, _ count: Int) {
      append(UInt8(ascii: kind))
      var divisor = 1
      while count / divisor >= 10 { divisor *= 10 }
      while divisor > 0 {
        append(UInt8(ascii: "0") + UInt8(count / divisor % 10))
        divisor /= 10
      }
      appendLineEnd()
    }

    fileprivate mutating func appendLineEnd() {
      append(UInt8(ascii: "\r"))
      append(UInt8(ascii: "\n"))
    }
  }

  extension RemoteCommand: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
  {
    /// The name of the command.
    public var description: String { name }

    /// As ``description``.
    public var debugDescription: String { name }

    /// The name alone.
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
  }
#endif
