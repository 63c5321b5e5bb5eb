// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@testable import LarderTool

struct DemoTests {
  @Test func everyClaimHoldsAndNothingIsLeftBehind() throws {
    let directory = try TemporaryDirectory()
    let run = try Tool.run(["demo"], environment: ["TMPDIR": directory.url.path])
    #expect(run.code == 0, "\(run.text)\(run.errors)")
    #expect(run.errors.isEmpty)
    #expect(run.text.contains("claims held"))
    // No colours where nobody sees them.
    #expect(!run.text.contains("\u{1B}"))
    #expect(try directory.names.isEmpty)
  }

  @Test func aClaimThatDoesNotHoldEndsTheTour() throws {
    let directory = try TemporaryDirectory()
    let tour = Tour(directory: directory.url)
    try tour.claim(true, "This holds, and the next one does not:")
    #expect(throws: DemoFailure.self) { try tour.claim(false, "so the tour ends here.") }
    #expect(tour.claims == 2)
  }

  @Test func aMessageOfTheDemoIsTheSameEachTimeAndUnlikeAnyOther() {
    let messages = (1...1_000).map { DemoMessage.make($0) }
    #expect(messages.allSatisfy { $0.count == DemoMessage.size })
    #expect(Set(messages).count == 1_000)
    #expect(messages[41] == DemoMessage.make(42))
    #expect(String(decoding: messages[41], as: UTF8.self).hasPrefix(DemoMessage.start(of: 42)))
  }

  @Test func aTemporaryDirectoryThatIsNotThereIsAnError() throws {
    let run = try Tool.run(["demo"], environment: ["TMPDIR": "/dev/null/none"])
    #expect(run.code == 2)
    #expect(run.errors.hasPrefix("larder: cannot make /dev/null/none"))
  }
}
