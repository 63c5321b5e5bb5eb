// SPDX-License-Identifier: MIT
import LarderCore

/// The memory cache.
enum MemoryArea: Area {
  static let name = "memory"
  static let title = "Memory cache"
  static let quickEffort = Effort(fewest: 3, most: 301, seconds: 0.4)

  static var rows: [Row] {
    [
      getRandom, getRandomLRU, setOverwrite, setGrow, setEvict, getTwoThreads, getString, bytes,
      growth, allocations,
    ] + getBounded + [getExpiring, getExpiringAccess, setExpiring, setReserved] + setEvictByPolicy
      + [
        getSmall, getSameString, getZipf, getOrLoad, mixedZipf, mixedTwoThreads, setLongest,
      ] + bytesBounded + [getFoundation, setFoundation]
  }

  /// How many keys the rows have, unless they say otherwise.
  static let count = 200_000

  /// How many of them one sample reads or writes: a millisecond or two.
  static let piece = 50_000

  typealias Cache = MemoryCache<Int, Int>
  typealias Configuration = MemoryCacheConfiguration<Int, Int>

  static func cache(_ change: (inout Configuration) -> Void = { _ in }) -> Cache {
    var configuration = Configuration()
    change(&configuration)
    return Cache(configuration)
  }

  /// Both sides with the same entries: a cache without limits, and its rival.
  static func filled(with keys: [Int]) -> (ours: Cache, theirs: LockedDictionary<Int, Int>) {
    let ours = cache()
    let theirs = LockedDictionary<Int, Int>()
    ours.fill(with: keys)
    theirs.fill(with: keys)
    return (ours, theirs)
  }
}
