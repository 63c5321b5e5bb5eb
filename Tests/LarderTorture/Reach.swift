// SPDX-License-Identifier: MIT
import Larder

/// How far it may reach what was done to a file.
enum Reach {
  /// The value under this key is damaged, and nobody else's.
  case key(Int)
  /// A record in the log is damaged: if a checkpoint had it, that entry is; else the write is lost,
  /// with its batch.
  case log(Int)
  /// Anything may be missing, or be as it was before.
  case anything

  /// Whether calls have to go well all the same.
  var isLocal: Bool { if case .anything = self { false } else { true } }

  /// Whether the damage is under this key.
  func isOf(_ key: Int) -> Bool {
    switch self {
    case .key(let hurt), .log(let hurt): key == hurt
    case .anything: true
    }
  }

  /// What a byte that is changed in a value may reach.
  init(of key: Int, in file: String) { self = file.hasPrefix("log/") ? .log(key) : .key(key) }
}

/// Does what may meet damage, which is the only reason for which it may fail.
func unlessDamaged(mustHold: Bool, _ body: () throws -> Void) throws {
  do {
    try body()
  } catch let error as LarderError {
    let codes: [LarderError.Code] = [
      .damaged, .notALarderFile, .incompatibleVersion, .configurationMismatch, .decoding, .io,
      .readOnly,
    ]
    try expect(codes.contains(error.code) && !mustHold, "\(error)")
  }
}
