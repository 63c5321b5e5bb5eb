// SPDX-License-Identifier: MIT

/// One thing that has to be so for an element to pass.
@usableFromInline
struct ArchiveTerm<Element: Sendable>: Sendable {
  /// What is so of all elements that pass.
  @usableFromInline var hint: ArchiveHint
  @usableFromInline let isMet: @Sendable (Element) throws -> Bool

  @inlinable
  init(_ hint: ArchiveHint = .nothing, _ isMet: @escaping @Sendable (Element) throws -> Bool) {
    self.hint = hint
    self.isMet = isMet
  }
}

extension ArchiveTerm {
  /// Whether all terms are met, as one closure: terms themselves are large.
  @usableFromInline
  static func all(_ terms: [ArchiveTerm]) -> @Sendable (Element) throws -> Bool {
    if terms.isEmpty { return { _ in true } }
    if terms.count == 1 { return terms[0].isMet }
    let tests = terms.map(\.isMet)
    return { element in
      for test in tests where try !test(element) { return false }
      return true
    }
  }
}
