// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What printing a damaged log, and appending to it, says and exits with.
struct LogDamageTests {
  private let directory: TemporaryDirectory
  private let file: URL
  private var log: String { file.path }

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("log.larder")
    let log = try MessageLog(
      at: .url(file), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    for number in 1...100 { try log.append("message <\(number)>") }
    try log.close()
  }

  private func damage(_ number: Int) throws {
    var bytes = try Data(contentsOf: file)
    let place = try #require(bytes.range(of: Data("<\(number)>".utf8)))
    bytes[place.lowerBound] ^= 1
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  /// A file that was copied is walked when it is opened.
  private func copy() throws -> String {
    let copy = directory.file("copy.larder")
    try Data(contentsOf: file).write(to: copy)
    return copy.path
  }

  static let ways = [
    ["cat"], ["cat", "--json"], ["cat", "--reverse"], ["tail", "-n", "100"],
    ["tail", "--json", "-n", "100"],
  ]

  @Test(arguments: ways, [1, 50, 100])
  func printingADamagedLogExitsWith1(_ way: [String], _ number: Int) throws {
    try damage(number)
    for path in [log, try copy()] {
      let run = try Tool.run(["log"] + way + [path])
      #expect(run.code == 1, "\(run.errors)")
      #expect(run.lines.count == 99)
      #expect(run.errors.contains("damaged, 1 message lost; larder log verify says more"))
    }
  }

  @Test func aLogThatWasCutOffIsDamagedAndItsRestIsPrinted() throws {
    let whole = try Data(contentsOf: file)
    let place = try #require(whole.range(of: Data("<60>".utf8)))
    try whole.prefix(place.lowerBound).write(to: file)
    let verify = try Tool.run("log", "verify", log)
    #expect(verify.code == 1 && verify.errors.isEmpty)
    #expect(verify.text.hasPrefix("\(log): damaged\n  "), "\(verify.text)")
    #expect(verify.text.contains("where its header says 65536"))
    let json = try Tool.run("log", "verify", "--json", log)
    #expect(json.code == 1)
    #expect(try json.object["isIntact"] as? Bool == false)
    for (way, numbers) in [
      (["cat"], Array(1...59)), (["cat", "--reverse"], (1...59).reversed()),
      (["tail", "-n", "2"], [58, 59]), (["cat", "--grep", "<7>"], [7]),
    ] {
      let run = try Tool.run(["log"] + way + [log])
      #expect(run.code == 1)
      #expect(run.lines.map(String.init) == numbers.map { "message <\($0)>" }, "\(way)")
      #expect(run.errors.contains("where its header says 65536"), "\(run.errors)")
    }
    // Where there is no copy, nothing can be shown.
    for way in [["stat"], ["tail", "-f"], ["append"]] {
      #expect(try Tool.run(["log"] + way + [log]).code == 1, "\(way)")
    }
  }

  @Test(arguments: [0, 65536])
  func aFileWithoutAnythingInItIsNoLogToReadAndBecomesOneToAppendTo(count: Int) throws {
    try Data(count: count).write(to: file)
    for way in [["cat"], ["tail"], ["tail", "-f"], ["stat"], ["verify"], ["resize", "--refuse"]] {
      let run = try Tool.run(["log"] + way + [log])
      #expect(run.code == 2 && run.output.isEmpty)
      let words = count == 0 ? "is empty" : "not a Larder file"
      #expect(run.errors.contains(words), "\(way) \(run.errors)")
    }
    let salvage = try Tool.run("log", "salvage", log, directory.file("saved").path)
    #expect(salvage.code == 2 && salvage.errors.contains("not a Larder file"))
    let arguments = ["log", "append", "-q", "--capacity", "64KiB", log]
    #expect(try Tool.run(arguments, input: Data("line\n".utf8)).code == 0)
    #expect(try Tool.run("log", "cat", log).text == "line\n")
  }

  @Test func reportsCanBeLeftOut() throws {
    let saved = directory.file("saved.larder").path
    for code: Int32 in [0, 1] {
      for command in [["verify", log], ["salvage", log, "\(saved)\(code)"]] {
        for options in [["-q"], ["--quiet", "--json"]] {
          let run = try Tool.run(["log"] + command + options)
          if command[0] == "salvage" {
            try FileManager.default.removeItem(atPath: command[2])
          }
          #expect(run.code == code && run.output.isEmpty && run.errors.isEmpty, "\(command)")
        }
      }
      if code == 0 { try damage(50) }
    }
  }

  @Test func whatIsMissingIsNotedWhereItWas() throws {
    try damage(50)
    for way in [["cat"], ["cat", "--reverse"], ["tail", "-n", "60"]] {
      let run = try Tool.run(["log"] + way + [log])
      #expect(run.errors.contains("1 number missing before message 51: "), "\(run.errors)")
    }
  }

  @Test func numbersThatSalvageLeftOutAreNoDamage() throws {
    try damage(50)
    let saved = directory.file("saved.larder").path
    #expect(try Tool.run("log", "salvage", log, saved).code == 1)
    for way in [["cat"], ["cat", "--reverse"], ["tail", "-n", "60"]] {
      let run = try Tool.run(["log"] + way + [saved])
      #expect(run.code == 0 && run.errors.contains("1 number missing before message 51: "))
    }
    #expect(try Tool.run("log", "append", saved, input: Data("line\n".utf8)).code == 0)
  }

  @Test func aDamagedLogIsNotAppendedTo() throws {
    try damage(50)
    let copy = try copy()
    let before = try Data(contentsOf: URL(fileURLWithPath: copy))
    let run = try Tool.run("log", "append", copy, input: Data("line\n".utf8))
    #expect(run.code == 1 && run.output.isEmpty)
    #expect(try Tool.run("log", "resize", "--refuse", copy).code == 1)
    #expect(
      run.errors.hasPrefix(
        "larder: \(copy): damaged, 1 message lost and 99 messages intact; nothing was appended. "
          + "larder log salvage copies "))
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == before)
    let saved = directory.file("saved.larder").path
    #expect(try Tool.run("log", "salvage", copy, saved).code == 1)
    #expect(try Tool.run("log", "append", saved, input: Data("line\n".utf8)).code == 0)
  }

  @Test func aGoodCopyIsAppendedTo() throws {
    let copy = try copy()
    #expect(try Tool.run("log", "append", copy, input: Data("line\n".utf8)).code == 0)
    #expect(try Tool.run("log", "tail", "-n", "1", copy).text == "line\n")
  }

  @Test func aLogThatIsBeingWrittenIsBusyAndNotDamaged() throws {
    try damage(50)
    let writer = try MessageLog(
      at: .url(file), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    let run = try Tool.run("log", "append", log, input: Data("line\n".utf8))
    #expect(run.code == 2 && run.errors.contains("has it open for writing"))
    try writer.close()
  }
}
