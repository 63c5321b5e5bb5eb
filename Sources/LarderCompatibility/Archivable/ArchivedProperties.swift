// SPDX-License-Identifier: MIT

import Foundation

/// Finds archivable values among the properties of an element: of its own, of its
/// superclasses, and within optional values, arrays, sets and dictionaries.
enum ArchivedProperties {
  static func find(in element: Any) -> [any Archivable] {
    var found: [any Archivable] = []
    var mirror: Mirror? = Mirror(reflecting: element)
    while let current = mirror {
      for child in current.children { look(at: child.value, &found) }
      mirror = current.superclassMirror
    }
    return found
  }

  fileprivate static func look(at value: Any, _ found: inout [any Archivable]) {
    if isPlain(type(of: value)) { return }
    if let archivable = value as? any Archivable {
      found.append(archivable)
    } else if let contents = value as? any ArchivedContents {
      contents.look(&found)
    }
  }

  /// Whether there is nothing to be found in a value of that type: asked first, because it
  /// is quick and true of most.
  fileprivate static func isPlain(_ type: Any.Type) -> Bool {
    plain.contains(ObjectIdentifier(type))
  }

  private static let plain: Set<ObjectIdentifier> = {
    let types: [Any.Type] = [
      String.self, Substring.self, Character.self, Bool.self, Data.self, Date.self, UUID.self,
      URL.self, Decimal.self, Double.self, Float.self, Int.self, Int8.self, Int16.self,
      Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self,
      String?.self, Bool?.self, Data?.self, Date?.self, UUID?.self, URL?.self, Double?.self,
      Float?.self, Int?.self, Int64?.self, UInt64?.self,
    ]
    return Set(types.map { ObjectIdentifier($0) })
  }()
}

/// A value that consists of others.
private protocol ArchivedContents {
  func look(_ found: inout [any Archivable])
}

extension Optional: ArchivedContents {
  fileprivate func look(_ found: inout [any Archivable]) {
    if let self { ArchivedProperties.look(at: self, &found) }
  }
}

extension Array: ArchivedContents {
  fileprivate func look(_ found: inout [any Archivable]) {
    if ArchivedProperties.isPlain(Element.self) { return }
    for element in self { ArchivedProperties.look(at: element, &found) }
  }
}

extension Set: ArchivedContents {
  fileprivate func look(_ found: inout [any Archivable]) {
    if ArchivedProperties.isPlain(Element.self) { return }
    for element in self { ArchivedProperties.look(at: element, &found) }
  }
}

extension Dictionary: ArchivedContents {
  fileprivate func look(_ found: inout [any Archivable]) {
    if ArchivedProperties.isPlain(Value.self) { return }
    for value in values { ArchivedProperties.look(at: value, &found) }
  }
}
