// SPDX-License-Identifier: MIT
package import Foundation

/// A file to append, or the standard input.
package struct InputFile {
  let name: String
  /// `nil` for the standard input.
  let path: String?
  /// `nil` if it is not a regular file, so that nobody knows.
  let size: UInt64?
  /// What another process writes, which ends when that does.
  let isPipe: Bool

  /// - Parameters:
  ///   - argument: A path, or `-` for the standard input.
  ///   - target: The log or the folder that what is read goes into.
  /// - Throws: `ToolFailure` if it cannot be read, or is of the target itself.
  package init(_ argument: String, writingTo target: String) throws {
    path = argument == "-" ? nil : argument
    name = path ?? "standard input"
    if path == nil { try StandardStreams.requireInput() }
    var status = stat()
    let found = path.map { stat($0, &status) } ?? fstat(STDIN_FILENO, &status)
    guard found == 0 else { throw ToolFailure(errno: errno, doing: "\(name): cannot read") }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw ToolFailure(errno: EISDIR, doing: "\(name): cannot read")
    }
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    // It would grow as it is read, and what it had would be overwritten.
    guard !isRegular || !FileIdentity(status).isPart(of: target) else {
      throw ToolFailure("\(name): input file is output file, \(target)")
    }
    size = isRegular ? UInt64(max(0, status.st_size)) : nil
    isPipe = [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
  }

  /// The inputs that arguments name, all looked at before the first is read, so that a mistyped
  /// name does not leave half a job done.
  static func list(_ arguments: [String], writingTo target: String) throws -> [InputFile] {
    try (arguments.isEmpty ? ["-"] : arguments).map { try InputFile($0, writingTo: target) }
  }

  /// Reads it to its end.
  package func readAll() throws -> Data {
    try withDescriptor { descriptor in
      var content = Data()
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        _ = Interruption.waitForInput(descriptor)
        let count = Foundation.read(descriptor, &chunk, chunk.count)
        if count == 0 { return content }
        if count > 0 {
          content.append(contentsOf: chunk[..<count])
        } else if errno != EINTR && errno != EAGAIN {
          throw ToolFailure(errno: errno, doing: "\(name): cannot read")
        }
      }
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
