// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct EntryGet: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Print one value of an entry.",
    discussion: """
      Prints the bytes of the value as they are, with nothing behind them. Values are numbered \
      from 0; where entries have only one, its number can be left out. Leaves no trace in the \
      order of use. Exits with 3 if there is no such entry, or it has expired.

      EXAMPLES
        larder entry get pages.entries home 0         the first value
        larder entry get pages.entries home 1 | wc -c
        larder entry get --int images.entries 4711 0 > image.png
      """)

  @Argument(help: "The entry cache's folder.", completion: .directory)
  var folder: String

  @Argument(help: "The key.")
  var key: String

  @Argument(help: "The number of the value, from 0.")
  var index: Int?

  @Flag(name: .long, help: "Print control characters as they are on a terminal, too.")
  var raw = false

  @OptionGroup var keys: CacheKeys

  func validate() throws {
    _ = try keys.bytes(key)
    if let index, index < 0 { throw ValidationError("Values are numbered from 0, not \(index).") }
  }

  func run() throws {
    let (cache, valueCount) = try EntryFolder.read(folder)
    guard let index = index ?? (valueCount == 1 ? 0 : nil), index < valueCount else {
      throw ToolFailure(
        "\(folder): its entries have \(Quantity.count(valueCount, "value")); say which one, "
          + "0 to \(valueCount - 1)")
    }
    let bytes = try keys.bytes(key)
    guard let entry = try read(bytes, from: cache) else {
      let hint = keys.hint(key) { try cache.contains($0) }
      StandardError.note("\(folder): there is no entry under \(keys.text(bytes))\(hint)")
      throw ExitCode(ToolExit.missing)
    }
    guard let lengths = EntryFolder.lengths(entry.info, valueCount: valueCount),
      entry.info.size == entry.value.count
    else {
      throw ToolFailure(
        "\(folder): what is under \(keys.text(bytes)) was not written by an entry cache; "
          + "larder cache get prints its bytes")
    }
    let start = lengths[..<index].reduce(0, +)
    var output = StandardOutput(raw: raw)
    try entry.value.withUnsafeBytes {
      try output.write(UnsafeRawBufferPointer(rebasing: $0[start..<start + lengths[index]]))
    }
    try output.flush()
  }

  /// Head and values of one version of the entry.
  private func read(
    _ key: Data, from cache: RawCache
  ) throws -> (info: DiskCacheInfo<Data>, value: Data)? {
    while let info = try cache.info(forKey: key), let value = try cache.peek(forKey: key) {
      // A program may have written it again in between.
      if try cache.info(forKey: key)?.version == info.version { return (info, value) }
    }
    return nil
  }
}
