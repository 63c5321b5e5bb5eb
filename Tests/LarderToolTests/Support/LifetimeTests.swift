// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore
import Testing

@testable import LarderLogTool

@Suite struct LifetimeTests {
  @Test(arguments: [
    ("90s", 90.0), ("5m", 300), ("5 min", 300), ("1.5h", 5_400), ("30D", 2_592_000),
    ("2w", 1_209_600),
  ])
  func aNumberWithAUnitIsSoManySeconds(_ text: String, _ seconds: Double) throws {
    #expect(try Lifetime(text).expiration == .seconds(seconds))
  }

  @Test func neverIsNever() throws {
    #expect(try Lifetime("never").expiration == .never)
  }

  @Test(arguments: [
    "", "s", "5", "90", "1.5", "0", "-5s", "5y", ".5h", "1.2.3s", "5s5", "soon", "nan",
  ])
  func anythingElseIsAnErrorThatSaysWhatToWrite(_ text: String) {
    #expect(throws: ValidationError.self) { try Lifetime(text) }
  }
}
