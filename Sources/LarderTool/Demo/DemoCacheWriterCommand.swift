// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// The process that the demo kills: stores values for ever, and reports each number on its standard
/// output once the set has returned, as eight bytes, least significant first.
struct DemoCacheWriterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-cache-writer",
    abstract: "Store values until killed. A part of the demo.",
    shouldDisplay: false)

  @Argument var folder: String

  func run() throws {
    let cache = try DemoDiskCache.open(folder)
    var number = try DemoDiskCache.inspect(cache).newest
    while true {
      number += 1
      try cache.set(DemoDiskCache.value(number), forKey: DemoDiskCache.key(number))
      // A pipe takes eight bytes whole or not at all.
      try withUnsafeBytes(of: number.littleEndian) { try StandardOutput.writeThrough($0) }
    }
  }
}
