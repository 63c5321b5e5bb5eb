// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite struct LarderTests {
  @Test func importingLarderIsEnoughToUseALog() throws {
    let directory = try TemporaryDirectory()
    let log = try MessageLog<String>(
      at: .url(directory.file("a.larder")), capacity: 4096, whenFull: .refuse, coder: .string)
    try log.append("hello")
    #expect(try log.messages() == ["hello"])
  }
}
