// SPDX-License-Identifier: MIT

import CLarderStore

/// What a walk over a cache on disk found: at opening, verifying or salvaging.
///
/// Damage costs the entries it hit and no others; what was lost is counted and never
/// hidden.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DiskCacheReport: Sendable, Hashable {
  /// Whether nothing is missing and nothing contradicts itself.
  public let isIntact: Bool
  /// Intact entries.
  public let intact: UInt64
  /// The bytes of their values.
  public let intactBytes: UInt64
  /// Entries that are damaged, or whose file is missing or damaged.
  public let damaged: UInt64
  /// Pages of the file data.mdb that cannot be read.
  public let damagedPages: UInt64
  /// Where the first damage is in data.mdb, in bytes; nil if it is nowhere there.
  public let firstDamageOffset: UInt64?
  /// Rows of order, expiry or indexes that do not agree with the entries.
  public let inconsistencies: UInt64
  /// Files of values that no entry refers to.
  public let orphans: UInt64
  /// Writes in the journal that were or would be taken up.
  public let taken: UInt64
  /// Writes in the journal behind damage, which are lost.
  public let lost: UInt64

  init(_ raw: larder_store_report, isIntact: Bool) {
    self.isIntact = isIntact
    intact = raw.intact
    intactBytes = raw.intact_bytes
    damaged = raw.damaged
    damagedPages = raw.damaged_pages
    firstDamageOffset = raw.first_damage_offset == 0 ? nil : raw.first_damage_offset
    inconsistencies = raw.inconsistencies
    orphans = raw.orphans
    taken = raw.journal_intact
    lost = raw.journal_lost
  }
}
