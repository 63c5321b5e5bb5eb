// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import Testing

@Suite("Status codes")
struct StatusTests {
  /// The numbers are part of the interface: they may be logged, and compared by other languages.
  static let codes: [(status: Int, number: Int)] = [
    (LARDER_OK, 0), (LARDER_ETOOLARGE, -41_000), (LARDER_EFULL, -41_001), (LARDER_EBUSY, -41_002),
    (LARDER_EVERSION, -41_003), (LARDER_EMISMATCH, -41_004), (LARDER_EDAMAGED, -41_005),
    (LARDER_EREADONLY, -41_006), (LARDER_ECLOSED, -41_007), (LARDER_EINVALID, -41_008),
    (LARDER_EFOREIGN, -41_009), (LARDER_EFORKED, -41_010), (LARDER_END, -41_011),
    (LARDER_ENOSLOT, -41_012), (LARDER_ENOTFOUND, -41_013), (LARDER_EINCOMPLETE, -41_014),
    (LARDER_ECONFLICT, -41_015), (LARDER_EOWNER, -41_016), (LARDER_EWRITABLE, -41_017),
    (LARDER_ELINKED, -41_018), (LARDER_ELOCKED, -41_019), (LARDER_ELIBRARY, -41_020),
    (LARDER_EREPLACED, -41_021),
  ]

  static let systemCodes: [Int32] = [
    EACCES, EBADF, EDQUOT, EEXIST, EFBIG, EINTR, EINVAL, EIO, EISDIR, ELOOP, EMFILE, ENAMETOOLONG,
    ENFILE, ENOENT, ENOLCK, ENOMEM, ENOSPC, ENOTDIR, ENOTSUP, EPERM, EPIPE, EROFS, ETXTBSY, EXDEV,
    ECANCELED,
  ]

  @Test func everyCodeKeepsItsNumber() {
    for (status, number) in Self.codes { #expect(status == number) }
  }

  @Test func everyCodeHasASentenceOfItsOwn() {
    let sentences = Self.codes.map { sentence(Int32($0.status)) } + Self.systemCodes.map(sentence)
    #expect(Set(sentences).count == sentences.count)
    for sentence in sentences {
      #expect(sentence != "unknown status")
      #expect(sentence.count > 5)
      #expect(!sentence.hasSuffix("."), "\(sentence)")
    }
  }

  @Test func anUnknownCodeIsSaidToBeUnknown() {
    for status: Int32 in [-1, -30_799, -40_999, -41_022, 4_095, .min, .max] {
      #expect(sentence(status) == "unknown status")
    }
  }

  @Test func everyNumberNearTheCodesHasSomeSentence() {
    for status in Int32(-42_000)...200 { #expect(!sentence(status).isEmpty) }
  }

  @Test func theSentenceIsStaticSoThatItOutlivesTheNextCall() {
    let first = larder_strerror(ENOSPC)
    let copy = String(cString: first)
    for status in Int32(1)...150 { _ = larder_strerror(status) }
    #expect(first == larder_strerror(ENOSPC))
    #expect(String(cString: first) == copy)
  }

  private func sentence(_ status: Int32) -> String { String(cString: larder_strerror(status)) }
}
