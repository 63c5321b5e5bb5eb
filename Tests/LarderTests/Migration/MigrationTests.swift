// SPDX-License-Identifier: MIT

import Foundation
import Testing

/// The pages "Coming from …": every piece of our code in their tables is compiled and run here, as
/// every block of code is by `ReadmeTests`.
@Suite("Pages for those who move here") struct MigrationTests {
  static let pages = Documentation.articles.filter { $0.path.contains("/ComingFrom") }

  /// What is compiled, without comments and blanks.
  private static let compiled: String = {
    MarkedCode.files.filter { $0.contains("/ComingFrom") }
      .flatMap { Documentation.page($0).text.split(separator: "\n") }
      .filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
      .joined().filter { !$0.isWhitespace }
  }()

  /// The cells of the second column, which is ours.
  static func cells(_ page: Documentation.Page) -> [String] {
    page.text.split(separator: "\n").filter { $0.hasPrefix("| ") }
      .map { line in
        line.replacing("\\|", with: "\u{1}").split(separator: "|", omittingEmptySubsequences: false)
      }
      .filter { $0.count > 3 }
      .map { $0[2].replacing("\u{1}", with: "|").trimmingCharacters(in: .whitespaces) }
  }

  static func code(_ cell: String) -> [String] {
    let span = /`([^`]+)`/
    return cell.matches(of: span).map { String($0.1) }
  }

  @Test func thereIsAPageForEachOfTheFour() {
    #expect(
      Self.pages.map { $0.path.split(separator: "/").last } == [
        "ComingFromCacheAdvance.md", "ComingFromRECache.md", "ComingFromSwiftyCache.md",
        "ComingFromVellum.md",
      ])
    for page in Self.pages {
      #expect(Self.cells(page).count >= 15, "\(page.path)")
      #expect(page.text.contains("### What behaves better"), "\(page.path)")
    }
  }

  @Test(arguments: pages)
  func everyPieceOfOurCodeInATableIsCompiled(page: Documentation.Page) {
    for cell in Self.cells(page).dropFirst() {
      for code in Self.code(cell) {
        let isCompiled = Self.compiled.contains(code.filter { !$0.isWhitespace })
        #expect(isCompiled, "\(page.path): \(code)")
      }
    }
  }
}
