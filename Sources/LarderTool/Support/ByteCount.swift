// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore

/// A number of bytes as people write it, and more than none: see `WrittenSize`.
struct ByteCount: Equatable, Sendable {
  let bytes: UInt64

  /// - Throws: `ValidationError`, with a sentence that says what is wrong with `text`.
  init(_ text: String) throws {
    do throws(LarderError) {
      bytes = try WrittenSize(text).bytes
    } catch {
      throw ValidationError(error.message)
    }
    guard bytes > 0 else { throw ValidationError("A log of 0 bytes can hold no message.") }
  }
}
