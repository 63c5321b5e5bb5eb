// SPDX-License-Identifier: MIT

/// The two spellings that key strategies turn into each other, by the rules of
/// Foundation's JSON coders.
enum KeyCase {
  /// `oneTwoThree` as `one_two_three`, `myURLProperty` as `my_url_property`.
  ///
  /// A word begins with an upper-case letter; of several in a row only the last
  /// does, before the lower-case letter that follows, and none if none follows.
  static func snake(_ key: String) -> String {
    let letters = Array(key)
    var starts: [Int] = []
    var search = 1
    while let upper = letters.indices.first(where: { $0 >= search && letters[$0].isUppercase }) {
      starts.append(upper)
      guard let lower = letters.indices.first(where: { $0 > upper && letters[$0].isLowercase })
      else { break }
      if lower > upper + 1 { starts.append(lower - 1) }
      search = lower + 1
    }
    let bounds = [0] + starts + [letters.count]
    return zip(bounds, bounds.dropFirst())
      .map { String(letters[$0..<$1]).lowercased() }
      .joined(separator: "_")
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
