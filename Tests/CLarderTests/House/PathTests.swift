// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// A store is its folder and not its path: a handle that is open never goes by the path again, as
/// something else may lie there by now.
@Suite("The house's rules: paths")
struct PathTests {
  /// Where a path is looked up, and why that is right.
  private static let swift: [String: String] = [
    "Store/StoreFolder.swift": "finds the folder, and compares it with the one that was opened",
    "Store/StoreFiles.swift": "removes an empty folder, after it was compared",
    "Store/StoreHandle.swift": "opens",
    "Store/StoreHandle+Maintenance.swift": "opens again, after it was compared",
    "Cache/HotKeys/HotKeyFile.swift": "makes a ring, which is opened by its path, likewise",
  ]

  @Test func aHandleDoesNotGoByItsPathAgain() {
    for file in SourceTree.swift
    where file.path.hasPrefix("Sources/Larder/") && Self.path.isFound(in: file.text) {
      if Self.swift[String(file.path.dropFirst("Sources/Larder/".count))] != nil { continue }
      for (number, line) in file.lines.enumerated() where Self.goesByAPath(line) {
        Issue.record("\(file.path):\(number + 1): \(line)")
      }
    }
    for name in Self.swift.keys {
      let file = SourceTree.swift.first { $0.path == "Sources/Larder/" + name }
      #expect(file?.lines.contains { Self.goesByAPath($0) } == true, "\(name)")
    }
  }

  private static let path = SourceTree.Pattern(
    [
      #"FileManager\.default|fileURLWithPath|filePath:|[pP]ath \+ "|\.location\b"#,
      #"larder_os_(file|folder)_(open|remove|rename|make|list|identify|facts_at)\("#,
    ].joined(separator: "|"))

  private static func goesByAPath(_ line: Substring) -> Bool {
    if line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") { return false }
    // A URL is for who asks where the folder is.
    let url = "    URL(fileURLWithPath: access.handle.folder.location, isDirectory: true)"
    return line != url && path.isFound(in: line)
  }

  @Test(arguments: [
    ("    let new = path + \"/new\"", true), ("    let url = URL(fileURLWithPath: path)", true),
    ("    _ = larder_os_file_remove(name)", true), ("    try FileManager.default.x()", true),
    ("    _ = larder_os_file_remove_in(folder, name)", false),
    ("    use(store.folder.location)", true),
    ("    throw failure(status, \"read \\(path)\")", false),
    ("    /// Not by `FileManager`.", false),
  ])
  func whatGoesByAPathIsKnown(line: String, goes: Bool) {
    #expect(Self.goesByAPath(line[...]) == goes, "\(line)")
  }

  /// In C, where files come, go and get their names by a path.
  private static let c: [String: String] = [
    "lmdb/environment_create.c": "makes a store",
    "store/store.c": "makes a store, or once more what a power cut left of one",
    "repair/copy_target.c": "makes a copy, under a name of its own",
    "repair/working_folder.c": "removes such a copy that failed",
    "log/log.c": "makes a store's log",
  ]

  @Test func theStoreChangesNoNameByItsPath() {
    let call = SourceTree.Pattern(#"larder_os_(file|folder)_(remove|rename|make|make_beside)\("#)
    let files = SourceTree.c.filter { $0.path.hasPrefix("Sources/CLarderStore/") }
    let found = files.filter { call.isFound(in: $0.text) }.map(\.path)
    #expect(Set(found) == Set(Self.c.keys.map { "Sources/CLarderStore/" + $0 }))
  }
}
