// SPDX-License-Identifier: MIT

import CLarder
import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct LarderErrorTests {
  @Test(arguments: [
    (LARDER_ETOOLARGE, LarderError.Code.tooLarge), (LARDER_EFULL, .full), (LARDER_EBUSY, .busy),
    (LARDER_EVERSION, .incompatibleVersion), (LARDER_EMISMATCH, .configurationMismatch),
    (LARDER_EDAMAGED, .damaged), (LARDER_EREADONLY, .readOnly), (LARDER_ECLOSED, .closed),
    (LARDER_EOWNER, .untrusted), (LARDER_EWRITABLE, .untrusted), (LARDER_ELINKED, .untrusted),
    (LARDER_ELOCKED, .busy), (LARDER_EINVALID, .invalidArgument),
    (LARDER_EFOREIGN, .notALarderFile),
    (LARDER_EFORKED, .closed), (LARDER_ENOSLOT, .full), (LARDER_ENOTFOUND, .invalidArgument),
    (LARDER_EINCOMPLETE, .damaged), (Int(ENOSPC), .diskFull), (Int(EDQUOT), .diskFull),
    (Int(EROFS), .readOnly), (Int(EACCES), .io), (Int(EIO), .io), (Int(ENOENT), .io),
    (9999, .io), (-9999, .io),
  ])
  func everyStatusHasItsCode(status: Int, code: LarderError.Code) throws {
    let error = error { try check(Int32(status), "do that") }
    #expect(error?.code == code)
    #expect(error?.errno == (status > 0 ? CInt(status) : nil))
    #expect(error?.message.hasPrefix("Could not do that: ") == true)
    #expect(error?.message.hasSuffix(".") == true)
  }

  @Test func successThrowsNothingAndComposesNoText() throws {
    func text() -> String {
      Issue.record("The text of a success was asked for.")
      return ""
    }
    try check(0, text())
  }

  @Test func locationIsWhereItWasThrown() throws {
    let error = LarderError(.io, "No.")
    #expect(error.location.file == "LarderCoreTests/LarderErrorTests.swift")
    #expect(error.location.line > 0)
    #expect(error.location.function == "locationIsWhereItWasThrown()")
  }

  @Test func descriptionNamesCodeMessageAndCause() {
    struct Why: Error, CustomStringConvertible { let description = "because" }
    #expect("\(LarderError(.full, "No room."))" == "full: No room.")
    #expect("\(LarderError(.io, "No.", cause: Why()))" == "io: No. (because)")
  }
}
