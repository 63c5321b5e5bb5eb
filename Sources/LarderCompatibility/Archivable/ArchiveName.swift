// SPDX-License-Identifier: MIT

/// Names of archives that are called like their types.
enum ArchiveName {
  /// `vellum_` and the letters and digits of the type's name in snake case.
  static func standard(for type: Any.Type) -> String {
    let letters = String(describing: type).filter { $0.isLetter || $0.isNumber }
    return "vellum_" + snakeCase(Array(letters))
  }

  /// A word begins at a capital behind a letter that is none, and at the last of several
  /// capitals if a small letter follows: `HTTPCache2Page` has four of them.
  private static func snakeCase(_ letters: [Character]) -> String {
    var name = ""
    for (at, letter) in letters.enumerated() {
      if at > 0, letter.isUppercase {
        let isNext = at + 1 < letters.count && letters[at + 1].isLowercase
        if !letters[at - 1].isUppercase || isNext { name += "_" }
      }
      name += letter.lowercased()
    }
    return name
  }
}
