// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// A value that is encoded and decoded: two rows.
struct CodingSubject<Value: Codable & Equatable & Sendable> {
  /// What follows `coding.encode` and `coding.decode` in the ids.
  private let suffix: String
  private let description: String
  private let make: @Sendable () -> Value

  init(_ suffix: String, _ description: String, make: @escaping @Sendable () -> Value) {
    self.suffix = suffix
    self.description = description
    self.make = make
  }

  func rows(against rival: CodingRival<Value>) -> [Row] {
    [
      row("encode", rival, rival.encoderName, "Coder.cbor, value to Data") { value, coder, rival in
        let ours = { try encode(value, $0, with: coder.encode) }
        let theirs = { try encode(value, $0, with: rival.encode) }
        return (ours, theirs)
      },
      row("decode", rival, rival.decoderName, "Coder.cbor, Data to value") { value, coder, rival in
        let ourBytes = try coder.encode(value)
        let theirBytes = try rival.encode(value)
        let ours = { try decode(ourBytes, $0, with: coder.decode) }
        let theirs = { try decode(theirBytes, $0, with: rival.decode) }
        return (ours, theirs)
      },
    ]
  }

  /// Runs an operation so many times.
  private typealias Turns = (Int) throws -> Void

  private func row(
    _ verb: String, _ rival: CodingRival<Value>, _ rivalName: String, _ ours: String,
    sides: @escaping (Value, Coder<Value>, CodingRival<Value>) throws -> (Turns, Turns)
  ) -> Row {
    Row(
      id: "coding.\(verb)\(suffix)", ours: "\(ours): \(description)",
      rival: Rival(
        name: rivalName, settings: "\(rival.settings), made once; the same value"),
      goal: .ratio(0.2)
    ) { bench in
      let value = make()
      let coder = Coder<Value>.cbor
      // Speed counts only where the answer is right.
      guard try coder.decode(coder.encode(value)) == value else {
        throw Failure(description: "CBOR gives back another value")
      }
      guard try rival.decode(rival.encode(value)) == value else {
        throw Failure(description: "\(rivalName) gives back another value")
      }
      let (ours, theirs) = try sides(value, coder, rival)
      let ourCount = try bench.turns(ours)
      let theirCount = try bench.turns(theirs)
      return Contest(
        ours: { try bench.time(ourCount, loop: .swift) { try ours(ourCount) } },
        rival: { try bench.time(theirCount, loop: .swift) { try theirs(theirCount) } })
    }
  }
}

@inline(never)
private func encode<Value>(
  _ value: Value, _ count: Int, with encode: (Value) throws -> Data
) throws {
  var bytes = 0
  for _ in 0..<count { bytes += try encode(value).count }
  precondition(bytes > 0 || count == 0)
}

@inline(never)
private func decode<Value>(
  _ bytes: Data, _ count: Int, with decode: (Data) throws -> Value
) throws {
  for _ in 0..<count {
    let value = try decode(bytes)
    withExtendedLifetime(value) {}
  }
}
