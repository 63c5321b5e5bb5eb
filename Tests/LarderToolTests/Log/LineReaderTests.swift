// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

@testable import LarderLogTool

@Suite struct LineReaderTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func lines(
    of input: Data, chunkSize: Int, longest: Int = .max
  ) throws -> (lines: [Data], partial: [Bool], bytes: UInt64) {
    let file = directory.file(UUID().uuidString)
    try input.write(to: file)
    let descriptor = open(file.path, O_RDONLY)
    defer { close(descriptor) }
    var reader = LineReader(
      descriptor: descriptor, name: "input", terminator: UInt8(ascii: "\n"),
      limits: LineLimits(longest: longest), chunkSize: chunkSize)
    var lines: [Data] = []
    var partial: [Bool] = []
    while try reader.read({ batch in
      lines += batch.map { Data($0.bytes) }
      partial += batch.map(\.isPartial)
    }) {}
    #expect(reader.lineCount == UInt64(lines.count))
    return (lines, partial, reader.byteCount)
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
      #expect(
        result.partial == expected.indices.map { isPartial && $0 == expected.count - 1 },
        "\(comment)")
      #expect(result.bytes == UInt64(input.count), "\(comment)")
    }
  }

  @Test(arguments: [64, 1 << 20])
  func aLineBeyondTheLimitBecomesPiecesWhichJoinedAreTheLine(chunkSize: Int) throws {
    for count in [1_001, 1_002, 1_250, 10_000] {
      let line = Data((0..<count).map { UInt8(0x61 + $0 % 26) })
      for end in ["\n", "", "\nnext\n"] {
        let input = Data("ok\n".utf8) + line + Data(end.utf8)
        let result = try lines(of: input, chunkSize: chunkSize, longest: 1_000)
        let joined = zip(result.lines, result.partial).reduce(into: Data()) { joined, line in
          joined += line.0 + (line.1 ? Data() : Data("\n".utf8))
        }
        #expect(joined == input, "\(count) \(end)")
        #expect(result.bytes == UInt64(input.count))
        #expect(result.lines.allSatisfy { $0.count <= 1_000 })
        // Every one but the last says by its length that the line goes on.
        let pieces = result.lines.dropFirst().prefix { $0 != Data("next".utf8) }
        #expect(pieces.dropLast().allSatisfy { $0.count == 250 } && pieces.last?.count ?? 0 <= 250)
      }
    }
    let whole = Data(repeating: 0x78, count: 1_000) + Data("\n".utf8)
    #expect(try lines(of: whole, chunkSize: chunkSize, longest: 1_000).lines.count == 1)
  }
}
