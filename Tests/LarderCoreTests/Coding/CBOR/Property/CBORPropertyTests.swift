// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Generated types do with CBOR what they do with JSON.
///
/// `LARDER_SEED` repeats one seed.
struct CBORPropertyTests {
  /// Whether dates are tagged in CBOR, as they are by default, or the same number as in JSON.
  private struct Coders {
    let tagsDates: Bool
    let cborEncoder: CBOREncoder
    let cborDecoder: CBORDecoder

    init(tagsDates: Bool, isDeterministic: Bool = false) {
      self.tagsDates = tagsDates
      var encoder = CBOREncoder()
      var decoder = CBORDecoder()
      encoder.isDeterministic = isDeterministic
      if !tagsDates {
        encoder.dateEncodingStrategy = .deferredToDate
        decoder.dateDecodingStrategy = .deferredToDate
      }
      cborEncoder = encoder
      cborDecoder = decoder
    }

    func encodeBoth(_ value: GeneratedValue) -> (
      json: Result<Data, any Error>, cbor: Result<Data, any Error>
    ) {
      (Result { try JSONEncoder().encode(value) }, Result { try cborEncoder.encode(value) })
    }

    func decodeJSON(_ schema: Schema, _ bytes: Data) -> Outcome {
      let decoder = JSONDecoder()
      let stack = SchemaStack(schema)
      decoder.userInfo[SchemaStack.key] = stack
      return Outcome(stack) { try decoder.decode(GeneratedValue.self, from: bytes).tree }
    }

    func decodeCBOR(_ schema: Schema, _ bytes: Data) -> Outcome {
      var decoder = cborDecoder
      let stack = SchemaStack(schema)
      decoder.userInfo[SchemaStack.key] = stack
      return Outcome(stack) { try decoder.decode(GeneratedValue.self, from: bytes).tree }
    }
  }

  /// What became of the decoding of some bytes.
  private struct Outcome {
    var tree: Tree?
    var failure: CodingFailure?
    /// The coding path of the leaf that was decoded last.
    let lastLeaf: [String]

    init(_ stack: SchemaStack, _ body: () throws -> Tree) {
      do { tree = try body() } catch { failure = CodingFailure(error) }
      lastLeaf = stack.lastLeaf
    }

    func agrees(withJSON json: Outcome) -> Bool {
      if lastLeaf != json.lastLeaf { return false }
      // Of a number that does not fit a type, Foundation loses the path.
      if json.failure == .corrupted([]), case .corrupted(let path)? = failure {
        return path.starts(with: lastLeaf)
      }
      return tree == json.tree && failure == json.failure
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func whatIsEncodedComesBackAsItDoesFromJSON(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<effort(120, long: 400) {
      let schema = Schema.make(&generator, depth: 3)
      let tree = schema.tree(&generator, plain: false)
      let value = GeneratedValue(schema, tree)
      let coders = Coders(tagsDates: round % 2 == 0, isDeterministic: round % 3 == 0)
      let cbor = coders.decodeCBOR(schema, try coders.cborEncoder.encode(value))
      let json = coders.decodeJSON(schema, try JSONEncoder().encode(value))
      #expect(cbor.tree == tree, "Seed \(generator.seed), round \(round): \(cbor), \(schema)")
      #expect(json.tree == tree, "Seed \(generator.seed), round \(round): \(json), \(schema)")
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func whatIsReadAsAnotherTypeHasTheOutcomeOfJSON(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<effort(120, long: 400) {
      let schema = Schema.make(&generator, depth: 3)
      let tree = schema.tree(&generator, plain: true)
      let value = GeneratedValue(schema, tree)
      let coders = Coders(tagsDates: round % 2 == 0)
      let cborBytes = try coders.cborEncoder.encode(value)
      let jsonBytes = try JSONEncoder().encode(value)
      for _ in 0..<5 {
        let other = schema.mutated(&generator, tagsDates: coders.tagsDates)
        let cbor = coders.decodeCBOR(other, cborBytes)
        let json = coders.decodeJSON(other, jsonBytes)
        #expect(
          cbor.agrees(withJSON: json),
          """
          Seed \(generator.seed), round \(round): CBOR \(cbor), JSON \(json); \(cborBytes.hex); \
          \(String(decoding: jsonBytes, as: UTF8.self)); \(other)
          """)
      }
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func whatCannotBeEncodedFailsAsItDoesInJSON(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<effort(120, long: 400) {
      let faults: [any Leaf.Type] = [PathBomb.self, LateBomb.self, OtherBomb.self, Nothing.self]
      let fault = faults.randomElement(using: &generator) ?? PathBomb.self
      var schema = Schema.make(&generator, depth: 3)
      let place = Int.random(in: 0..<schema.placeCount, using: &generator)
      schema = schema.replacing(place) { _ in .leaf(fault) }
      let tree = schema.tree(&generator, plain: true, isFull: true)
      let coders = Coders(tagsDates: true)
      let (json, cbor) = coders.encodeBoth(GeneratedValue(schema, tree))
      switch (json, cbor) {
      case (.failure(let json), .failure(let cbor)):
        var expected = CodingFailure(json)
        // Foundation loses the key of a nested container.
        if case .invalidValue = expected { expected = .invalidValue(schema.path(to: place)) }
        #expect(
          CodingFailure(cbor) == expected, "Seed \(generator.seed), round \(round): \(schema)")
      case (.success(let json), .success(let cbor)):
        // A value that writes nothing is an empty object.
        let read = schema.replacing(place) { _ in .object([]) }
        #expect(
          coders.decodeCBOR(read, cbor).agrees(withJSON: coders.decodeJSON(read, json)),
          "Seed \(generator.seed), round \(round): \(cbor.hex), \(schema)")
      default:
        Issue.record("Seed \(generator.seed), round \(round): \(json), \(cbor), \(schema)")
      }
    }
  }
}
