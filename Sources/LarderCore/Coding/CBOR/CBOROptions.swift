// SPDX-License-Identifier: MIT

/// The options of an encoder or a decoder behind one reference: they are handed on with every
/// value, and changed before the first.
final class CBOROptions<Values: Sendable>: Sendable {
  let values: Values
  /// Whether these are what everybody has who changes nothing.
  let areDefaults: Bool

  init(_ values: Values, areDefaults: Bool = false) {
    self.values = values
    self.areDefaults = areDefaults
  }

  func with(_ change: (inout Values) -> Void) -> CBOROptions {
    var values = values
    change(&values)
    return CBOROptions(values)
  }
}
