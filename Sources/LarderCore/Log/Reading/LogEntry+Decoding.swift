// SPDX-License-Identifier: MIT

public import Foundation

extension LogEntry {
  /// Decodes what was read. A failure is kept for whoever asks for the message,
  /// so that one bad message does not cost the others.
  @inlinable
  init(_ raw: RawEntry, coder: Coder<Message>) {
    // Decided when this is specialised: a quarter of the time of a pass over bytes
    // is the call of a closure that only makes `Data` of them.
    if Message.self == Data.self, coder.isIdentity,
      let message = Data(copying: raw.bytes) as? Message
    {
      self.init(
        sequence: raw.sequence, lost: raw.lost, isPartial: raw.isPartial, time: raw.time,
        result: .success(message))
      return
    }
    let result: Result<Message, any Error>
    do {
      result = .success(try coder.decodeBytes(raw.bytes))
    } catch {
      result = .failure(Self.decodingFailure(error, raw))
    }
    self.init(
      sequence: raw.sequence, lost: raw.lost, isPartial: raw.isPartial, time: raw.time,
      result: result)
  }

  @usableFromInline
  static func decodingFailure(_ error: any Error, _ raw: RawEntry) -> any Error {
    LarderError(
      .decoding, "Could not decode message \(raw.sequence) of \(raw.bytes.count) bytes.",
      cause: error)
  }
}

extension LogEntry {
  /// The same entry with another number of messages missing before it.
  func losing(_ count: UInt64) -> LogEntry {
    LogEntry(sequence: sequence, lost: count, isPartial: isPartial, time: time, result: result)
  }
}
