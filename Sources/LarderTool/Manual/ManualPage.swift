// SPDX-License-Identifier: MIT

/// The page `larder(1)`, in the macros of man(7), made of what the help says.
struct ManualPage {
  private(set) var text = ""

  init(_ tool: ManualSource, version: String) {
    macro("TH", tool.commandName.uppercased(), "1", "", "Larder \(version)")
    macro("SH", "NAME")
    line("\(tool.commandName) \\- \(Self.escaped(Self.phrase(tool.abstract)))", isEscaped: true)
    macro("SH", "SYNOPSIS")
    macro("B", tool.commandName)
    line("COMMAND [ARGUMENTS] [OPTIONS]")
    macro("SH", "DESCRIPTION")
    for command in Self.displayed(tool) {
      macro("TP")
      macro("B", "\(tool.commandName) \(command.commandName)")
      line(command.abstract ?? "")
    }
    discuss(tool.discussion)
    macro("SH", "COMMANDS")
    line("Each of them has --help as well.")
    for command in Self.displayed(tool) { add(command, below: tool.commandName) }
  }

  private static func displayed(_ command: ManualSource) -> [ManualSource] {
    (command.subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
  }

  private mutating func add(_ command: ManualSource, below parent: String) {
    let name = "\(parent) \(command.commandName)"
    let subcommands = Self.displayed(command)
    let arguments = (command.arguments ?? [])
      .filter { $0.shouldDisplay && $0.names?.contains { $0.name == "help" } != true }
    macro("SS", name)
    line(command.abstract ?? "")
    if subcommands.isEmpty {
      macro("PP")
      macro("B", name)
      let isOption = { (argument: ManualSource.Argument) in argument.kind != "positional" }
      line(
        (arguments.contains(where: isOption) ? "[OPTIONS] " : "")
          + arguments.filter { !isOption($0) }.map(Self.synopsis).joined(separator: " "))
    }
    discuss(command.discussion)
    for argument in arguments {
      macro("TP")
      macro("B", Self.label(argument))
      let value = argument.defaultValue.map { " (default: \($0))" } ?? ""
      line((argument.abstract ?? "") + value)
    }
    for subcommand in subcommands { add(subcommand, below: name) }
  }

  private static func synopsis(_ argument: ManualSource.Argument) -> String {
    let name = (argument.valueName ?? "").uppercased() + (argument.isRepeating ? "..." : "")
    return argument.isOptional ? "[\(name)]" : name
  }

  private static func label(_ argument: ManualSource.Argument) -> String {
    guard let names = argument.names, !names.isEmpty else { return synopsis(argument) }
    let all = names.map(\.text).joined(separator: ", ")
    return argument.kind == "option" ? "\(all) \((argument.valueName ?? "").uppercased())" : all
  }

  /// As NAME has it: without a full stop.
  private static func phrase(_ sentence: String?) -> String {
    var sentence = sentence ?? ""
    if sentence.hasSuffix(".") { sentence.removeLast() }
    return sentence.prefix(1).lowercased() + sentence.dropFirst()
  }

  /// Paragraphs; lines that are indented stay as they are, and a line in capitals is a heading.
  private mutating func discuss(_ discussion: String?) {
    var isVerbatim = false
    macro("PP")
    for part in (discussion ?? "").split(separator: "\n", omittingEmptySubsequences: false) {
      let isIndented = part.hasPrefix("  ")
      if isIndented != isVerbatim {
        macro(isIndented ? "nf" : "fi")
        isVerbatim = isIndented
      }
      if part.isEmpty {
        macro("PP")
      } else if part.allSatisfy({ $0.isUppercase || $0 == " " }) {
        macro("B", String(part))
        macro("PP")
      } else {
        line(String(part))
      }
    }
    if isVerbatim { macro("fi") }
  }

  private mutating func macro(_ name: String, _ arguments: String...) {
    text += ".\(name)"
    for argument in arguments {
      text += " \"\(Self.escaped(argument).replacing("\"", with: "\\(dq"))\""
    }
    text += "\n"
  }

  private mutating func line(_ line: String, isEscaped: Bool = false) {
    if line.isEmpty { return }
    text += (isEscaped ? line : Self.escaped(line)) + "\n"
  }

  /// Text that is nothing but itself.
  private static func escaped(_ text: String) -> String {
    let escaped = text.map { character in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      default: String(character)
      }
    }.joined()
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}
