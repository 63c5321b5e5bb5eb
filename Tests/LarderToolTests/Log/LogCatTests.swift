// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@Suite struct LogCatTests {
  private let directory: TemporaryDirectory
  private let log: String

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder").path
    let lines = (1...10).map { "m\($0)\n" }.joined()
    _ = try Tool.run("log", "append", log, input: Data(lines.utf8))
  }

  @Test func aRangeOfNumbersCanBePrinted() throws {
    #expect(try Tool.run("log", "cat", "--from", "9", log).text == "m9\nm10\n")
    #expect(try Tool.run("log", "cat", "--last", "2", log).text == "m9\nm10\n")
    #expect(try Tool.run("log", "cat", "--last", "5", "--from", "9", log).text == "m9\nm10\n")
    let none = try Tool.run("log", "cat", "--last", "0", log)
    #expect(none.text == "" && none.errors == "" && none.code == 0)
    #expect(try Tool.run("log", "cat", "--from", "11", log).text == "")
    #expect(try Tool.run("log", "cat", "--last", "1000", log).lines.count == 10)
    #expect(try Tool.run("log", "cat", "--from", "\(UInt64.max)", log).text == "")
  }

  @Test func theNewestComeFirstInReverse() throws {
    let all = try Tool.run("log", "cat", "--reverse", log).lines
    #expect(all == (1...10).reversed().map { "m\($0)" })
    #expect(try Tool.run("log", "cat", "--reverse", "--last", "2", log).text == "m10\nm9\n")
    #expect(try Tool.run("log", "cat", "--reverse", "--from", "9", log).text == "m10\nm9\n")
  }

  @Test func numbersCanBeShown() throws {
    #expect(try Tool.run("log", "cat", "--sequence", "--last", "2", log).text == "9\tm9\n10\tm10\n")
  }

  @Test func eachMessageIsAJSONObjectOnALine() throws {
    let odd = directory.file("odd.larder").path
    let input =
      Data("say \"hi\" \\ \t\u{1}\u{7F}ü\r\n".utf8) + Data([0xFF, 0xFE, 0x0A]) + Data("end".utf8)
    _ = try Tool.run("log", "append", odd, input: input)
    let lines = try Tool.run("log", "cat", "--json", odd).output.split(
      separator: UInt8(ascii: "\n"))
    let objects = try lines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
    }
    #expect(objects.map { $0["sequence"] as? Int } == [1, 2, 3])
    #expect(objects[0]["message"] as? String == "say \"hi\" \\ \t\u{1}\u{7F}ü\r")
    #expect(objects[1]["base64"] as? String == "//4=")
    #expect(objects[1]["message"] == nil)
    #expect(objects[2]["message"] as? String == "end")
    #expect(objects[2]["partial"] as? Bool == true)
    #expect(objects[0]["partial"] == nil && objects[0]["lost"] == nil)
  }

  @Test func aReaderThatGoesAwayIsNoError() throws {
    let large = directory.file("large.larder").path
    let line = String(repeating: "x", count: 99) + "\n"
    let input = Data(String(repeating: line, count: 50_000).utf8)
    _ = try Tool.run("log", "append", large, input: input)
    let cat = try RunningTool("log", "cat", large)
    #expect(cat.readLine() == line)
    try cat.closeOutput()
    let (code, errors) = cat.waitForExit()
    #expect(code == 0)
    #expect(errors.isEmpty)
  }

  @Test func aFullOutputDeviceIsAnError() throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let process = Process()
    process.executableURL = Tool.executable
    process.arguments = ["log", "cat", log]
    process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.exitCode == 2)
    #expect(text.hasPrefix("larder: standard output: cannot write"))
  }
}
