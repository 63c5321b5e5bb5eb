// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderCompression

/// Values too large for one call of zlib, shown by calls that take less.
@Suite struct ZlibStreamsTests {
  @Test(arguments: [1, 2, 7, 1000, 4096])
  func chunksOfAnySizeMakeAndReadTheSameStream(chunk: Int) throws {
    var generator = SeededGenerator(seed: 55)
    for size in [0, 1, 6, 7, 8, 999, 1000, 1001, 20_000] {
      let value = Data(generator.bytes(size).map { $0 & 7 })
      let whole = try #require(try deflate(value, room: size + 100, chunk: 1 << 30))
      let pieces = try #require(try deflate(value, room: size + 100, chunk: chunk))
      #expect(try inflate(pieces, size, chunk: 1 << 30) == value, "seed \(generator.seed)")
      #expect(try inflate(whole, size, chunk: chunk) == value, "seed \(generator.seed)")

      let exact = try deflate(value, room: pieces.count + 1, chunk: chunk)
      #expect(exact == pieces)
      #expect(try deflate(value, room: pieces.count, chunk: chunk) == nil)

      #expect(errorCode { try inflate(pieces.dropLast(), size, chunk: chunk) } == .decoding)
      #expect(errorCode { try inflate(pieces + [0], size, chunk: chunk) } == .decoding)
      #expect(errorCode { try inflate(pieces, size + 1, chunk: chunk) } == .decoding)
      guard size > 0 else { continue }
      #expect(errorCode { try inflate(pieces, size - 1, chunk: chunk) } == .decoding)
    }
  }

  private func deflate(_ value: Data, room: Int, chunk: Int) throws -> Data? {
    var target = [UInt8](repeating: 0, count: room)
    let count = try target.withUnsafeMutableBytes { target in
      try value.withUnsafeBytes { source in
        try DeflateStream.deflate(source, into: target, level: .default, chunk: chunk)
      }
    }
    return count.map { Data(target.prefix($0)) }
  }

  private func inflate(_ stream: Data, _ count: Int, chunk: Int) throws -> Data {
    var target = Data(count: count)
    try target.withUnsafeMutableBytes { target in
      try stream.withUnsafeBytes { source in
        try InflateStream.inflate(source, into: target, chunk: chunk)
      }
    }
    return target
  }
}
