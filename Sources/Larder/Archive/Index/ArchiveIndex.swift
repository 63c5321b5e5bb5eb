// SPDX-License-Identifier: MIT

/// What the elements of an ``Archive`` are found by besides their primary key: the value of
/// one of their properties, or of several.
///
/// ```swift
/// let archive = try Archive<Person>(
///   path: folder,
///   indexes: [ArchiveIndex("age", \.age), ArchiveIndex("cityName", \.city, \.name)])
/// ```
///
/// An index of several properties is sorted by the first one, then by the next. It helps with
/// equality of the first ones, a range of the one behind them, and the order of those that
/// follow: here with those of one city whose names begin with "A", in the order of names, and as
/// well with those of one city.
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

  /// What the store calls the index: made of the name.
  let number: UInt16

  /// What tells two declarations apart that need other bytes.
  let declaration: String

  /// The properties, and what the planner has to know of them.
  let shape: ArchiveIndexShape

  /// What Foundation would sort by each property with.
  let comparators: [ArchiveIndexComparators<Element>]

  /// Whether no two elements may have the same value, unless it is nil.
  public let isUnique: Bool

  private let make: @Sendable (Element) -> [UInt8]
  /// Whether one of the properties is nil.
  private let hasNil: @Sendable (Element) -> Bool

  /// Declares an index.
  ///
  /// - Parameters:
  ///   - name: What it goes by. The store knows it by a number of 16 bits made of the name:
  ///     should two names of one archive have the same one, opening it throws
  ///     `.invalidArgument`, and one of them has to change.
  ///   - keyPath: The property, stored or computed, of the element or of something in it.
  ///   - isUnique: Whether no two elements may have the same value; false by default. Any number
  ///     may have nil. See <doc:Archives>.
  ///   - version: To be changed when the property gives other values than before for elements
  ///     that are stored already, be it that it computes something else, or that they are decoded
  ///     otherwise; 0 by default. Most such changes are noticed without it: see <doc:Archives>.
  /// - Complexity: O(1).
  public init<Value: ArchiveIndexable>(
    _ name: String, _ keyPath: any KeyPath<Element, Value> & Sendable, isUnique: Bool = false,
    version: Int = 0
  ) {
    self.name = name
    self.isUnique = isUnique
    number = Self.number(of: name)
    let declared = ArchiveDeclaration.part(keyPath as KeyPath<Element, Value>, Value.self)
    declaration = ArchiveDeclaration.text(
      name: name, version: version, isUnique: isUnique, [declared])
    shape = ArchiveIndexShape(name: name, number: number, parts: [ArchiveIndexPart(keyPath)])
    comparators = [ArchiveIndexComparators(keyPath)]
    hasNil = Self.nilTest(keyPath)
    let read = ArchiveKeyPaths.reader(keyPath)
    make = { element in
      let bytes = read(element).archiveIndexBytes
      return bytes.count <= Self.maximumCount ? bytes : Array(bytes.prefix(Self.maximumCount))
    }
  }

  /// Declares an index of several properties, sorted by the first one, then by the next.
  ///
  /// - Parameters:
  ///   - name: What it goes by, as for an index of one property.
  ///   - first: The property that it is sorted by.
  ///   - second: The one that those are sorted by whose first is the same.
  ///   - others: Those that follow. The bytes of all values together are kept up to 1,000.
  ///   - isUnique: Whether no two elements may have the same values; false by default. Any number
  ///     may have the same ones if one of them is nil.
  ///   - version: As of an index of one property.
  /// - Complexity: O(properties).
  public init<First: ArchiveIndexable, Second: ArchiveIndexable, each Other: ArchiveIndexable>(
    _ name: String, _ first: any KeyPath<Element, First> & Sendable,
    _ second: any KeyPath<Element, Second> & Sendable,
    _ others: repeat any KeyPath<Element, each Other> & Sendable, isUnique: Bool = false,
    version: Int = 0
  ) {
    var parts = ArchiveIndexParts<Element>()
    parts.add(first)
    parts.add(second)
    repeat parts.add(each others)
    var nilTests = [Self.nilTest(first), Self.nilTest(second)]
    repeat nilTests.append(Self.nilTest(each others))
    self.name = name
    self.isUnique = isUnique
    number = Self.number(of: name)
    declaration = ArchiveDeclaration.text(
      name: name, version: version, isUnique: isUnique, parts.declared)
    hasNil = { [nilTests] element in nilTests.contains { $0(element) } }
    shape = ArchiveIndexShape(name: name, number: number, parts: parts.parts)
    comparators = parts.comparators
    make = { [parts] element in
      let bytes = parts.bytes(of: element)
      return bytes.count <= Self.maximumCount ? bytes : Array(bytes.prefix(Self.maximumCount))
    }
  }

  /// What the element is found by: bytes in the order of the values.
  func bytes(of element: Element) -> [UInt8] { make(element) }

  /// Whether no other element may have its value.
  func isUnique(for element: Element) -> Bool { isUnique && !hasNil(element) }

  private static func nilTest<Value: ArchiveIndexable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable
  ) -> @Sendable (Element) -> Bool {
    guard Value.self is any ArchiveOptional.Type else { return { _ in false } }
    return { ($0[keyPath: keyPath] as? any ArchiveOptional)?.isNil ?? false }
  }

  /// FNV-1a of the name, 32 bits folded to 16; 1 for 0, which is that of `unindexed`.
  private static func number(of name: String) -> UInt16 {
    let hash = name.utf8.reduce(UInt32(0x811C_9DC5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    return max(1, UInt16(truncatingIfNeeded: hash ^ hash >> 16))
  }

  /// What elements are found by that could not be decoded when the indexes were built: the only
  /// value that they have, without bytes, in an index of its own.
  static var unindexed: StoreIndexValue { StoreIndexValue(index: 0, bytes: []) }
}

/// What an index is, for code that does not know its elements.
final class ArchiveIndexShape: Sendable {
  let name: String
  let number: UInt16
  let parts: [ArchiveIndexPart]

  init(name: String, number: UInt16, parts: [ArchiveIndexPart]) {
    self.name = name
    self.number = number
    self.parts = parts
  }
}

/// The parts of an index, while it is being made.
private struct ArchiveIndexParts<Element: Sendable>: Sendable {
  private(set) var parts: [ArchiveIndexPart] = []
  private(set) var declared: [String] = []
  private(set) var comparators: [ArchiveIndexComparators<Element>] = []
  private var make: [@Sendable (Element) -> [UInt8]] = []

  mutating func add<Value: ArchiveIndexable>(_ keyPath: any KeyPath<Element, Value> & Sendable) {
    parts.append(ArchiveIndexPart(keyPath))
    declared.append(ArchiveDeclaration.part(keyPath as KeyPath<Element, Value>, Value.self))
    comparators.append(ArchiveIndexComparators(keyPath))
    let read = ArchiveKeyPaths.reader(keyPath)
    make.append { read($0).archiveIndexBytes }
  }

  func bytes(of element: Element) -> [UInt8] {
    var bytes: [UInt8] = []
    for (part, make) in zip(parts, make).dropLast() { part.append(make(element), to: &bytes) }
    return bytes + make[make.count - 1](element)
  }
}
