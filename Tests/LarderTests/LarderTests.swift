// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite struct LarderTests {
  @Test func importingLarderIsEnoughToUseALog() throws {
    let directory = try TemporaryDirectory()
    let log = try MessageLog<String>(
      fileURL: directory.file("a.larder"), maximumBytes: 4096, whenFull: .refuse, coder: .string)
    try log.append("hello")
    #expect(try log.messages() == ["hello"])
  }
}
