// SPDX-License-Identifier: MIT
import ArgumentParser

/// For commands that write to files which are there already.
package struct OtherUsers: ParsableArguments {
  @Flag(
    name: .customLong("trust-others"),
    help: "Write to it although another user owns it, or every user may write to it.")
  package var areTrusted = false

  package init() {}
}
