// SPDX-License-Identifier: MIT
import LarderTestSupport

/// What the command line asks for.
struct Options {
  var area: String?
  var families: [String] = []
  var seconds = 0.0
  var seed: UInt64 = 0
  var onlyCase: Int?
  var isShort = false
  var stops = false
  var keeps = false
  var directory: String?
  var plant: Plant?
  var isHelp = false

  static var usage: String {
    let families = Family.all.map { family in
      "  \(padded(family.name, 9)) \(padded(family.area, 9)) \(family.summary)"
    }
    return """
      Usage: LarderTorture [options]

      Hurts stores in every way they must survive, for about a minute, prints one
      line for each family of trials and ends with 'N passed, M failed'. Fails if anything did.

        --area NAME       what to torture: entry, archive, migration, suspend,
                          queue, names or all; or remote, which has options of its own,
                          see --area remote --help, and needs the trait Remote
        --seconds N       time for everything together (default 60)
        --seed N          seed of all random choices (default: a new one, printed)
        --family NAME     only this family; may be given several times
        --case N          only this case of each family, as a failure tells it
        --short           about ten seconds
        --stop            stop a family at its first failure
        --keep            leave the files of the last case behind
        --directory PATH  where files go (default: /dev/shm, else the folder for temporary files)
        --plant NAME      behave as if the library had a defect, which is then to be found:
                          \(Plant.allCases.map(\.rawValue).joined(separator: ", "))
        --help            this text

      Families:
      \(families.joined(separator: "\n"))

      Examples:
        LarderTorture --seconds 120
        LarderTorture --area archive --family kill --seed 42
      """
  }

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var words = CommandLineWords(arguments)
    var seed: UInt64?
    var seconds: UInt64?
    while let argument = words.next() {
      switch argument {
      case "--area": area = try words.value()
      case "--family": families.append(try words.value())
      case "--seconds": seconds = try words.number()
      case "--seed": seed = try words.number()
      case "--case": onlyCase = Int(clamping: try words.number())
      case "--directory": directory = try words.value()
      case "--plant": plant = try words.choice("defect", Plant.self)
      case "--short": isShort = true
      case "--stop": stops = true
      case "--keep": keeps = true
      case "--help", "-h": isHelp = true
      default: throw UsageError("'\(argument)' is not an option")
      }
    }
    self.seed = seed ?? UInt64.random(in: 0..<1_000_000_000)
    self.seconds = seconds.map { Double($0) } ?? (isShort ? 10 : 60)
    try validate()
  }

  private mutating func validate() throws(UsageError) {
    if area == "all" { area = nil }
    if let area, !Family.all.contains(where: { $0.area == area }) {
      throw UsageError(
        """
        no area is called '\(area)'; there are: entry, archive, migration, suspend, queue, names, \
        all
        """)
    }
    for name in families where !Family.all.contains(where: { $0.name == name }) {
      throw UsageError("no family is called '\(name)'")
    }
  }

  /// The families that were asked for.
  var wanted: [Family] {
    Family.all.filter { family in
      (area ?? family.area) == family.area
        && (families.isEmpty || families.contains(family.name))
    }
  }
}

/// The text with spaces behind it, up to that width.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}
