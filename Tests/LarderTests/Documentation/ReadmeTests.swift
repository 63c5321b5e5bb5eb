// SPDX-License-Identifier: MIT

import Foundation
import Larder
import Testing

/// What the README and the articles show is what is compiled and run here.
@Suite("README and articles") struct ReadmeTests {
  @Test func thePagesAreFound() {
    #expect(Documentation.pages.count == 26)
    #expect(Documentation.readme.blocks("swift").count == 6)
    #expect(Documentation.readme.blocks("c").count == 1)
    #expect(MarkedCode.examples.count >= 10)
  }

  @Test func theReadmeIsReadInOneSitting() {
    #expect(Documentation.readme.text.filter { $0 == "\n" }.count <= 250)
  }

  @Test(arguments: Documentation.pages)
  func everySwiftBlockIsOneOfTheExamplesThatAreRun(page: Documentation.Page) {
    let examples = Set(MarkedCode.examples.values.map(MarkedCode.normalized))
    for block in page.blocks("swift") {
      let isExample = examples.contains(MarkedCode.normalized(block))
      #expect(isExample, "\(page.path): \(block)")
    }
  }

  @Test func everyExampleIsShownSomewhere() {
    let shown = Set(Documentation.pages.flatMap { $0.blocks("swift").map(MarkedCode.normalized) })
    for (name, code) in MarkedCode.examples {
      let isShown = shown.contains(MarkedCode.normalized(code))
      #expect(isShown, "\(name)")
    }
  }

  @Test(arguments: Documentation.pages)
  func everyLinkInsideTheRepositoryLeadsSomewhere(page: Documentation.Page) {
    for link in page.relativeLinks {
      // A picture of the catalogue is named without its folder and kind.
      let targets = [link, "Resources/\(link).svg"].map(page.folder.appendingPathComponent)
      #expect(
        targets.contains { FileManager.default.fileExists(atPath: $0.path) },
        "\(page.path): \(link)")
    }
  }

  @Test(
    .enabled(if: CProgram.isCompilerThere, "There is no cc: the C example was not compiled."))
  func theExampleInCAppendsAMessageEachTimeItRuns() throws {
    let program = try CProgram(try #require(Documentation.readme.blocks("c").first))
    for count in 1...2 {
      #expect(try program.run("") == "")
      let log = try MessageLog(readingFrom: .url(program.file("app.larder")), coder: .string)
      #expect(try log.messages() == Array(repeating: "started", count: count))
    }
  }

  @Test(
    .enabled(if: CProgram.isCompilerThere, "There is no cc: the C example was not compiled."))
  func theArticlesExampleInCPrintsEachLineOnce() throws {
    let page = try #require(Documentation.articles.first { $0.path.hasSuffix("/LarderFromC.md") })
    let program = try CProgram(try #require(page.blocks("c").first))
    #expect(try program.run("one\ntwo\n") == "1 one\n2 two\n")
    #expect(try program.run("") == "")
    #expect(try program.run("\nfour") == "3 \n4 four\n")
  }
}
