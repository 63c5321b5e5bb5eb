// SPDX-License-Identifier: MIT

/// Gives its least element first.
struct MinHeap<Element: Comparable> {
  private var elements: [Element] = []

  init() {}

  var count: Int { elements.count }
  var least: Element? { elements.first }

  /// - Complexity: O(log count).
  mutating func insert(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if elements[parent] <= elements[child] { return }
      elements.swapAt(parent, child)
      child = parent
    }
  }

  /// - Complexity: O(log count).
  @discardableResult
  mutating func removeLeast() -> Element? {
    guard let last = elements.popLast() else { return nil }
    guard let least = elements.first else { return last }
    elements[0] = last
    var parent = 0
    while true {
      var child = 2 * parent + 1
      if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
      if child >= elements.count || elements[parent] <= elements[child] { return least }
      elements.swapAt(parent, child)
      parent = child
    }
  }

  /// Keeps only some elements.
  ///
  /// - Complexity: O(count).
  mutating func keep(_ isKept: (Element) -> Bool) {
    // What is sorted is a heap.
    elements = elements.filter(isKept).sorted()
  }
}
