// SPDX-License-Identifier: MIT

import CLarderStore

/// What a walk over a store in a folder found: at opening, verifying or salvaging.
///
/// Damage costs the entries it hit and no others; what was lost is counted and never
/// hidden.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct StoreReport: Sendable, Hashable {
  /// Whether nothing is missing and nothing contradicts itself.
  public let isIntact: Bool
  /// Intact entries.
  public let intact: UInt64
  /// The bytes of their values.
  public let intactBytes: UInt64
  /// Entries that are damaged, or whose segment is missing.
  public let damaged: UInt64
  /// Entries that may be older than what was lost: a salvage leaves them out, unless it is to keep
  /// them, and a rebuild needs to be told that it is to.
  public let uncertain: UInt64
  /// Pages of the file data.mdb that cannot be read.
  public let damagedPages: UInt64
  /// Where the first damage is in data.mdb, in bytes; nil if it is nowhere there.
  public let firstDamageOffset: UInt64?
  /// Rows of order, expiry, indexes or segments that do not agree with the entries, and
  /// segments that are there for no reason; at opening, segments that were kept although nobody
  /// knows what they belong to.
  public let inconsistencies: UInt64
  /// Writes behind the last checkpoint that were or would be read from the log.
  public let taken: UInt64
  /// Writes behind the last checkpoint that are lost, at least: damaged, missing with their
  /// segment, or given up behind the place where a power cut tore the log. Unless this is 0,
  /// entries may be older than what was lost.
  public let lost: UInt64

  /// What opening found.
  init(recovery raw: larder_store_report) {
    self.init(
      raw, isIntact: raw.journal_lost == 0 && raw.damaged == 0 && raw.inconsistencies == 0)
  }

  /// What a salvage or a rebuild found.
  init(repair raw: larder_store_report) {
    self.init(
      raw,
      isIntact: raw.damaged == 0 && raw.damaged_pages == 0 && raw.uncertain == 0
        && raw.journal_lost == 0)
  }

  init(_ raw: larder_store_report, isIntact: Bool) {
    self.isIntact = isIntact
    intact = raw.intact
    intactBytes = raw.intact_bytes
    damaged = raw.damaged
    uncertain = raw.uncertain
    damagedPages = raw.damaged_pages
    firstDamageOffset = raw.first_damage_offset == 0 ? nil : raw.first_damage_offset
    inconsistencies = raw.inconsistencies
    taken = raw.journal_intact
    lost = raw.journal_lost
  }
}
