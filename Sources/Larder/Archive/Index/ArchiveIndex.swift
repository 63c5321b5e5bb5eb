// SPDX-License-Identifier: MIT

/// What the elements of an ``Archive`` are found by besides their primary key: the value of
/// one of their properties.
///
/// ```swift
/// let archive = try Archive<Person>(
///   path: folder,
///   indexes: [ArchiveIndex("age", \.age), ArchiveIndex("name", \.name)])
/// ```
///
/// The store keeps it with every write, in the same transaction as the element. Queries use
/// it by themselves where they can: `explain()` of a query says which. An archive whose indexes
/// are not those that it is opened with builds them from all elements, once.
///
/// Values may be anything that is ``ArchiveIndexable``: numbers, texts, dates, UUIDs, data,
/// enumerations with raw values, and optional ones of these.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveIndex<Element: Sendable>: Sendable {
  /// The most bytes of a value that are kept. What is longer is found by those, looked at
  /// again, and put into its order by the query.
  static var maximumCount: Int { 1_000 }

  /// The name that the index goes by.
  public let name: String

  /// The property.
  let keyPath: any PartialKeyPath<Element> & Sendable

  /// What the store calls the index: made of the name.
  let number: UInt16

  /// What tells two declarations apart that need other bytes.
  let declaration: String

  /// Whether bytes are in the order of the values.
  let keepsOrder: Bool

  /// What Foundation would sort by the property with.
  let comparators: ArchiveIndexComparators<Element>

  private let make: @Sendable (Element) -> [UInt8]

  /// Declares an index.
  ///
  /// - Parameters:
  ///   - name: What it goes by. The store knows it by a number of 16 bits made of the name:
  ///     should two names of one archive have the same one, opening it throws
  ///     `.invalidArgument`, and one of them has to change.
  ///   - keyPath: The property, stored or computed, of the element or of something in it.
  ///   - version: To be changed when the property gives other values than before for elements
  ///     that are stored already, be it that it computes something else, or that they are decoded
  ///     otherwise; 0 by default. Most such changes are noticed without it: see <doc:Archives>.
  /// - Complexity: O(1).
  public init<Value: ArchiveIndexable>(
    _ name: String, _ keyPath: any KeyPath<Element, Value> & Sendable, version: Int = 0
  ) {
    self.name = name
    self.keyPath = keyPath
    number = Self.number(of: name)
    declaration = ArchiveDeclaration.text(
      name: name, version: version, [(keyPath as KeyPath<Element, Value>, Value.self)])
    keepsOrder = Value.archiveIndexKeepsOrder
    comparators = ArchiveIndexComparators(keyPath)
    make = { element in
      let bytes = element[keyPath: keyPath].archiveIndexBytes
      return bytes.count <= Self.maximumCount ? bytes : Array(bytes.prefix(Self.maximumCount))
    }
  }

  /// What the element is found by: bytes in the order of the values.
  func bytes(of element: Element) -> [UInt8] { make(element) }

  /// FNV-1a of the name, 32 bits folded to 16; 1 for 0, which is that of `unindexed`.
  private static func number(of name: String) -> UInt16 {
    let hash = name.utf8.reduce(UInt32(0x811C_9DC5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    return max(1, UInt16(truncatingIfNeeded: hash ^ hash >> 16))
  }

  /// What elements are found by that could not be decoded when the indexes were built: the only
  /// value that they have, without bytes, in an index of its own.
  static var unindexed: StoreIndexValue { StoreIndexValue(index: 0, bytes: []) }
}
