// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What we write, cbor2 reads; and the reverse.
@Suite(
  .enabled(if: CBORPeer.python != nil, Comment(rawValue: CBORPeer.absence)))
struct CBORPeerTests {
  /// A value of ours, and the same in Python.
  private struct Sample {
    let expression: String
    let encode: () throws -> Data
    let expect: (Data) throws -> Bool

    init<T: Codable & Equatable>(_ value: T, _ expression: String) {
      self.expression = expression
      encode = { try CBOREncoder().encode(value) }
      expect = { try CBORDecoder().decode(T.self, from: $0) == value }
    }
  }

  private struct Event: Codable, Equatable {
    var id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    var level = Int8(-3)
    var text = "größe 👩‍👩‍👧"
    var date = Date(timeIntervalSince1970: 1_700_000_000.5)
    var bytes = Data([0, 255])
    var tags: [String?] = ["a", nil]
    var counts = [1: 0.5, -70_000: 2]
    var price = Decimal(string: "-12.34") ?? 0
    var next: [Event]?
  }

  private static let event = """
    {"id": UUID(int=0x000102030405060708090a0b0c0d0e0f), "level": -3, \
    "text": "gr\\u00f6\\u00dfe \\U0001f469\\u200d\\U0001f469\\u200d\\U0001f467", \
    "date": datetime(2023, 11, 14, 22, 13, 20, 500000, utc), "bytes": b"\\0\\xff", \
    "tags": ["a", None], "counts": {1: 0.5, -70000: 2.0}, "price": Decimal("-12.34")
    """

  private static var samples: [Sample] {
    [
      Sample(true, "True"), Sample(Int?.none, "None"), Sample([Int?.none, 0], "[None, 0]"),
      Sample(Int.max, "2**63 - 1"), Sample(Int.min, "-2**63"), Sample(UInt64.max, "2**64 - 1"),
      Sample(Int8.min, "-128"), Sample(UInt16.max, "65535"), Sample(Int32.min, "-2**31"),
      Sample(Int128.max, "2**127 - 1"), Sample(Int128.min, "-2**127"),
      Sample(UInt128.max, "2**128 - 1"), Sample(Int128(UInt64.max) + 1, "2**64"),
      Sample(
        [0, 23, 24, 255, 256, 65_535, 65_536, -1, -24, -25, -256, -257],
        "[0, 23, 24, 255, 256, 65535, 65536, -1, -24, -25, -256, -257]"),
      Sample(
        [0.0, -0.0, 1.5, 0.1, 1e300, 65_504, 65_505, 5.960464477539063e-08, .infinity],
        "[0.0, -0.0, 1.5, 0.1, 1e300, 65504.0, 65505.0, 5.960464477539063e-08, float('inf')]"),
      Sample(Float.pi, "3.1415925025939941"), Sample(Float.leastNonzeroMagnitude, "2.0**-149"),
      Sample("", "''"), Sample("\0\n\"", #""\0\n\"""#), Sample("水", #""\u6c34""#),
      Sample(String(repeating: "x", count: 70_000), "'x' * 70000"),
      Sample(Data(repeating: 7, count: 300), #"b"\x07" * 300"#),
      Sample([String](), "[]"), Sample([String: Int](), "{}"),
      Sample(["a": [1, 2], "": [], "5": [5]], "{'a': [1, 2], '': [], '5': [5]}"),
      Sample([5: "five", -5: "minus"], "{5: 'five', -5: 'minus'}"),
      Sample((0..<1000).map { $0 }, "list(range(1000))"),
      Sample(
        Dictionary(uniqueKeysWithValues: (0..<300).map { ($0, $0) }), "{i: i for i in range(300)}"),
      Sample(Date(timeIntervalSince1970: 0), "datetime(1970, 1, 1, tzinfo=utc)"),
      Sample(
        Date(timeIntervalSince1970: 1_363_896_240), "datetime(2013, 3, 21, 20, 4, tzinfo=utc)"),
      Sample(Date(timeIntervalSince1970: -1.5), "datetime(1969, 12, 31, 23, 59, 58, 500000, utc)"),
      Sample(Decimal(string: "273.15") ?? 0, "Decimal('273.15')"),
      Sample(Decimal(string: "1e20") ?? 0, "Decimal('1e20')"),
      Sample([Decimal(0), Decimal(-1)], "[Decimal(0), Decimal(-1)]"),
      Sample(
        UUID(uuid: (255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)), "UUID(int=(255 << 120) + 1)"
      ),
      Sample(
        [Event(), Event(next: [Event()])],
        "[\(event)}, \(event), 'next': [\(event)}]}]"),
    ]
  }

  @Test func pythonReadsWhatWeWrite() throws {
    let jobs = try Self.samples.map { CBORPeer.Job.compare(try $0.encode(), $0.expression) }
    let url = try #require(URL(string: "https://larder.example/a?b=c"))
    let others: [CBORPeer.Job] = [
      .compare(try cbor(url), "CBORTag(32, 'https://larder.example/a?b=c')"),
      .compare(try cbor(Double.nan), "float('nan')"),
      .compare(try cbor(CBORValue.undefined), "undefined"),
      .compare(try cbor(CBORValue.simple(99)), "CBORSimpleValue(99)"),
      .compare(
        try cbor(Date(timeIntervalSinceReferenceDate: 0.001)),
        "datetime(2001, 1, 1, 0, 0, 0, 1000, utc)"),
      .compare(
        try cbor([UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)): 1]),
        "[UUID(int=1), 1]"),
    ]
    let all = jobs + others
    for (job, answer) in zip(all, try CBORPeer.run(all)) {
      #expect(answer.isEmpty, "\(job): \(answer)")
    }
  }

