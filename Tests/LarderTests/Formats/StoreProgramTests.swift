// SPDX-License-Identifier: MIT

import Foundation
import Testing

@Suite("The articles' C examples: the store") struct StoreProgramTests {
  @Test(
    .enabled(if: CProgram.isCompilerThere, "There is no cc: the C example was not compiled."))
  func theExampleOfAStoreKnowsItsLinesTheNextTime() throws {
    let page = try #require(Documentation.articles.first { $0.path.hasSuffix("/LarderFromC.md") })
    let section = try #require(page.text.components(separatedBy: "### A store on disk\n").last)
    let code = Documentation.Page(path: page.path, text: section).blocks("c")
    let program = try CProgram(try #require(code.first), usesStore: true)
    #expect(try program.run("") == "")
    #expect(try program.run("a b\nc\na b\n") == "2\n1\n2, known\n- a b\n- c\n")
    #expect(try program.run("c\n d e  f \n") == "1, known\n3\n-  d e  f \n- a b\n- c\n")
  }
}
