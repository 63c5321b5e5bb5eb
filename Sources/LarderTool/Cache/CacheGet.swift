// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheGet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Print the value under a key.",
    discussion: """
      Prints the bytes of the value as they are, with nothing behind them. A value that is CBOR, \
      which Codable types are unless their cache was made with another coder, comes out as JSON \
      and a newline: dates as text, bytes as base64url; --raw prints what is stored. Leaves no \
      trace in the order of use. Exits with 3 if there is no such entry, or it has expired.

      EXAMPLES
        larder cache get pages.cache https://swift.org/ > page.html
        larder cache get --int users.cache 4711 | jq .name
        larder cache get --extended pages.cache https://swift.org/
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Argument(help: "The key.")
  var key: String

  @Flag(name: .long, help: "Print the extended data that was stored with the value instead.")
  var extended = false

  @Flag(
    name: .long,
    help: """
      Print the bytes of the value as they are stored: CBOR not as JSON, and control characters \
      as they are on a terminal, too.
      """)
  var raw = false

  @OptionGroup var keys: CacheKeys

  func validate() throws { _ = try keys.bytes(key) }

  func run() throws {
    let cache = try CacheFolder.read(folder)
    let bytes = try keys.bytes(key)
    var output = StandardOutput(raw: raw)
    if extended {
      guard let info = try cache.info(forKey: bytes) else { throw missing(bytes, in: cache) }
      try info.extendedData?.withUnsafeBytes { try output.write($0) }
    } else {
      guard let value = try cache.peek(forKey: bytes) else { throw missing(bytes, in: cache) }
      try value.withUnsafeBytes { value in
        if try !raw && cache.statistics.format == "cbor" {
          try writeJSON(value, to: &output)
        } else {
          try output.write(value)
        }
      }
    }
    try output.flush()
  }

  private func missing(_ bytes: Data, in cache: RawCache) -> ExitCode {
    let hint = keys.hint(key) { try cache.contains($0) }
    StandardError.note("\(folder): there is no entry under \(keys.text(bytes))\(hint)")
    return ExitCode(ToolExit.missing)
  }

  private func writeJSON(
    _ value: UnsafeRawBufferPointer, to output: inout StandardOutput
  ) throws {
    var cbor = CBORText()
    do {
      try cbor.convert(value)
    } catch DecodingError.dataCorrupted(let context) {
      throw ToolFailure(
        "\(folder): the value is not valid CBOR: \(context.debugDescription); "
          + "--raw prints its bytes"
      )
    }
    try cbor.json.withUnsafeBytes { try output.write($0) }
    try output.write(byte: UInt8(ascii: "\n"))
  }
}
