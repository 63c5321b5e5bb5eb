// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct ArchiveQuery: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Find elements by their fields.",
    discussion: """
      Prints the elements that meet all conditions, as one JSON object a line, in the order of \
      their primary keys or as --sort says. It goes over one state of the archive, whatever a \
      program writes meanwhile, and reads every element: the indexes of the archive are for its \
      program, which knows what they were made of.

      A condition is a field, an operator and a value. Fields of fields are joined by points, and \
      items of arrays have numbers: address.city, tags.0. A field with other characters in its \
      name stands in quotation marks. Operators are = != < <= > >= and contains, begins, ends and \
      matches; the last one takes a regular expression, and contains looks into arrays, too. \
      Values are JSON, and text needs no quotation marks if it is no number. Dates are text: \
      2026-03-01, 2026-03-01T12:00:00Z, today or yesterday, which are days in UTC, or as larder \
      log cat takes them. A field that is missing is null; one that no element has is named on the \
      standard error, and the exit code is 3. A value of another type than the field has in every \
      element is an error, and the exit code is 64.

      EXAMPLES
        larder archive query users --where 'age >= 30' --sort name
        larder archive query users --where 'name contains "x"' --where 'vip = true'
        larder archive query users --sort age --descending --limit 10 | jq .name
        larder archive query users --where 'email = null' --count
        larder archive query users --where 'address.city = Oslo' --keys
      """)

  @Argument(help: "The archive's folder.", completion: .directory)
  var folder: String

  @Option(
    name: .long, help: ArgumentHelp("A condition to be met.", valueName: "condition"),
    transform: FieldCondition.init)
  var `where`: [FieldCondition] = []

  @Flag(
    name: [.customShort("i"), .long], help: "Letters of either case are the same in conditions.")
  var ignoreCase = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      A field to sort by; given again, the next ones break ties. Missing ones come first, then \
      truth values, numbers, dates and text.
      """, valueName: "field"),
    transform: FieldPath.init)
  var sort: [FieldPath] = []

  @Flag(name: [.customShort("r"), .long], help: "Sort in the opposite order.")
  var descending = false

  @Option(name: .long, help: "Leave out so many, the first ones.")
  var skip: UInt64 = 0

  @Option(name: [.customShort("n", allowingJoined: true), .long], help: "Print at most so many.")
  var limit: UInt64?

  @Flag(name: .long, help: "Print only how many there are.")
  var count = false

  @Flag(name: .customLong("keys"), help: "Print primary keys instead of elements.")
  var printsKeys = false

  @Flag(name: .long, help: "Say on the standard error what was read, and how long it took.")
  var explain = false

  @OptionGroup var element: ElementOptions
  @OptionGroup var keys: CacheKeys

  func validate() throws {
    if count && printsKeys { throw ValidationError("--count goes without --keys.") }
  }

  func run() throws {
    let start = ContinuousClock.now
    let (archive, name, _) = try ArchiveFolder.read(folder)
    var scan = ArchiveScan(
      format: try element.chosen(folder, name), conditions: `where`, ignoresCase: ignoreCase,
      sort: sort, isDescending: descending, skip: skip, limit: limit ?? .max,
      wanted: count ? .count : printsKeys ? .keys : .elements)
    var output = StandardOutput()
    try scan.run(over: archive, keys) { try output.write($0) }
    if let misfit = scan.misfit { throw ValidationError(misfit) }
    if count { try output.write("\(scan.printed)\n") }
    try output.flush()
    if scan.unreadable > 0 {
      StandardError.note(
        "\(folder): \(Quantity.count(scan.unreadable, "element")) "
          + "\(scan.unreadable == 1 ? "is" : "are") left out, not being valid "
          + scan.format.rawValue)
    }
    if explain {
      let order = sort.map(\.text).joined(separator: ", ")
      StandardError.note(
        "\(folder): \(Quantity.count(scan.read, "element")) read by primary key, "
          + "\(Quantity.count(scan.matched)) matched, "
          + (order.isEmpty ? "" : "sorted by \(order), ")
          + "\(Quantity.count(scan.printed)) \(count ? "counted" : "printed"), in "
          + Quantity.time(.now - start))
    }
    let unknown = scan.unknownFields
    if !unknown.isEmpty {
      StandardError.note(
        "\(folder): no element has a field \(unknown.map { "'\($0)'" }.joined(separator: " or "))")
      throw ExitCode(ToolExit.missing)
    }
    try CacheText.endAtDamage(scan.damage)
  }
}
