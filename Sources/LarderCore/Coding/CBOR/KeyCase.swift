// SPDX-License-Identifier: MIT

/// The two spellings that key strategies turn into each other, by the rules of
/// Foundation's JSON coders.
enum KeyCase {
  /// `oneTwoThree` as `one_two_three`, `myURLProperty` as `my_url_property`.
  static func snake(_ key: String) -> String {
    let characters = Array(key)
    var result = ""
    for (index, character) in characters.enumerated() {
      if index > 0, character.isUppercase {
        let next = index + 1 < characters.count ? characters[index + 1] : nil
        // A word begins after a letter that is not upper case, and with the last of several.
        if !characters[index - 1].isUppercase || next?.isLowercase == true { result.append("_") }
      }
      result += character.lowercased()
    }
    return result
  }

  /// `one_two_three` as `oneTwoThree`; underscores at the ends stay.
  static func camel(_ key: String) -> String {
    guard let first = key.firstIndex(where: { $0 != "_" }),
      let last = key.lastIndex(where: { $0 != "_" })
    else { return key }
    let words = key[first...last].split(separator: "_")
    guard words.count > 1 else { return key }
    let joined = words.enumerated().map { index, word in
      index == 0 ? word.lowercased() : word.prefix(1).uppercased() + word.dropFirst().lowercased()
    }
    return key[..<first] + joined.joined() + key[key.index(after: last)...]
  }
}
