// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

/// The process that the demo kills: appends for ever, and reports each number on its standard
/// output once the append has returned, as eight bytes, least significant first.
struct DemoWriterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-writer",
    abstract: "Append until killed. A part of the demo.",
    shouldDisplay: false)

  @Argument var file: String

  func run() throws {
    let log = try DemoKill.open(URL(fileURLWithPath: file))
    var number = try log.statistics.nextSequence
    while true {
      var acknowledged = try log.append(DemoMessage.make(number)).littleEndian
      number += 1
      // A pipe takes eight bytes whole or not at all.
      try withUnsafeBytes(of: &acknowledged) { try StandardOutput.writeThrough($0) }
    }
  }
}
