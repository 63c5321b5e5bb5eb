// SPDX-License-Identifier: MIT

// A server as a user would write it, as far as the traits go: LarderServerTests run it.

import Foundation

#if Logging
  let arguments = Array(CommandLine.arguments.dropFirst())
  switch arguments.first {
  case "log" where arguments.count == 4:
    try logFromThreads(arguments[1], Int(arguments[2]) ?? 0, Int(arguments[3]) ?? 0)
  case "level" where arguments.count == 3: try logAtLevel(arguments[1], arguments[2])
  #if Configuration && Metrics && ServiceLifecycle
    case "serve" where arguments.count == 2:
      try await serve(from: URL(fileURLWithPath: arguments[1]))
      say("closed")
  #endif
  default: exit(64)
  }
#endif
