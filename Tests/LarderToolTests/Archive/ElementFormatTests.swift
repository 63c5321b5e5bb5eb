// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import Testing

@testable import LarderLogTool
@testable import LarderTool

@Suite struct ElementFormatTests {
  private struct Sample: Codable {
    var flag = true
    var count = -3
    var large = UInt64.max
    var ratio = 0.5
    var text = "text"
    var when = Date(timeIntervalSince1970: 86_400)
    var bytes = Data([1, 2, 3])
    var list = [1, 0]
    var nothing: String? = nil
  }

  private func json(_ format: ElementFormat, _ bytes: Data) throws -> String {
    var text = CBORText()
    text.convert(try format.value(bytes))
    return String(decoding: text.json, as: UTF8.self)
  }

  @Test func everyFormatComesOutAsJSON() throws {
    let sample = Sample()
    let cbor = try json(.cbor, Coder<Sample>.cbor.encode(sample))
    #expect(cbor.contains(#""flag":true"#) && cbor.contains(#""when":"1970-01-02T00:00:00Z""#))
    let plist = try json(.plist, Coder<Sample>.binaryPlist.encode(sample))
    for part in [
      #""flag":true"#, #""count":-3"#, #""large":18446744073709551615"#, #""ratio":0.5"#,
      #""text":"text""#, #""when":"1970-01-02T00:00:00Z""#, #""bytes":"AQID""#, #""list":[1,0]"#,
    ] {
      #expect(plist.contains(part), "\(part) in \(plist)")
    }
    let text = try json(.json, Coder<Sample>.json.encode(sample))
    for part in [#""flag":true"#, #""count":-3"#, #""ratio":0.5"#, #""list":[1,0]"#] {
      #expect(text.contains(part), "\(part) in \(text)")
    }
  }

  @Test func fragmentsAreElementsToo() throws {
    #expect(try json(.json, Data("7".utf8)) == "7")
    #expect(try json(.json, Data("null".utf8)) == "null")
    #expect(try json(.json, Data("[true, 1, 1.0]".utf8)).hasPrefix("[true,1,1"))
  }

  @Test(arguments: ElementFormat.allCases)
  func bytesOfAnotherKindAreAnError(_ format: ElementFormat) {
    #expect(throws: (any Error).self) { try format.value(Data([0xFF, 0, 1])) }
    #expect(throws: (any Error).self) { try format.value(Data()) }
  }

  @Test func theNamesOfLardersCodersAreFoundByTheirNumbers() {
    for name in ["", "cbor", "json", "plist", "data", "cbor+z", "json+ze"] {
      #expect(ArchiveFolder.name(ofCoder: ArchiveFormat.number(ofCoder: name)) == name)
    }
    #expect(ArchiveFolder.name(ofCoder: ArchiveFormat.number(ofCoder: "mine")) == nil)
  }
}
