// SPDX-License-Identifier: MIT

/// A command line that cannot be carried out.
public struct UsageError: Error, CustomStringConvertible {
  /// Why not.
  public let description: String

  /// With a reason.
  public init(_ description: String) { self.description = description }
}

/// The words of a command line, one after the other.
public struct CommandLineWords {
  private var rest: ArraySlice<String>
  private var last = ""

  /// All of them are to come.
  public init(_ words: some Sequence<String>) { rest = Array(words)[...] }

  /// The next one; nil behind the last one.
  public mutating func next() -> String? {
    let next = rest.popFirst()
    last = next ?? last
    return next
  }

  /// What an option, which came last, is to be.
  public mutating func value() throws(UsageError) -> String {
    guard let next = rest.popFirst() else { throw UsageError("\(last) needs a value") }
    return next
  }

  /// The same if it is to be a number.
  public mutating func number() throws(UsageError) -> UInt64 {
    let text = try value()
    guard let number = UInt64(text) else {
      throw UsageError("\(last) takes a number, not '\(text)'")
    }
    return number
  }

  /// Or one of some names.
  public mutating func choice<Choice: RawRepresentable<String>>(
    _ kind: String, _ choices: Choice.Type
  ) throws(UsageError) -> Choice {
    let name = try value()
    guard let choice = Choice(rawValue: name) else {
      throw UsageError("no \(kind) is called '\(name)'")
    }
    return choice
  }

  /// All that are left.
  public mutating func all() -> [String] {
    defer { rest = [] }
    return Array(rest)
  }
}
