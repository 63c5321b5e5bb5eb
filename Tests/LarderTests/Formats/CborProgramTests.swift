// SPDX-License-Identifier: MIT

import Testing

@Suite("The articles' C examples") struct CborProgramTests {
  @Test(
    .enabled(if: CProgram.isCompilerThere, "There is no cc: the C example was not compiled."))
  func theExampleOfCBORPrintsTheKeysOfItsMap() throws {
    let page = try #require(Documentation.articles.first { $0.path.hasSuffix("/LarderFromC.md") })
    let program = try CProgram(try #require(page.blocks("c").last))
    #expect(try program.run("") == "level at offset 7\nseconds at offset 16\n")
  }
}
