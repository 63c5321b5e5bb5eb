// SPDX-License-Identifier: MIT
import Foundation

/// A list of keys in the order in which a program asked for them.
struct Trace: Sendable {
  let name: String
  /// For guessing how long it takes; exact once it is loaded.
  let size: Int
  let load: @Sendable () throws -> [UInt64]
  /// Bytes of each access's object, if the trace has sizes.
  var sizes: (@Sendable () throws -> [UInt64])?
}

/// A folder of traces: `MANIFEST.tsv` names them in its column `name`, and `NAME.keys.u64.zst` has,
/// compressed, one little-endian 64-bit key for each access; `NAME.sizes.u64.zst`, if it is there,
/// the size of its object. `reference-hit-ratios.tsv` and `reference-sized.tsv` may be beside them.
struct TraceFolder {
  let traces: [Trace]
  let reference: ReferenceTable
  let sizedReference: SizedReference

  /// `../shared/traces` beside the main package, wherever the program is started.
  static var standard: URL {
    let top = Results.defaultFolder.deletingLastPathComponent().deletingLastPathComponent()
    return top.deletingLastPathComponent().appendingPathComponent("shared/traces")
  }

  /// Throws a sentence if there are no traces, or if they cannot be decompressed.
  init(_ folder: URL) throws {
    let manifest = folder.appendingPathComponent("MANIFEST.tsv")
    guard let text = try? String(contentsOf: manifest, encoding: .utf8) else {
      throw Failure(description: "there is no \(manifest.path)")
    }
    let names = TabSeparated(text).rows.compactMap { $0["name"] }
    guard !names.isEmpty else {
      throw Failure(description: "\(manifest.path) has no column `name`, or no rows")
    }
    guard Self.hasDecompressor else {
      throw Failure(description: "there is no zstd to decompress traces: make bench-deps")
    }
    traces = try names.map { name in
      let file = folder.appendingPathComponent("\(name).keys.u64.zst")
      let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
      guard let size = attributes?[.size] as? Int else {
        throw Failure(description: "\(file.path) is missing")
      }
      var trace = Trace(name: name, size: size) { try Self.keys(in: file) }
      let sizes = folder.appendingPathComponent("\(name).sizes.u64.zst")
      if FileManager.default.fileExists(atPath: sizes.path) {
        trace.sizes = { try Self.keys(in: sizes) }
      }
      return trace
    }
    let figures = folder.appendingPathComponent("reference-hit-ratios.tsv")
    // Without that file there is nothing to compare with, and the optimum is computed.
    reference = ReferenceTable((try? String(contentsOf: figures, encoding: .utf8)) ?? "")
    let sized = folder.appendingPathComponent("reference-sized.tsv")
    sizedReference = SizedReference((try? String(contentsOf: sized, encoding: .utf8)) ?? "")
  }

  private static var hasDecompressor: Bool {
    (try? run("zstd", "--version", input: .nullDevice))?.status == 0
  }

  private static func keys(in file: URL) throws -> [UInt64] {
    // Not by its path: of a link zstd makes nothing.
    let (status, bytes) = try run("zstd", "-dcq", input: FileHandle(forReadingFrom: file))
    guard status == 0, bytes.count % 8 == 0, !bytes.isEmpty else {
      throw Failure(description: "\(file.path): zstd status \(status), \(bytes.count) bytes")
    }
    return bytes.withUnsafeBytes { bytes in
      (0..<bytes.count / 8).map {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self))
      }
    }
  }

  private static func run(
    _ command: String..., input: FileHandle
  ) throws -> (status: Int32, output: Data) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardInput = input
    process.standardError = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }
}

/// Lines of fields between tabs, of which the first names the columns.
struct TabSeparated {
  let columns: [String]
  let rows: [[String: String]]

  init(_ text: String) {
    var lines = text.split(whereSeparator: \.isNewline).map { line in
      line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
    columns = lines.isEmpty ? [] : lines.removeFirst()
    let names = columns
    rows = lines.map { Dictionary(zip(names, $0), uniquingKeysWith: { first, _ in first }) }
  }
}

/// Hit ratios that were found elsewhere, in percent. Any column may be missing.
struct ReferenceTable: Sendable {
  struct Cell: Sendable {
    let percent: Double
    let capacity: Int?
    let hits: [String: Double]
  }

  /// The policies, in the order of the columns.
  let policies: [String]
  private let cells: [String: [Cell]]

  static let percentColumn = "pct_of_unique"
  static let optimum = "OPT"

  init(_ text: String) {
    let table = TabSeparated(text)
    policies = table.columns.filter {
      !["trace", Self.percentColumn, "capacity", Self.optimum].contains($0)
    }
    var cells: [String: [Cell]] = [:]
    for row in table.rows {
      guard let trace = row["trace"], let percent = row[Self.percentColumn].flatMap(Double.init)
      else { continue }
      cells[trace, default: []].append(
        Cell(
          percent: percent, capacity: row["capacity"].flatMap { Int($0) },
          hits: row.compactMapValues { Double($0) }))
    }
    self.cells = cells
  }

  func cells(of trace: String) -> [Cell] { cells[trace] ?? [] }
}