  @Test(
    arguments: [
      "", "canonical=True", "datetime_as_timestamp=True", "indefinite_containers=True",
      "canonical=True, datetime_as_timestamp=True",
    ])
  func weReadWhatPythonWrites(_ options: String) throws {
    let jobs = Self.samples.map { CBORPeer.Job.dump($0.expression, options) }
    for (sample, answer) in zip(Self.samples, try CBORPeer.run(jobs)) {
      let isRead = Result { try sample.expect(Data(hex: answer)) }
      #expect(
        !answer.isEmpty && (try? isRead.get()) == true,
        "\(sample.expression.prefix(200)): \(answer.prefix(200)), \(isRead)")
    }
  }

  @Test func weReadWhatOnlyPythonWrites() throws {
    let jobs: [CBORPeer.Job] = [
      .dump("datetime(2024, 1, 2, 3, 4, 5, 678, timezone(timedelta(hours=-5)))", ""),
      .dump("datetime(2024, 1, 2, 3, 4, 5)", "timezone=utc"),
      .dump("{'a': (1, 2), 'b': {3}}", ""),
      .dump("Decimal('nan')", ""), .dump("10**30", ""), .dump("-10**30", "canonical=True"),
      .dump("CBORTag(55799, {1: 'x'})", ""),
    ]
    let bytes = try CBORPeer.run(jobs).map { Data(hex: $0) }
    let decoder = CBORDecoder()
    // The nearest to the text is not the nearest to a count of seconds since 1970.
    let date = try decoder.decode(Date.self, from: bytes[0])
    #expect(abs(date.timeIntervalSince1970 - 1_704_182_645.000678) < 1e-6)
    #expect(
      try decoder.decode(Date.self, from: bytes[1]) == Date(timeIntervalSince1970: 1_704_164_645))
    #expect(
      try decoder.decode([String: Set<Int>].self, from: bytes[2]) == ["a": [1, 2], "b": [3]])
    #expect(try decoder.decode(Double.self, from: bytes[3]).isNaN)
    let large: Int128 = 1_000_000_000_000_000_000_000_000_000_000
    #expect(try decoder.decode(Int128.self, from: bytes[4]) == large)
    #expect(try decoder.decode(Int128.self, from: bytes[5]) == -large)
    #expect(try decoder.decode([Int: String].self, from: bytes[6]) == [1: "x"])
  }

  /// An item without tags, whose keys are all text: of other keys cbor2 has the order of the older
  /// RFC 7049, by length first.
  private func item(_ generator: inout SeededGenerator, depth: Int) -> CBORValue {
    switch UInt8.random(in: 0..<(depth > 0 ? 10 : 7), using: &generator) {
    case 0: .unsigned(.make(&generator, plain: false))
    case 1: .negative(.make(&generator, plain: false))
    case 2: .bytes(.make(&generator, plain: false))
    case 3: .text(.make(&generator, plain: false))
    case 4: .bool(.make(&generator, plain: false))
    case 5: .null
    case 6: .float(.make(&generator, plain: Bool.random(using: &generator)))
    case 7:
      .array(
        (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
          item(&generator, depth: depth - 1)
        })
    default:
      .map(
        Dictionary(
          (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
            (String.make(&generator, plain: false), item(&generator, depth: depth - 1))
          }, uniquingKeysWith: { first, _ in first }
        ).map { CBORValue.Pair(.text($0.key), $0.value) })
    }
  }

  @Test func deterministicBytesAreTheCanonicalOnesOfPython() throws {
    var generator = SeededGenerator(seed: 421)
    let items = (0..<500).map { _ in item(&generator, depth: 3) }
    let answers = try CBORPeer.run(try items.map { .canonical(try $0.encoded) })
    for (item, answer) in zip(items, answers) {
      #expect(try cbor(item, deterministic: true).hex == answer, "Seed \(generator.seed): \(item)")
    }
  }
}
