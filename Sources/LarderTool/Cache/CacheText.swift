// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderCore
import LarderLogTool

/// What several commands say about caches.
enum CacheText {
  /// `1 entry`, `2,000 entries`.
  static func entries(_ count: some BinaryInteger, _ adjective: String = "") -> String {
    let word = count == 1 ? "entry" : "entries"
    return "\(Quantity.count(count)) \(adjective)\(adjective.isEmpty ? "" : " ")\(word)"
  }

  /// What is intact: `1,000 intact entries of 12.3 KiB`.
  static func intact(_ report: StoreReport) -> String {
    entries(report.intact, "intact") + " of \(Quantity.bytes(report.intactBytes))"
  }

  /// What is wrong, one finding a line; empty if nothing is.
  ///
  /// - Parameter keptUncertain: Whether entries that may be outdated were kept.
  static func findings(_ report: StoreReport, keptUncertain: Bool = false) -> [String] {
    var findings: [String] = []
    if report.damaged > 0 { findings.append(entries(report.damaged, "damaged")) }
    if report.uncertain > 0 {
      findings.append(
        entries(report.uncertain)
          + " \(keptUncertain ? "kept" : "left out"): what was lost may have been newer"
          + (keptUncertain ? "" : "; --keep-uncertain keeps them"))
    }
    if report.damagedPages > 0 {
      findings.append("\(Quantity.count(report.damagedPages, "page")) of data.mdb cannot be read")
    }
    if let offset = report.firstDamageOffset {
      findings.append("the first damage is at offset \(Quantity.count(offset)) of data.mdb")
    }
    if report.inconsistencies > 0 {
      let count = report.inconsistencies
      findings.append(
        count == 1
          ? "1 row of order, expiry or an index, or segment, does not agree with the entries"
          : "\(Quantity.count(count)) rows of order, expiry or indexes, or segments, do "
            + "not agree with the entries")
    }
    if report.lost > 0 {
      findings.append(
        "\(Quantity.count(report.lost, "write")) lost behind the last checkpoint, at least")
    }
    return findings
  }

  /// Ends a list that lacks what is damaged.
  ///
  /// - Parameter damage: What is wrong with the first entry that was left out; nil: none was.
  static func endAtDamage(_ damage: LarderError?) throws {
    guard let damage else { return }
    StandardError.note(damage.message)
    throw ExitCode(ToolExit.damage)
  }

  static func add(_ report: StoreReport, to object: inout JSONObject) {
    object.add("isIntact", report.isIntact)
    object.add("intact", report.intact)
    object.add("intactBytes", report.intactBytes)
    object.add("damaged", report.damaged)
    object.add("uncertain", report.uncertain)
    object.add("damagedPages", report.damagedPages)
    object.add("firstDamageOffset", report.firstDamageOffset)
    object.add("inconsistencies", report.inconsistencies)
    object.add("taken", report.taken)
    object.add("lost", report.lost)
  }
}
