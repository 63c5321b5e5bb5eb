// SPDX-License-Identifier: MIT

/// What an archive's folder knows an index by, as far as the runtime tells what it computes.
///
/// It need not tell everything: what the index gives for a sample of elements is compared with
/// what is stored, too. Where it tells more than there is, the index is only built once more.
enum ArchiveDeclaration {
  static func text(name: String, version: Int, isUnique: Bool, _ parts: [String]) -> String {
    let number = isUnique ? "\(version) unique" : "\(version)"
    return ([name.debugDescription, number] + parts).joined(separator: " ")
  }

  /// A property that it is made of.
  static func part<Root>(_ keyPath: PartialKeyPath<Root>, _ value: Any.Type) -> String {
    "\(path(of: keyPath)):\(value)"
  }

  /// The names of stored properties, as in `.address.city`, whatever the element's type is called.
  /// Computed ones have no names at run time, but addresses, which are others in each process.
  static func path<Root>(of keyPath: PartialKeyPath<Root>) -> String {
    let whole = "\(keyPath)"
    let root = "\\\(Root.self)"
    let path = whole.hasPrefix(root) ? String(whole.dropFirst(root.count)) : whole
    return path.replacing(#/0x[0-9a-fA-F]+/#, with: "")
  }
}
