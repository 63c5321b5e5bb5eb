// SPDX-License-Identifier: MIT

#if Encryption
  import Crypto
  import Foundation
  import LarderCompression
  import LarderCore
  import LarderEncryption
  import LarderTestSupport
  import Testing

  /// What the article on coders shows of coders that are made of coders.
  @Suite("The examples on composed coders") struct CompositionExamples {
    private struct Event: Codable, Sendable {
      var level: Int
      var text: String
    }

    @Test func compressedAndEncrypted() throws {
      let directory = try TemporaryDirectory()
      let file = directory.file("a.larder")
      // Example: composition
      let key = SymmetricKey(size: .bits256)  // Store it where only this program can read it.
      let log = try MessageLog<Event>(
        at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
        coder: .cbor.compressed().encrypted(with: key))
      // End of example
      let text = String(repeating: "again and ", count: 100)
      try log.append(Event(level: 1, text: text))
      #expect(try log.messages().map(\.text) == [text])
      let statistics = try log.statistics
      #expect(statistics.format == "cbor+ze")
      #expect(statistics.size < 200)
      #expect(try Data(contentsOf: file).firstRange(of: Data("again".utf8)) == nil)
    }
  }
#endif
