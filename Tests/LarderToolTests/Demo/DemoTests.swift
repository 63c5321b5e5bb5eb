// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(3))) struct DemoTests {
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

  @Test func aTemporaryDirectoryThatIsNotThereIsAnError() throws {
    let run = try Tool.run(["demo"], environment: ["TMPDIR": "/dev/null/none"])
    #expect(run.code == 2)
    #expect(run.errors.hasPrefix("larder: cannot make /dev/null/none"))
  }
}
