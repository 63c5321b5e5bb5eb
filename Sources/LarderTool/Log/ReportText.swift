// SPDX-License-Identifier: MIT
package import LarderCore

/// What `verify` and `salvage` say about a report.
package enum ReportText {
  /// What is wrong, one finding a line; empty if nothing is.
  package static func findings(_ report: LogReport) -> [String] {
    var findings: [String] = []
    if report.isHeaderDamaged {
      findings.append("the header is damaged; its backup is good")
    }
    if report.isStateDamaged {
      findings.append("the ring's state is damaged; it was found again from the messages")
    }
    if report.damagedPlaces > 0 {
      var text = "\(Quantity.count(report.damagedPlaces, "damaged place")), "
      text += Quantity.count(report.damagedBytes, "byte")
      if let offset = report.firstDamageOffset {
        text += "; the first at offset \(Quantity.count(offset)) of the file"
      }
      findings.append(text)
    } else if let offset = report.firstDamageOffset {
      findings.append("damage at offset \(Quantity.count(offset)) of the file")
    }
    if report.lost > 0 {
      var text = "\(Quantity.count(report.lost, "message")) lost"
      if report.cut > 0 { text += ", \(Quantity.count(report.cut)) of them behind a torn page" }
      findings.append(text)
    }
    return findings
  }

  /// Says of something that it is too damaged to be opened.
  ///
  /// - Parameter key: What the path is called in JSON.
  package static func print(
    damage: LarderError, of path: String, as key: String, json: Bool
  ) throws {
    guard json else {
      return try StandardOutput.line("\(path): damaged\n  \(damage.message)")
    }
    var object = JSONObject()
    object.add(key, path)
    object.add("isIntact", false)
    object.add("error", damage.message)
    try StandardOutput.line(object.line)
  }

  static func messages(_ report: LogReport) -> String {
    var text = Quantity.count(report.intact, "intact message")
    if let oldest = report.oldestSequence, let newest = report.newestSequence {
      text += " (\(Quantity.count(oldest)) to \(Quantity.count(newest)))"
    }
    return text
  }

  static func add(_ report: LogReport, to object: inout JSONObject) {
    object.add("intact", report.intact)
    object.add("lost", report.lost)
    object.add("cut", report.cut)
    object.add("damagedPlaces", report.damagedPlaces)
    object.add("damagedBytes", report.damagedBytes)
    object.add("firstDamageOffset", report.firstDamageOffset)
    object.add("oldestSequence", report.oldestSequence)
    object.add("newestSequence", report.newestSequence)
    object.add("wasClosed", report.wasClosed)
    object.add("isHeaderDamaged", report.isHeaderDamaged)
    object.add("isStateDamaged", report.isStateDamaged)
  }
}
