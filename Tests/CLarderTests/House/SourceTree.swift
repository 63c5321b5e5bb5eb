// SPDX-License-Identifier: MIT
import Foundation

/// The repository's own text files, for the tests that read them.
struct SourceTree {
  struct File {
    /// From the top of the repository.
    let path: String
    let text: String
    let lines: [Substring]

    init(path: String, text: String) {
      self.path = path
      self.text = text
      lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    }
  }

  /// A regular expression, by a library that is fast in a program that is not optimised, too.
  struct Pattern: Sendable {
    private let expression: NSRegularExpression

    init(_ pattern: String) {
      guard
        let expression = try? NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
      else { fatalError("No regular expression: \(pattern)") }
      self.expression = expression
    }

    func isFound(in text: some StringProtocol) -> Bool {
      let text = String(text)
      let all = NSRange(location: 0, length: text.utf16.count)
      return expression.firstMatch(in: text, range: all) != nil
    }
  }

  static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Every file below `folders` (or each of them that is a file) whose name has one of `suffixes`.
  /// Folders and files whose name begins with a dot are passed over: builds are there.
  static func files(in folders: [String], suffixes: [String]) -> [File] {
    folders.flatMap { paths(below: $0) }.sorted()
      .filter { path in suffixes.contains { path.hasSuffix($0) } }
      .compactMap { path in
        let text = try? String(contentsOf: top.appendingPathComponent(path), encoding: .utf8)
        return text.map { File(path: path, text: $0) }  // One that is not text is not code.
      }
  }

  /// All code that is compiled or run.
  static let code = files(
    in: ["Package.swift", "Makefile", "Sources", "Tests", "Benchmarks", ".ci"],
    suffixes: [".swift", ".c", ".h", ".sh", ".mk", "Makefile", ".ci/run", ".ci/deps", ".modulemap"])

  static let swift = code.filter { $0.path.hasSuffix(".swift") }
  static let c = code.filter { $0.path.hasSuffix(".c") || $0.path.hasSuffix(".h") }
  /// Those that are installed: what the system layer offers is Larder's own.
  static let publicHeaders = c.filter { file in
    headerFolders.contains { file.path.hasPrefix($0 + "/") } && !file.path.contains("/larder_os_")
  }
  static let headerFolders = ["CLarderSystem", "CLarder", "CLarderStore"].map {
    "Sources/\($0)/include"
  }

  private static func paths(below path: String) -> [String] {
    let url = top.appendingPathComponent(path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      return []
    }
    guard isFolder.boolValue else { return [path] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    return names.filter { !$0.hasPrefix(".") }.flatMap { paths(below: path + "/" + $0) }
  }
}

/// A function as a public header declares it.
struct Declaration {
  var header: String
  /// From `LARDER_API` up to the semicolon, on one line.
  var text: String
  var name: String
  /// Whether a documentation comment ends right before it.
  var isDocumented: Bool

  static let all: [Declaration] = SourceTree.publicHeaders.flatMap { file in
    let parts = file.text.components(separatedBy: "\nLARDER_API ")
    return zip(parts, parts.dropFirst()).compactMap { before, after -> Declaration? in
      let words = after.prefix { $0 != ";" }.split(whereSeparator: \.isWhitespace)
      let text = words.joined(separator: " ")
      let head = text.prefix { $0 != "(" }
      guard let name = head.split(whereSeparator: { " *".contains($0) }).last else { return nil }
      return Declaration(
        header: file.path, text: text, name: String(name), isDocumented: before.hasSuffix("*/"))
    }
  }
}
