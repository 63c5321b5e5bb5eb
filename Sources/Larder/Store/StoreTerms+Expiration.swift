// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

extension StoreTerms {
  /// How long after its last use an entry expires, by what a cache's expiration says;
  /// the other ends are limits of the store.
  static func idle(_ expiration: Expiration) -> Int64 {
    expiration.afterAccess.map { max(0, $0.inNanoseconds) } ?? .max
  }

  static func flags(_ durability: Durability) -> UInt32 {
    switch durability {
    case .process: 0
    case .power: UInt32(LARDER_STORE_SYNCED)
    }
  }

  /// The terms that an expiration of an entry's own gives it.
  init(_ expiration: Expiration, now: @autoclosure () -> Int64, flags: UInt32) {
    let expiration = expiration.drawn
    self.init(flags: flags | UInt32(LARDER_STORE_OWN_TIMES))
    if let date = expiration.date { expires = date.inNanoseconds }
    if let life = expiration.afterWrite {
      // A date is read to the nearest microsecond: no life at all ends before now.
      let nanoseconds = life.inNanoseconds > 0 ? life.inNanoseconds : -1000
      let (end, overflows) = now().addingReportingOverflow(nanoseconds)
      expires = min(expires, overflows ? .max : end)
    }
    idle = Self.idle(expiration)
  }
}

extension StoreTerms {
  /// The same for one write of a batch: it is the batch that is synced.
  var unsynced: StoreTerms {
    var terms = self
    terms.flags &= ~UInt32(LARDER_STORE_SYNCED)
    return terms
  }
}
