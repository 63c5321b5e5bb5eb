// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// The options of every `ls`, and what they print.
struct EntryListing: ParsableArguments {
  @Option(name: .long, help: "Only keys that begin like this.")
  var prefix: String?

  @Option(
    name: [.customShort("n", allowingJoined: true), .long], help: "Only so many, the first ones.")
  var limit: UInt64?

  @Flag(
    name: .long,
    help: """
      The least recently used first; where the order of use is not kept, the one that was written \
      first.
      """)
  var recency = false

  @Flag(name: [.customShort("r"), .long], help: "In the opposite order.")
  var reverse = false

  @Flag(name: .shortAndLong, help: "Size, time of writing and end before each key.")
  var long = false

  @Flag(
    name: .long,
    help: """
      Print one JSON object a line: "key", "size", "version", "written", "expires" (null for \
      never).
      """)
  var json = false

  @OptionGroup var keys: CacheKeys

  func validate() throws {
    if json && long { throw ValidationError("--json goes without --long.") }
    guard let prefix else { return }
    if recency { throw ValidationError("--prefix lists by key, so not with --recency.") }
    if keys.int { throw ValidationError("Numbers have no prefixes: --prefix goes without --int.") }
    _ = try keys.bytes(prefix)
  }

  /// Lists what is in a folder.
  ///
  /// - Parameters:
  ///   - end: When an entry ends; nil for never.
  ///   - describe: Adds to a JSON object what only such a folder has.
  func run(
    _ folder: String, _ cache: RawCache, end: (DiskCacheInfo<Data>) -> Date? = \.expires,
    describe: (DiskCacheInfo<Data>, inout JSONObject) -> Void
  ) throws {
    let selection: DiskCacheSelection<Data> =
      try prefix.map { .prefix(try keys.bytes($0)) } ?? .all
    let order: StoreOrder =
      recency
      ? (reverse ? .mostRecentFirst : .leastRecentFirst) : (reverse ? .byKeyDescending : .byKey)
    var output = StandardOutput()
    var remaining = limit ?? .max
    var areNumbers = true
    var isEmpty = true
    var damage: LarderError?
    if remaining > 0 {
      damage = try cache.forEachInfo(selection, order: order) { info in
        if json {
          try object(info, end(info), describe).write(to: &output)
        } else {
          try output.write(line(info, end(info)))
        }
        areNumbers = areNumbers && keys.looksLikeNumber(info.key)
        isEmpty = false
        remaining -= 1
        return remaining > 0
      }
    }
    try output.flush()
    if areNumbers && !isEmpty {
      StandardError.note("\(folder): its keys look like numbers; --int shows them so")
    }
    try CacheText.endAtDamage(damage)
  }

  private func object(
    _ info: DiskCacheInfo<Data>, _ expires: Date?,
    _ describe: (DiskCacheInfo<Data>, inout JSONObject) -> Void
  ) -> JSONObject {
    var object = JSONObject()
    object.add("key", keys.text(info.key))
    object.add("size", info.size)
    describe(info, &object)
    object.add("version", info.version)
    object.add("written", info.written.timeIntervalSince1970)
    if let expires {
      object.add("expires", expires.timeIntervalSince1970)
    } else {
      object.add("expires", nil as UInt64?)
    }
    return object
  }

  private func line(_ info: DiskCacheInfo<Data>, _ expires: Date?) -> String {
    let key = keys.text(info.key)
    guard long else { return key + "\n" }
    let size = Quantity.bytes(UInt64(info.size))
    let expires = expires?.formatted(.iso8601) ?? "never"
    return String(repeating: " ", count: max(0, 11 - size.count)) + size
      + "  \(info.written.formatted(.iso8601))  " + expires
      + String(repeating: " ", count: max(0, 20 - expires.count)) + "  \(key)\n"
  }
}
