// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport

/// A directory and the file of one log in it.
struct LogFixture {
  let directory: TemporaryDirectory
  let url: URL

  init(_ name: String = "log.larder") throws {
    directory = try TemporaryDirectory()
    url = directory.file(name)
  }

  /// A log of text.
  func open(
    _ bytes: Int, _ whenFull: OverflowPolicy = .overwriteOldest,
    _ configuration: MessageLogConfiguration = .init()
  ) throws -> MessageLog<String> {
    try MessageLog(
      at: .url(url), capacity: DataSize(bytes: bytes), whenFull: whenFull, coder: .string,
      configuration: configuration)
  }

  /// A log with room for exactly so many messages of one size.
  func open(
    holding count: Int, ofSize size: Int = 8, _ whenFull: OverflowPolicy = .overwriteOldest
  ) throws -> MessageLog<String> {
    try open(capacity(count, ofSize: size), whenFull)
  }

  func reader() throws -> MessageLog<String> {
    try MessageLog(readingFrom: .url(url), coder: .string)
  }

  /// The size of the file that holds exactly so many messages of one size.
  func capacity(_ count: Int, ofSize size: Int = 8) throws -> Int {
    guard
      let capacity = MessageLog<String>.capacity(forMessages: count, ofSize: size)
    else { throw LarderError(.invalidArgument, "No log holds \(count) messages.") }
    return capacity.bytes
  }
}

/// Text of eight bytes that says its number.
func text(_ number: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
}

func texts(_ numbers: ClosedRange<Int>) -> [String] { numbers.map(text) }
