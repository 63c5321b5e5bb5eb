// SPDX-License-Identifier: MIT

/// A cache over a Redis server, which is this program's own, on loopback.
enum RemoteArea: Area {
  static let name = "remote"
  static let title = "A near cache over Redis"

  #if HAS_REMOTE
    static let absence: String? = nil
    static var rows: [Row] { [get, getBlocking, set, near, invalidation] + burst + [loadOnce] }
  #else
    static let absence: String? =
      "redis-server and redis-benchmark were not found: `make bench-deps` installs them"
    static var rows: [Row] { [] }
  #endif
}
