// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderTestSupport
import Testing

/// A folder with something of everything that the tool works on.
struct Samples {
  let folder: URL
  private let directory: TemporaryDirectory

  private struct Element: Codable, Identifiable, Sendable {
    var id: String
  }

  /// - Parameters:
  ///   - name: Of a folder for all of it.
  ///   - text: What is stored, as message, key and value.
  init(in name: String = "samples", text: String = "") throws {
    directory = try TemporaryDirectory()
    folder = directory.file(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let log = try MessageLog(
      at: .url(file("log")), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    try log.append("message" + text)
    try log.close()
    let cache = try DiskCache<String, Data>(at: .path(file("cache").path))
    try cache.set(Data("value\(text)".utf8), forKey: "key")
    try cache.close()
    let entries = try EntryCache<String>(at: .path(file("entries").path), valueCount: 1)
    try entries.setValues([Data("value\(text)".utf8)], forKey: "key")
    try entries.close()
    let archive = try Archive<Element>(at: .path(file("archive").path))
    try archive.insert(Element(id: "key"))
    try archive.close()
    try Data("line\(text)\n".utf8).write(to: file("input"))
  }

  func file(_ name: String) -> URL { folder.appendingPathComponent(name, isDirectory: false) }

  /// How a command is called so that it prints, if it ever does. Names that begin with a comma are
  /// files in the folder.
  struct Call: CustomTestStringConvertible {
    let command: String
    let arguments: [String]
    var prints = true
    var testDescription: String { command }

    init(_ command: String, _ arguments: String..., prints: Bool = true) {
      self.command = command
      self.arguments = command.split(separator: " ").map(String.init) + arguments
      self.prints = prints
    }
  }

  /// - Parameter copy: A folder that stands for this one; nil for this one.
  func arguments(_ call: Call, in copy: URL? = nil) -> [String] {
    call.arguments.map { argument in
      guard argument.hasPrefix(",") else { return argument }
      return (copy ?? folder).appendingPathComponent(String(argument.dropFirst())).path
    }
  }
}
