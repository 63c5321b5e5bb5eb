// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation

/// What the argument parser knows of a command: what its help says.
struct ManualSource: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable {
      let kind: String
      let name: String

      var text: String { (kind == "long" ? "--" : "-") + name }
    }

    let kind: String
    let shouldDisplay: Bool
    let isOptional: Bool
    let isRepeating: Bool
    let names: [Name]?
    let valueName: String?
    let defaultValue: String?
    let abstract: String?
  }

  let commandName: String
  let shouldDisplay: Bool
  let abstract: String?
  let discussion: String?
  let subcommands: [ManualSource]?
  let arguments: [Argument]?

  /// Of the whole tool.
  static func read() throws -> ManualSource {
    struct Description: Decodable { let command: ManualSource }
    do {
      _ = try LarderCommand.parseAsRoot(["--experimental-dump-help"])
    } catch  where LarderCommand.exitCode(for: error) == .success {
      let json = Data(LarderCommand.fullMessage(for: error).utf8)
      return try JSONDecoder().decode(Description.self, from: json).command
    }
    // Unreachable, as long as the parser knows this option.
    throw ValidationError("The argument parser does not describe itself.")
  }
}
