// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

// A log at a `fileURL:` of `maximumBytes:`, which is `at:` with a `capacity:` by now.

extension MessageLog {
  /// Opens a log for reading and writing.
  ///
  /// - Throws: As `init(at:capacity:whenFull:coder:configuration:)`.
  /// - Complexity: As `init(at:capacity:whenFull:coder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:capacity:whenFull:coder:configuration:)")
  public convenience init(
    fileURL: URL, maximumBytes: UInt64, whenFull: OverflowPolicy, coder: Coder<Message>,
    configuration: MessageLogConfiguration = .init()
  ) throws {
    try self.init(
      at: .url(fileURL), capacity: DataSize(clamping: maximumBytes), whenFull: whenFull,
      coder: coder, configuration: configuration)
  }

  /// Opens an existing log for reading only.
  ///
  /// - Throws: As `init(readingFrom:coder:)` of a location.
  /// - Complexity: As `init(readingFrom:coder:)` of a location.
  @available(*, deprecated, message: "Give its location, as in readingFrom: .url(fileURL).")
  public convenience init(readingFrom fileURL: URL, coder: Coder<Message>) throws {
    try self.init(readingFrom: .url(fileURL), coder: coder)
  }

  /// Copies every intact message of a file into a new log.
  ///
  /// - Throws: As `salvage(from:to:progress:)` of locations.
  /// - Complexity: As `salvage(from:to:progress:)` of locations.
  @available(*, deprecated, message: "Give locations, as in from: .url(source).")
  public static func salvage(
    from source: URL, to target: URL, progress: ((UInt64, UInt64) -> Bool)? = nil
  ) throws -> LogReport {
    try salvage(from: .url(source), to: .url(target), progress: progress)
  }

  /// Gives a closed log another size.
  ///
  /// - Throws: As `resize(at:to:whenFull:consumerSlots:keepsTimes:trustsOtherUsers:)`.
  /// - Complexity: As `resize(at:to:whenFull:consumerSlots:keepsTimes:trustsOtherUsers:)`.
  @available(
    *, deprecated,
    renamed: "resize(at:to:whenFull:consumerSlots:keepsTimes:trustsOtherUsers:)"
  )
  public static func resize(
    fileURL: URL, toMaximumBytes maximumBytes: UInt64, whenFull: OverflowPolicy? = nil,
    consumerSlots: Int? = nil, keepsTimes: Bool = false, trustsOtherUsers: Bool = false
  ) throws {
    try resize(
      at: .url(fileURL), to: DataSize(clamping: maximumBytes), whenFull: whenFull,
      consumerSlots: consumerSlots, keepsTimes: keepsTimes, trustsOtherUsers: trustsOtherUsers)
  }

  /// The size of the file that holds exactly so many messages of one size.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "capacity(forMessages:ofSize:consumerSlots:keepsTimes:)")
  public static func maximumBytes(
    forMessages count: Int, ofSize bytes: Int, consumerSlots: Int = 8, keepsTimes: Bool = false
  ) -> UInt64? {
    capacity(
      forMessages: count, ofSize: bytes, consumerSlots: consumerSlots, keepsTimes: keepsTimes
    ).map { UInt64(clamping: $0.bytes) }
  }
}

extension MessageLog where Message: Codable {
  /// Opens a log of `Codable` messages for reading and writing.
  ///
  /// - Throws: As `init(at:capacity:whenFull:configuration:)`.
  /// - Complexity: As `init(at:capacity:whenFull:configuration:)`.
  @available(*, deprecated, renamed: "init(at:capacity:whenFull:configuration:)")
  public convenience init(
    fileURL: URL, maximumBytes: UInt64, whenFull: OverflowPolicy,
    configuration: MessageLogConfiguration = .init()
  ) throws {
    try self.init(
      at: .url(fileURL), capacity: DataSize(clamping: maximumBytes), whenFull: whenFull,
      configuration: configuration)
  }

  /// Opens an existing log of `Codable` messages for reading only.
  ///
  /// - Throws: As `init(readingFrom:)` of a location.
  /// - Complexity: As `init(readingFrom:)` of a location.
  @available(*, deprecated, message: "Give its location, as in readingFrom: .url(fileURL).")
  public convenience init(readingFrom fileURL: URL) throws {
    try self.init(readingFrom: .url(fileURL))
  }
}

extension DataSize {
  fileprivate init(clamping bytes: UInt64) { self.init(bytes: Int(clamping: bytes)) }
}
