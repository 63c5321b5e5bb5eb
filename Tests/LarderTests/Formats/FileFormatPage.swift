// SPDX-License-Identifier: MIT

import Foundation

/// The tables of the page "File formats", as far as a program can use them.
struct FileFormatPage {
  /// A place in a file, or in a part of one.
  struct Field: Hashable {
    let offset: Int
    let bytes: Int
  }

  /// Which of the page's tables.
  enum Section: String, CaseIterable {
    case fixed = "Fixed header"
    case state = "State"
    case opened = "Opened"
    case floor = "Floor"
    case session = "Session"
    case cursor = "Cursor slots"
    case record = "Records"
    case storeRecord = "Records of a store"
    case meta = "Meta record"
    case segment = "Segments"
    case row = "Rows of entries"
    case entryHead = "Head of an entry"
  }

  /// By section and name.
  private(set) var fields: [Section: [String: Field]] = [:]
  /// Places that the page says are 0.
  private(set) var zeros: [Section: [Field]] = [:]

  init() {
    let page = Documentation.page("Sources/Larder/Larder.docc/FileFormats.md")
    var section: Section?
    for line in page.text.split(separator: "\n") {
      if line.hasPrefix("#") {
        section = Section(rawValue: String(line.drop { $0 == "#" || $0 == " " }))
      }
      let row = /\| (\d+) \| (\d+) \| (?:`([a-z_0-9]+)`)? ?\| (.*) \|/
      guard let section, let match = line.wholeMatch(of: row),
        let offset = Int(match.1), let bytes = Int(match.2)
      else { continue }
      let field = Field(offset: offset, bytes: bytes)
      if let name = match.3 {
        fields[section, default: [:]][String(name)] = field
      } else {
        zeros[section, default: []].append(field)
      }
    }
  }
}

/// A ring's file as bytes, read by nothing but what the page says.
struct RingImage {
  /// A record as it lies in the file.
  struct Record: Equatable {
    let tag: Tag
    let payload: Data
    var sequence: UInt64 { tag.sequence }
  }

  /// A record's number and what is said along with it.
  struct Tag: Equatable {
    let sequence: UInt64
    let isAfterGap: Bool
    let generation: UInt64

    init(_ value: UInt64) {
      sequence = value & 0x007F_FFFF_FFFF_FFFF
      isAfterGap = value >> 55 & 1 == 1
      generation = value >> 56
    }
  }

  /// What contradicts the page.
  struct Contradiction: Error {
    let text: String
    let position: Int
  }

  let page: FileFormatPage
  let bytes: Data

  init(_ url: URL, page: FileFormatPage) throws {
    self.page = page
    self.bytes = try Data(contentsOf: url)
  }

  func bytes(_ section: FileFormatPage.Section, _ name: String, at base: Int = 0) throws -> Data {
    guard let field = page.fields[section]?[name] else {
      throw Contradiction(text: "There is no \(name) in \(section.rawValue).", position: 0)
    }
    return bytes(base + field.offset, field.bytes)
  }

  func bytes(_ offset: Int, _ count: Int) -> Data { Data(bytes[offset..<offset + count]) }

  /// A little-endian number.
  func number(
    _ section: FileFormatPage.Section, _ name: String, at base: Int = 0
  ) throws -> UInt64 {
    try bytes(section, name, at: base).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The publication that holds.
  func published() throws -> (newest: UInt64, end: UInt64) {
    let both = try ["0", "1"].map {
      (newest: try number(.state, "newest_\($0)"), end: try number(.state, "end_\($0)"))
    }
    return both[0].end > both[1].end ? both[0] : both[1]
  }

  /// The live records, from the oldest to the newest.
  func records() throws -> [Record] {
    let dataOffset = Int(try number(.fixed, "data_offset"))
    let dataBytes = Int(try number(.fixed, "data_bytes"))
    let salt = UInt32(try number(.fixed, "salt"))
    var offset = Int(try number(.state, "oldest"))
    let end = Int(try published().end)
    var records: [Record] = []
    var pad: UInt64?
    while offset < end {
      let position = offset % dataBytes
      let rest = dataBytes - position
      if rest < 16 {
        offset += rest
        continue
      }
      let place = dataOffset + position
      let word = try number(.record, "word", at: place)
      let tag = Tag(try number(.record, "tag", at: place))
      let isPad = word == 0xFFFF_FFFF
      let length = isPad ? 0 : Int(word & 0x7FFF_FFFF)
      let payload = bytes(place + 16, length)
      var crc = CRC32C(goingOnFrom: salt)
      crc.add(payload)
      crc.add(try bytes(.record, "word", at: place))
      crc.add(withUnsafeBytes(of: UInt32(position / 8).littleEndian) { Data($0) })
      crc.add(try bytes(.record, "tag", at: place))
      guard UInt64(crc.value) == (try number(.record, "crc", at: place)) else {
        throw Contradiction(text: "The checksum does not agree.", position: position)
      }
      if let pad, pad != tag.sequence {
        throw Contradiction(text: "A pad announced \(pad).", position: position)
      }
      pad = isPad ? tag.sequence : nil
      if !isPad {
        if let last = records.last, tag.sequence != last.sequence + 1,
          !tag.isAfterGap || tag.sequence <= last.sequence
        {
          throw Contradiction(text: "It comes after \(last.sequence).", position: position)
        }
        records.append(Record(tag: tag, payload: payload))
      }
      offset += isPad ? rest : (16 + length + 7) / 8 * 8
    }
    return records
  }
}

/// CRC-32C, bit by bit.
struct CRC32C {
  private var state: UInt32

  init(goingOnFrom value: UInt32 = 0) { state = ~value }

  var value: UInt32 { ~state }

  mutating func add(_ bytes: Data) {
    for byte in bytes {
      state ^= UInt32(byte)
      for _ in 0..<8 { state = state & 1 == 0 ? state >> 1 : state >> 1 ^ 0x82F6_3B78 }
    }
  }

  static func of(_ bytes: Data) -> UInt64 {
    var crc = CRC32C()
    crc.add(bytes)
    return UInt64(crc.value)
  }
}
