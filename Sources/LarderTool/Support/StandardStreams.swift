// SPDX-License-Identifier: MIT
import Foundation

/// The standard input, output and error that the tool was started with.
package enum StandardStreams {
  /// Opens what is closed of them so that reading the input and writing the others still fails as
  /// if it were closed. To be called first: else the next file that is opened would be one of them.
  package static func occupyClosed() {
    let streams = [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    for (stream, direction) in streams where fcntl(stream, F_GETFD) < 0 {
      // The lowest number that is free, which is this one.
      _ = open("/dev/null", direction)
    }
  }

  /// - Throws: `ToolFailure` if the standard input cannot be read at all.
  static func requireInput() throws {
    let flags = fcntl(STDIN_FILENO, F_GETFL)
    guard flags >= 0, flags & O_ACCMODE != O_WRONLY else {
      throw ToolFailure("standard input: cannot read: it is closed, or open for writing only")
    }
  }

  /// - Throws: `ToolFailure` if the standard output goes into the log or the folder at `path`,
  ///   which the output would destroy.
  package static func requireOutput(outside path: String) throws {
    var status = stat()
    guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      FileIdentity(status).isPart(of: path)
    else { return }
    throw ToolFailure("\(path): output file is input file; send the output elsewhere")
  }
}
