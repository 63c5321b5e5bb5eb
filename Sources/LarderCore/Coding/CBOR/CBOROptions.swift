// SPDX-License-Identifier: MIT

/// The options of an encoder or a decoder behind one reference: they are handed on with every
/// value, and changed before the first.
final class CBOROptions<Values: Sendable>: Sendable {
  let values: Values

  init(_ values: Values) { self.values = values }

  func with(_ change: (inout Values) -> Void) -> CBOROptions {
    var values = values
    change(&values)
    return CBOROptions(values)
  }
}
