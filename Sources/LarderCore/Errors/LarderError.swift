// SPDX-License-Identifier: MIT

/// The one error type of Larder.
///
/// `code` is for programs, `message` for people: one sentence with the path and
/// the numbers, and what to do where there is something to do. No message, key
/// or value of yours is ever part of it, except the primary key of an archive's
/// element that cannot be decoded, by which it can be deleted. A failure of the system keeps its
/// `errno`, a failure of a coder its own error in `cause`: the path of a
/// `DecodingError` names properties and hides keys of dictionaries, but what a coder
/// says in words may quote a value. The `cause` of an archive's `.duplicate` has the primary key of
/// the element that is in the way.
///
/// ```swift
/// do {
///   try log.append(message)
/// } catch let error as LarderError where error.code == .full {
///   // A log that refuses when full: read, acknowledge, remove, try again.
/// }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LarderError: Error, Sendable, CustomStringConvertible {
  /// Where in Larder's own source an error was made.
  ///
  /// Useful in a report to the people who maintain Larder.
  public struct Location: Sendable, Hashable, CustomStringConvertible {
    /// Module and file, as `#fileID` gives them.
    public let file: String
    /// The line in that file, counted from 1.
    public let line: Int
    /// The function around it.
    public let function: String

    /// `file:line function`.
    public var description: String { "\(file):\(line) \(function)" }
  }

  /// What went wrong, for programs.
  public var code: Code

  /// What went wrong, for people: one sentence.
  public var message: String

  /// The error underneath, if there is one: what a coder threw, for example. In the
  /// path of a `DecodingError`, `…` stands for a key of a dictionary.
  public var cause: (any Error)?

  /// Where in Larder the error was made.
  public var location: Location

  /// The system's error number, if the system reported the failure.
  public var errno: CInt?

  /// Makes an error.
  ///
  /// For coders and tests that want to throw what Larder throws.
  ///
  /// - Parameters:
  ///   - code: What went wrong.
  ///   - message: One sentence for people.
  ///   - cause: The error underneath; nil if there is none.
  ///   - errno: The system's error number; nil if the system has no part in it.
  ///   - file: The file that reports it; the caller's by default.
  ///   - line: The line that reports it; the caller's by default.
  ///   - function: The function that reports it; the caller's by default.
  /// - Complexity: O(1).
  public init(
    _ code: Code, _ message: String, cause: (any Error)? = nil, errno: CInt? = nil,
    file: StaticString = #fileID, line: UInt = #line, function: StaticString = #function
  ) {
    self.code = code
    self.message = message
    self.cause = cause?.withoutKeys
    self.errno = errno
    self.location = Location(
      file: file.description, line: Int(clamping: line), function: function.description)
  }

  /// For a key that is not equal to itself, and so to no other.
  package static func noKey(_ type: Any.Type) -> LarderError {
    LarderError(
      .encoding,
      "A key of type \(type) is not equal to itself, as numbers are that are not a number.")
  }

  /// Code, message and cause in one line.
  public var description: String {
    let because = cause.map { " (\($0))" } ?? ""
    return "\(code): \(message)\(because)"
  }
}
