// SPDX-License-Identifier: MIT
import Foundation

/// The coders: values to bytes and back.
enum CodingArea: Area {
  static let name = "coding"
  static let title = "Coders"

  static var rows: [Row] {
    CodingSubject("", "a struct of five fields (id, level, text, date, duration)") {
      Event.sample
    }.rows(against: .json)
      + CodingSubject(".nested", "an order: customer, addresses, four lines, tags, dates") {
        Order.sample
      }.rows(against: .json)
      + CodingSubject(".doubles", "an array of 1,000 doubles, none of them integral") {
        (0..<1000).map { sin(Double($0)) * 1000 + 0.1 }
      }.rows(against: .json)
      + CodingSubject(".data", "a struct of two strings and 10 KB of Data") {
        Attachment.sample
      }.rows(against: .json)
      + CodingSubject(".strings", "a dictionary of 100 strings, keys of 9 bytes, values of 20") {
        Dictionary(
          uniqueKeysWithValues: (100..<200).map { ("field-\($0)", "the value of item \($0)") })
      }.rows(against: .json)
      + CodingSubject(".plist", "a struct of five fields (id, level, text, date, duration)") {
        Event.sample
      }.rows(against: .binaryPlist)
  }
}
