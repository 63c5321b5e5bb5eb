// SPDX-License-Identifier: MIT
import Foundation

// Hurts a cache over a server in every way it must survive, and checks that no read was older than
// promised: what Tests/LarderTorture does to entries and archives. Two families: machines that are
// processes, with a real server, and machines that are simulated, thousands of times a minute. One
// checker judges both.

@main
struct Torture {
  static func main() {
    #if Remote
      do {
        let options = try Options(CommandLine.arguments.dropFirst())
        exit(try options.carryOut())
      } catch let error as UsageError {
        complain("\(error.message); see --help", code: 64)
      } catch {
        complain("\(error)", code: 2)
      }
    #else
      complain("this needs the trait Remote", code: 64)
    #endif
  }

  private static func complain(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("larder-remote-torture: \(message)\n".utf8))
    exit(code)
  }
}

/// A command line that cannot be carried out.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
