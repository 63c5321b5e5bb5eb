// SPDX-License-Identifier: MIT

/// S3-FIFO (Yang et al., SOSP 2023) with two queues, a dictionary of uses, and a list
/// of what went.
public struct S3FIFOModel: EvictionModel {
  private var small = KeyQueue()
  private var main = KeyQueue()
  /// Up to 3. A pinned key keeps its own.
  private var uses: [UInt64: Int] = [:]
  private var hashes: [UInt64: UInt32] = [:]
  private var ghost = GhostModel()
  /// What the index has.
  public var figures = EvictionFigures()

  /// A model without keys.
  public init() {}

  /// Nine of ten.
  private func share(_ entries: UInt64) -> UInt64 { entries - entries / 10 }

  /// Lower limits make the list of what went shorter.
  public mutating func start(forgetting: Bool) {
    if forgetting {
      ghost.clear()
      uses = [:]
    } else if share(figures.countLimit) < ghost.room {
      ghost.resize(share(figures.countLimit))
    }
  }

  /// Into the small queue, or into the main one if it went lately.
  public mutating func insert(_ key: UInt64, hash: UInt32, isNew: Bool) {
    if isNew { uses[key] = 0 }
    hashes[key] = hash
    if ghost.take(hash) { main.putFirst(key) } else { small.putFirst(key) }
  }

  /// Only counts.
  public mutating func touch(_ key: UInt64) { uses[key] = min(3, uses[key, default: 0] + 1) }

  /// From whichever queue it is in.
  public mutating func remove(_ key: UInt64) {
    if small.contains(key) { small.remove(key) } else { main.remove(key) }
  }

  /// The small queue gives while it has a tenth or more, what is used twice goes on to the main
  /// one; there a use is a further round.
  public mutating func takeVictim(sparing newest: UInt64?) -> UInt64 {
    let newestInSmall = newest.map { small.contains($0) } == true ? 1 : 0
    let tenth = max(1, (small.count + main.count - 1) / 10)
    while true {
      let count = small.count - newestInSmall
      let lastOfMain = main.last(sparing: newest)
      if let key = lastOfMain, count == 0 || count < tenth {
        main.remove(key)
        let left = uses[key, default: 0]
        if left == 0 { return key }
        uses[key] = left - 1
        main.putFirst(key)
      } else if let key = small.last(sparing: newest) {
        small.remove(key)
        if uses[key, default: 0] < 2 {
          ghost.remember(hashes[key] ?? 0, limit: share(figures.capacity), figures)
          return key
        }
        uses[key] = 0
        main.putFirst(key)
      } else {
        let key = newest ?? 0
        remove(key)
        return key
      }
    }
  }

  /// What was read goes into the main queue.
  public mutating func adopt(_ keys: [(key: UInt64, hash: UInt32, wasRead: Bool)]) {
    for (key, hash, wasRead) in keys {
      hashes[key] = hash
      if wasRead { main.putFirst(key) } else { small.putFirst(key) }
    }
  }

  /// The small queue goes first.
  public var order: [UInt64] { small.keys.reversed() + main.keys.reversed() }
}
