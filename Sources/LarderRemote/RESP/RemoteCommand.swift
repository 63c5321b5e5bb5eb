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

    /// Adds the command as it goes over the wire: an array of bulk strings.
    ///
    /// - Complexity: O(bytes).
    func encode(into bytes: inout [UInt8]) {
      var size = 32 + name.utf8.count
      for argument in arguments { size += argument.count + 16 }
      bytes.reserveCapacity(bytes.count + size)
      bytes += "*\(arguments.count + 1)\r\n$\(name.utf8.count)\r\n\(name)\r\n".utf8
      for argument in arguments {
        bytes += "$\(argument.count)\r\n".utf8
        bytes += argument
        bytes += "\r\n".utf8
      }
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
