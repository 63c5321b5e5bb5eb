// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

enum SampleLogs {
  static let all: [URL] = {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = package.deletingLastPathComponent().appendingPathComponent("shared/samples/logs")
    // A folder that cannot be read is one that is not there.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().map { folder.appendingPathComponent($0) }
  }()
}

/// Real logs of real systems, where a copy of them lies beside the package, in
/// `shared/samples/logs`. They are not part of it.
@Suite(
  .enabled(
    if: !SampleLogs.all.isEmpty, "There are no sample logs in ../shared/samples/logs."))
struct SampleLogTests {
  private let directory: TemporaryDirectory
  private let log: String

  init() throws {
    directory = try TemporaryDirectory()
    log = directory.file("log.larder").path
  }

  @Test(arguments: SampleLogs.all)
  func itComesBackByteForByte(_ sample: URL) throws {
    let input = try Data(contentsOf: sample)
    let append = try Tool.run("log", "append", "--json", log, sample.path)
    #expect(append.code == 0)
    #expect(try append.object["bytes"] as? Int == input.count)
    #expect(try Tool.run("log", "cat", log).output == input)
    #expect(try Tool.run("log", "verify", log).code == 0)
  }

  @Test(arguments: SampleLogs.all)
  func itsEndComesBackByteForByteFromALogThatWrapped(_ sample: URL) throws {
    let input = try Data(contentsOf: sample)
    for capacity in ["4KiB", "20000", "100KiB"] {
      let path = directory.file("wrapped-\(capacity)").path
      // Twice, so that even a short file goes round.
      for _ in 1...2 {
        let append = try Tool.run("log", "append", "--capacity", capacity, path, sample.path)
        #expect(append.code == 0)
      }
      let output = try Tool.run("log", "cat", path).output
      var twice = input
      // A last line without an end is ended by the message that follows.
      if input.last != UInt8(ascii: "\n") { twice.append(UInt8(ascii: "\n")) }
      twice.append(input)
      #expect(!output.isEmpty)
      #expect(output == twice.suffix(output.count), "\(capacity)")
      #expect(try Tool.run("log", "verify", path).code == 0)
    }
  }

  @Test(arguments: SampleLogs.all)
  func itComesBackByteForByteFromATailThatFollowsTheAppend(_ sample: URL) throws {
    let input = try Data(contentsOf: sample)
    _ = try Tool.run("log", "append", log)
    // Whatever was appended before it looked, too.
    let tail = try RunningTool("log", "tail", "-n", "1000000", "-f", log)
    let append = try RunningTool("log", "append", "--quiet", log, sample.path)
    #expect(tail.read(input.count) == input)
    #expect(append.wait().code == 0)
    tail.send(SIGINT)
    let (code, rest, errors) = tail.wait()
    #expect(code == 0 && rest.isEmpty && errors.isEmpty)
  }

  @Test(arguments: SampleLogs.all)
  func itComesBackByteForByteFromATailOfALogThatWraps(_ sample: URL) throws {
    let input = try Data(contentsOf: sample)
    _ = try Tool.run("log", "append", "--capacity", "64KiB", log)
    // Whatever was appended before it looked, too.
    let tail = try RunningTool("log", "tail", "-n", "1000000", "-f", log)
    let append = try RunningTool("log", "append", "--quiet", log)
    // Pieces well below the capacity, each seen by the tail before the next one is appended.
    var offset = 0
    while offset < input.count {
      var end = min(offset + 8_000, input.count)
      while end < input.count, input[end - 1] != UInt8(ascii: "\n") { end += 1 }
      try append.write(String(decoding: input[offset..<end], as: UTF8.self))
      if end == input.count { try append.endInput() }
      #expect(tail.read(end - offset) == input[offset..<end])
      offset = end
    }
    #expect(append.wait().code == 0)
    tail.send(SIGINT)
    let (code, rest, errors) = tail.wait()
    #expect(code == 0 && rest.isEmpty && errors.isEmpty)
  }
}
