// SPDX-License-Identifier: MIT

import Foundation
import Testing

/// The README and the articles of the catalogue, and the code that they show.
struct Documentation {
  /// A page, by its path from the top of the repository.
  struct Page: CustomTestStringConvertible {
    let path: String
    let text: String
    var testDescription: String { path }
    var folder: URL { Documentation.top.appendingPathComponent(path).deletingLastPathComponent() }
  }

  static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static let readme = page("README.md")
  static let articles: [Page] = {
    let folder = "Sources/Larder/Larder.docc"
    let url = top.appendingPathComponent(folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    return names.filter { $0.hasSuffix(".md") }.sorted().map { page(folder + "/" + $0) }
  }()
  static let pages = [readme] + articles

  /// A file that is missing is an empty page, and fails the tests that look for something in it.
  static func page(_ path: String) -> Page {
    let url = top.appendingPathComponent(path)
    return Page(path: path, text: (try? String(contentsOf: url, encoding: .utf8)) ?? "")
  }
}

extension Documentation.Page {
  /// The blocks fenced as `language`, without their fences.
  func blocks(_ language: String) -> [String] {
    var blocks: [String] = []
    var block: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        if let finished = block {
          blocks.append(finished.joined(separator: "\n") + "\n")
          block = nil
        } else if line == "```" + language {
          block = []
        }
      } else {
        block?.append(line)
      }
    }
    return blocks
  }

  /// What links inside the repository lead to, without what follows a `#`.
  var relativeLinks: [String] {
    let link = /\]\(([^)\s]+)\)/
    return text.matches(of: link).map { String($0.1) }
      .filter { !$0.contains("://") && !$0.hasPrefix("#") && !$0.hasPrefix("doc:") }
      .map { String($0.prefix { $0 != "#" }) }
  }
}

/// Code between `// Example: NAME` and `// End of example` in files named `…Examples.swift`.
enum MarkedCode {
  /// In this folder, in that of the pages for those who move here, and with the modules that not
  /// everybody links.
  private static let folders = [
    "Tests/LarderTests/Documentation", "Tests/LarderTests/Migration",
    "Tests/LarderCompatibilityTests", "Tests/LarderEncryptionTests", "Tests/LarderServer",
    "Tests/LarderServerTests",
  ]

  static let files: [String] = folders.flatMap { folder in
    let url = Documentation.top.appendingPathComponent(folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    return names.filter { $0.hasSuffix("Examples.swift") }.sorted().map { folder + "/" + $0 }
  }

  /// By name; parts of one name follow each other.
  static let examples: [String: String] = {
    var examples: [String: String] = [:]
    for file in files {
      var example: String?
      let text = Documentation.page(file).text
      for line in text.split(separator: "\n") {
        let code = line.trimmingCharacters(in: .whitespaces)
        if code.hasPrefix("// Example: ") {
          example = String(code.dropFirst("// Example: ".count))
        } else if code == "// End of example" {
          example = nil
        } else if let example {
          examples[example, default: ""] += line + "\n"
        }
      }
    }
    return examples
  }()

  /// The lines without their indentation and without the empty ones.
  static func normalized(_ code: String) -> [String] {
    code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }
}
