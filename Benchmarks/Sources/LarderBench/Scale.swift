// SPDX-License-Identifier: MIT

/// How large the large rows are, as the command line asks for.
struct Scale {
  /// The numbers of keys that the rows disk.set.10m and its kin run with.
  var keys = [10_000_000]
  /// The number of records of YCSB; `nil` for the default.
  var records: Int?

  /// How a number of keys is called in the rows' ids: "10m", "0.1m".
  static func name(_ keys: Int) -> String { plain(Double(keys) / 1e6) + "m" }
}
