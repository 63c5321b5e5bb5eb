// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// The files of a folder, to be hurt and written again and again.
struct Specimen {
  private(set) var files: [String: Data] = [:]

  /// Reads them, whoever has the folder open.
  init(_ folder: String) throws {
    let manager = FileManager.default
    for name in try manager.subpathsOfDirectory(atPath: folder) {
      let path = "\(folder)/\(name)"
      var isFolder: ObjCBool = false
      guard manager.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
        continue
      }
      files[name] = try Data(contentsOf: URL(fileURLWithPath: path))
    }
  }

  /// What can be hurt: not the file that only says who has the folder.
  var names: [String] { files.keys.filter { !$0.contains("lock") && files[$0] != Data() }.sorted() }

  func write(to folder: String) throws {
    for (name, bytes) in files {
      let url = URL(fileURLWithPath: folder).appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      // Not through Foundation, which would sync each.
      guard let file = fopen(url.path, "w") else { throw Broken("cannot write the specimen") }
      let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
      guard fclose(file) == 0, written == bytes.count else {
        throw Broken("cannot write the specimen")
      }
    }
  }

  /// Where these bytes lie; they may lie in several places.
  func places(of bytes: Data) -> [(name: String, range: Range<Int>)] {
    var places: [(String, Range<Int>)] = []
    for (name, content) in files {
      var start = content.startIndex
      while let found = content.range(of: bytes, in: start..<content.endIndex) {
        places.append((name, found))
        start = found.upperBound
      }
    }
    return places
  }

  /// Hurts one file, drawn.
  ///
  /// - Returns: What was done, and where.
  mutating func hurt(_ dice: inout Dice) -> Injury {
    // Large files have more places to be hurt, small ones have their own turn.
    let name = dice.oneIn(3) ? dice.pick(names) : dice.pick(names.filter { $0 == "data.mdb" })
    let bytes = files[name] ?? Data()
    let unit = dice.pick([512, 4096])
    let start = dice.below((bytes.count + unit - 1) / unit) * unit
    let end = min(start + unit, bytes.count)
    switch dice.below(8) {
    case 0:
      files[name]?.replaceSubrange(start..<end, with: Data(count: end - start))
      return Injury("zeros", name, start..<end)
    case 1:
      let noise = Data((start..<end).map { _ in UInt8(truncatingIfNeeded: dice.next()) })
      files[name]?.replaceSubrange(start..<end, with: noise)
      return Injury("noise", name, start..<end)
    case 2:
      let cut = dice.below(bytes.count)
      files[name] = Data(bytes.prefix(cut))
      return Injury("cut", name, cut..<bytes.count)
    case 3:
      let source = dice.below(max(1, bytes.count / unit)) * unit
      let copy = bytes.dropFirst(source).prefix(end - start)
      files[name]?.replaceSubrange(start..<start + copy.count, with: Data(copy))
      return Injury("a page twice", name, start..<end)
    default: return flip(name, at: dice.below(bytes.count), &dice)
    }
  }

  /// Changes one byte.
  mutating func flip(_ name: String, at offset: Int, _ dice: inout Dice) -> Injury {
    let was = files[name]?[offset] ?? 0
    let change = dice.oneIn(4) ? dice.pick([was, ~was]) : UInt8(1 << dice.below(8))
    files[name]?[offset] = was ^ (change == 0 ? 1 : change)
    return Injury("a byte", name, offset..<offset + 1)
  }
}

/// What was done to a file.
struct Injury: CustomStringConvertible {
  let way: String
  let name: String
  let range: Range<Int>

  init(_ way: String, _ name: String, _ range: Range<Int>) {
    self.way = way
    self.name = name
    self.range = range
  }

  var description: String { "\(name): \(way) at \(range.lowerBound)..<\(range.upperBound)" }
}
