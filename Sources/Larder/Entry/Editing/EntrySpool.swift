// SPDX-License-Identifier: MIT

internal import CLarderSystem
import Foundation
import LarderCore
import Synchronization

/// Bytes that come piece by piece: in memory, and above a limit in a file without a name.
///
/// The file lies in the cache's folder, where there is room for the value, if anywhere. It
/// loses its name as soon as it has it, so that a crash leaves nothing behind.
final class EntrySpool: Sendable {
  private struct State {
    var memory: [UInt8] = []
    var file: Int32 = -1
    var count = 0
    var isSealed = false
  }

  /// What the names of the files begin with, for the moment that they have one.
  static let namePrefix = "spool."

  private let folder: StoreFolder
  private let memoryLimit: Int
  private let state = Mutex(State())

  init(folder: StoreFolder, memoryLimit: Int = 256 << 10) {
    self.folder = folder
    self.memoryLimit = memoryLimit
  }

  deinit {
    let file = state.withLock { $0.file }
    larder_os_file_close(file)
  }

  var count: Int { state.withLock { $0.count } }

  /// Takes nothing more from now on.
  func seal() { state.withLock { $0.isSealed = true } }

  /// - Returns: false, and nothing was taken, if it is sealed.
  func append(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> Bool {
    let result = state.withLock { state in
      Result { () throws(LarderError) in
        if state.isSealed { return false }
        if state.file < 0, bytes.count <= memoryLimit - state.count {
          state.memory.append(contentsOf: bytes)
        } else {
          if state.file < 0 { try moveToFile(&state) }
          try write(bytes, state.file, at: state.count)
        }
        state.count += bytes.count
        return true
      }
    }
    return try result.get()
  }

  /// Lends what was taken; it has to be sealed.
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
    let (memory, file, count) = state.withLock { ($0.memory, $0.file, $0.count) }
    if file < 0 || count == 0 { return try memory.withUnsafeBytes(body) }
    var map: UnsafeMutablePointer<UInt8>?
    let status = larder_os_file_map(file, count, false, &map)
    if status != LARDER_OK { throw failure(status, "map \(count) bytes of a value") }
    defer { larder_os_file_unmap(map, count) }
    return try body(UnsafeRawBufferPointer(start: map, count: count))
  }

  private func moveToFile(_ state: inout State) throws(LarderError) {
    let name = "\(Self.namePrefix)\(getpid()).\(UInt64.random(in: 0 ... .max))"
    let open = try folder.open()
    let flags = LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE
    let file = try open.file(name, flags, mode: 0o600)
    // If we crash here, there is a file that the next opening of the cache deletes.
    try? open.remove(name)
    state.file = file
    let result = state.memory.withUnsafeBytes { memory in
      Result { () throws(LarderError) in try write(memory, file, at: 0) }
    }
    try result.get()
    state.memory = []
  }

  private func write(
    _ bytes: UnsafeRawBufferPointer, _ file: Int32, at offset: Int
  ) throws(LarderError) {
    guard let start = bytes.baseAddress else { return }
    let status = larder_os_file_write_at(file, start, bytes.count, UInt64(offset))
    if status != LARDER_OK { throw failure(status, "write \(bytes.count) bytes of a value") }
  }

  private func failure(_ status: Int32, _ doing: String) -> LarderError {
    LarderError(status: status, doing: doing)
  }

  /// Deletes what a process that died between two system calls left in a folder.
  static func clean(_ folder: borrowing OpenFolder) {
    // A folder that cannot be listed has nothing of ours, or gives an error where it matters.
    for name in (try? folder.names()) ?? [] where name.hasPrefix(namePrefix) {
      try? folder.remove(name)
    }
  }
}
