// SPDX-License-Identifier: MIT
import Foundation

/// A file to append, or the standard input.
struct InputFile {
  let name: String
  /// `nil` for the standard input.
  let path: String?
  /// `nil` if it is not a regular file, so that nobody knows.
  let size: UInt64?

  /// The inputs that arguments name, all looked at before the first is read, so that a mistyped
  /// name does not leave half a job done.
  static func list(_ arguments: [String]) throws -> [InputFile] {
    try (arguments.isEmpty ? ["-"] : arguments).map { argument in
      let isStandardInput = argument == "-"
      var status = stat()
      let found =
        isStandardInput ? fstat(STDIN_FILENO, &status) : stat(argument, &status)
      guard found == 0 else { throw ToolFailure(errno: errno, doing: "\(argument): cannot read") }
      guard status.st_mode & S_IFMT != S_IFDIR else {
        throw ToolFailure(errno: EISDIR, doing: "\(argument): cannot read")
      }
      let isRegular = status.st_mode & S_IFMT == S_IFREG
      return InputFile(
        name: isStandardInput ? "standard input" : argument,
        path: isStandardInput ? nil : argument,
        size: isRegular ? UInt64(max(0, status.st_size)) : nil)
    }
  }

  /// Opens the file for as long as `body` runs.
  func withDescriptor<R>(_ body: (CInt) throws -> R) throws -> R {
    guard let path else { return try body(STDIN_FILENO) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ToolFailure(errno: errno, doing: "\(path): cannot read") }
    defer { close(descriptor) }
    return try body(descriptor)
  }
}
