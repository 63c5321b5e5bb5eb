// SPDX-License-Identifier: MIT

/// What the tool knows of the formats that coders name.
package enum ContentFormat {
  /// Whether bytes of any kind, lines of text for example, may be of this format: not of those
  /// coders of Larder that make bytes of another kind, compressed and encrypted ones included.
  /// Nothing is known of the formats of others.
  package static func takesText(_ format: String) -> Bool {
    if ["cbor", "plist", "image"].contains(format) { return false }
    return format.wholeMatch(of: /.*\+[ze]+/) == nil
  }
}
