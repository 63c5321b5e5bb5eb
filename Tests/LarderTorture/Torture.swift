// SPDX-License-Identifier: MIT
import Foundation

// Hurts entries and archives in every way that they have to survive, and counts what did not hold:
// what Tests/Torture does to the C core, for what is written in Swift. Three kinds of process take
// part: the one that was started prints; it starts one for each family, a worker, whose crash is a
// failure like any other; and the workers of the family `kill` start victims, and kill them.

@main
struct Torture {
  static func main() {
    do {
      if let orders = try Orders(CommandLine.arguments.dropFirst()) {
        try orders.carryOut()
        return
      }
      let options = try Options(CommandLine.arguments.dropFirst())
      if options.isHelp {
        print(Options.usage)
      } else {
        exit(try Supervisor(options).run())
      }
    } catch let error as UsageError {
      complain("\(error.message); see --help", code: 64)
    } catch {
      complain("\(error)", code: 2)
    }
  }

  private static func complain(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("larder-torture: \(message)\n".utf8))
    exit(code)
  }
}
