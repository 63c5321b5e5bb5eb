// SPDX-License-Identifier: MIT

import Foundation
import Testing

@Suite("The articles' C examples: the index") struct IndexProgramTests {
  @Test(
    .enabled(if: CProgram.isCompilerThere, "There is no cc: the C example was not compiled."))
  func theExampleOfACacheKnowsItsLastThreeLines() throws {
    let page = try #require(Documentation.articles.first { $0.path.hasSuffix("/LarderFromC.md") })
    let section = try #require(page.text.components(separatedBy: "### A cache\n").last)
    let code = Documentation.Page(path: page.path, text: section).blocks("c")
    let program = try CProgram(try #require(code.first))
    #expect(try program.run("") == "")
    #expect(
      try program.run("a b\nc\na b\n\n d e  f \na b\nc\n")
        == "2\n1\n2, known\n0\n3\n2, known\n1\n")
  }
}
