// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@testable import LarderLogTool

@Suite struct LineReaderTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func lines(
    of input: Data, chunkSize: Int, longestLine: Int = .max
  ) throws -> (lines: [Data], isPartial: Bool, bytes: UInt64) {
    let file = directory.file(UUID().uuidString)
    try input.write(to: file)
    let descriptor = open(file.path, O_RDONLY)
    defer { close(descriptor) }
    var reader = LineReader(
      descriptor: descriptor, name: "input", terminator: UInt8(ascii: "\n"),
      longestLine: longestLine, chunkSize: chunkSize)
    var lines: [Data] = []
    var isPartial = false
    while try reader.read({ batch in
      #expect(!isPartial)
      lines += batch.lines.map { Data($0) }
      isPartial = batch.endsPartial
    }) {}
    #expect(reader.lineCount == UInt64(lines.count))
    return (lines, isPartial, reader.byteCount)
  }

  @Test func linesAreTheSameWhateverTheChunkSize() throws {
    var generator = SeededGenerator(seed: 0x11E5)
    for round in 0..<200 {
      var input = Data()
      for _ in 0..<Int.random(in: 0...20, using: &generator) {
        let count = Int.random(in: 0...30, using: &generator)
        input.append(Data(generator.bytes(count).map { $0 == 0x0A ? 0x20 : $0 }))
        input.append(UInt8(ascii: "\n"))
      }
      if Bool.random(using: &generator) { input.append(Data("end".utf8)) }
      let chunkSize = Int.random(in: 1...64, using: &generator)
      let result = try lines(of: input, chunkSize: chunkSize)
      var expected = input.split(
        separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
      ).map { Data($0) }
      let isPartial = expected.last?.isEmpty == false
      if !isPartial { expected.removeLast() }
      let comment = "seed \(generator.seed), round \(round), chunks of \(chunkSize)"
      #expect(result.lines == expected, "\(comment)")
      #expect(result.isPartial == isPartial, "\(comment)")
      #expect(result.bytes == UInt64(input.count), "\(comment)")
    }
  }

  @Test func aLineBeyondTheLimitIsAnErrorHoweverItIsCut() throws {
    let input = Data("ok\n".utf8) + Data(repeating: 0x78, count: 10_000) + Data("\n".utf8)
    #expect(throws: ToolFailure.self) { try lines(of: input, chunkSize: 64, longestLine: 1_000) }
    #expect(try lines(of: input, chunkSize: 64, longestLine: 10_000).lines.count == 2)
  }
}
