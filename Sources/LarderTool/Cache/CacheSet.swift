// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheSet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Store a value under a key.",
    discussion: """
      Stores the value, or else all of the standard input, in place of what was there. A missing \
      cache is created. A cache whose values are CBOR, or of another format that is no text, takes \
      none that is not made by its coder: --raw says that this one is. No other process may have \
      the cache open for writing.

      EXAMPLES
        larder cache set tokens.cache ada s3cret --expires 1h
        curl -s https://swift.org/ | larder cache set pages.cache https://swift.org/
        larder cache get --raw a.cache key | larder cache set --raw b.cache key
      """)

  @Argument(help: "The cache's folder; created if it is missing.", completion: .directory)
  var folder: String

  @Argument(help: "The key.")
  var key: String

  @Argument(help: "The value. None, or -, is the standard input.")
  var value: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long the entry lives: 90s, 5m, 12h, 30d or never. (default: as its program says)",
      valueName: "duration"),
    transform: Lifetime.init)
  var expires: Lifetime?

  @Option(
    name: .long, help: ArgumentHelp("Text that is kept with the value.", valueName: "text"))
  var extended: String?

  @Flag(name: .long, help: "The value is in the cache's own format already.")
  var raw = false

  @OptionGroup var keys: CacheKeys

  func validate() throws { _ = try keys.bytes(key) }

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    let bytes = try keys.bytes(key)
    let value = try readValue()
    let cache = try CacheFolder.write(folder, others: others, creates: true)
    let statistics = try cache.statistics
    guard case .cache(let format) = StoreKind(statistics) else {
      throw LarderError(
        .configurationMismatch,
        "\(folder) is \(StoreKind(statistics).name), and a single value is nothing for it.")
    }
    guard raw || ContentFormat.takesText(format) else {
      throw LarderError(
        .configurationMismatch,
        "\(folder) holds values of the format \"\(format)\", and other bytes are not. Store it "
          + "with a program that uses this coder, or with --raw if it is in that format.")
    }
    try cache.set(
      value, forKey: bytes, extendedData: extended.map { Data($0.utf8) },
      expiration: expires?.expiration)
    try cache.close()
  }

  /// All of it, before the cache is opened: a slow input is not to hold it.
  private func readValue() throws -> Data {
    if let value, value != "-" { return Data(value.utf8) }
    return try InputFile("-", writingTo: folder).readAll()
  }
}
