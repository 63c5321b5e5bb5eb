// SPDX-License-Identifier: MIT

/// Names for the formats of coders that are made of coders.
package enum CoderFormat {
  /// The name of a format that was wrapped once more: `cbor` and `z` make `cbor+z`,
  /// and that and `e` make `cbor+ze`.
  ///
  /// A name that would become longer than a file has room for loses the end of
  /// what stands before the plus sign. One that no file takes as it is stays so.
  package static func adding(_ letter: Character, to format: String) -> String {
    var base = Substring(format)
    var suffix = ""
    if let plus = format.lastIndex(of: "+"),
      format[plus...].dropFirst().allSatisfy({ "zed".contains($0) })
    {
      base = format[..<plus]
      suffix = String(format[plus...].dropFirst())
    }
    suffix = "+\(suffix)\(letter)"
    let isValid = format.utf8.count <= 8 && format.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    guard isValid else { return base + suffix }
    // What was done last tells more about the bytes than what was done first.
    return String((base.prefix(max(0, 8 - suffix.count)) + suffix).suffix(8))
  }
}
