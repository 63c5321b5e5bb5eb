// SPDX-License-Identifier: MIT

import Foundation

/// What Foundation would sort by an indexed property with, forwards and back.
///
/// A descriptor says which property it is about, but neither how it compares nor, once somebody
/// has changed its order, in which direction. One that equals another does the same as that.
struct ArchiveIndexComparators<Element: Sendable>: Sendable {
  let keyPath: any PartialKeyPath<Element> & Sendable
  private var descriptors: [SortDescriptor<Element>] = []
  private var comparators: [KeyPathComparator<Element>] = []

  init<Value: ArchiveIndexable>(_ keyPath: any KeyPath<Element, Value> & Sendable) {
    self.keyPath = keyPath
    if let type = Value.self as? any Comparable.Type {
      add(type, keyPath)
    } else if let type = (Value.self as? any ArchiveOptional.Type)?.wrapped as? any Comparable.Type
    {
      addOptional(type, keyPath)
    }
  }

  /// The direction in which the descriptor goes through the index; nil if it has another order.
  func order(of descriptor: SortDescriptor<Element>) -> SortOrder? {
    descriptors.firstIndex(of: descriptor).map { $0 == 0 ? .forward : .reverse }
  }

  /// The direction in which the comparator goes through the index; nil if it has another order.
  func order(of comparator: KeyPathComparator<Element>) -> SortOrder? {
    comparators.firstIndex(of: comparator).map { $0 == 0 ? .forward : .reverse }
  }

  private mutating func add<Value: Comparable>(_ type: Value.Type, _ keyPath: AnyKeyPath) {
    guard let keyPath = keyPath as? KeyPath<Element, Value> else { return }
    let sendable = ArchiveKeyPaths.assumeSendable(keyPath)
    for order in [SortOrder.forward, .reverse] {
      descriptors.append(SortDescriptor(sendable, order: order))
      // Of texts it has an order of its own.
      if type != String.self { comparators.append(KeyPathComparator(sendable, order: order)) }
    }
  }

  private mutating func addOptional<Value: Comparable>(_ type: Value.Type, _ keyPath: AnyKeyPath) {
    guard let keyPath = keyPath as? KeyPath<Element, Value?> else { return }
    let sendable = ArchiveKeyPaths.assumeSendable(keyPath)
    for order in [SortOrder.forward, .reverse] {
      descriptors.append(SortDescriptor(sendable, order: order))
      if type != String.self { comparators.append(KeyPathComparator(sendable, order: order)) }
    }
  }
}
