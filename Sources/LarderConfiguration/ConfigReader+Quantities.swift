// SPDX-License-Identifier: MIT

#if Configuration
  public import Configuration
  public import LarderCore

  // A reader gives nil for a value of another type, as for one that is missing; here only what is
  // missing is nil, so that a slip of the pen is an error and not a default.
  extension ConfigReader {
    /// A size in bytes: a text as people write it, `64MiB`, `1GB` or `4096`, or a number.
    ///
    /// A letter alone and one with `iB` are powers of 1,024, one with `B` is a power of 1,000.
    ///
    /// - Parameter key: Where it is.
    /// - Returns: The size; nil if there is no such key.
    /// - Throws: `.invalidArgument` for anything else. The message has the key, not the value.
    /// - Complexity: That of the reader.
    public func size(forKey key: ConfigKey) throws -> DataSize? {
      try bytes(key).map { DataSize(bytes: Int(clamping: $0)) }
    }

    /// The same, also under the key of the version before.
    func size(_ key: ConfigKey, once earlier: ConfigKey) throws -> DataSize? {
      try size(forKey: key) ?? size(forKey: earlier)
    }

    func bytes(_ key: ConfigKey) throws -> UInt64? {
      let expected = "a size, such as 64MiB, 1GB or 4096"
      if let text = string(forKey: key) {
        guard let size = try? WrittenSize(text) else { throw nonsense(key, expected) }
        return size.bytes
      }
      if let number = int(forKey: key) {
        guard let bytes = UInt64(exactly: number) else { throw nonsense(key, expected) }
        return bytes
      }
      return try nothing(key, expected)
    }

    /// A duration as people write it: `90s`, `250ms`, `10m`, `1h30m`, `30d`, `2w` or `0`.
    ///
    /// - Parameter key: Where it is.
    /// - Returns: The duration; nil if there is no such key.
    /// - Throws: `.invalidArgument` for anything else, such as a number without a unit. The message
    ///   has the key, not the value.
    /// - Complexity: That of the reader.
    public func duration(forKey key: ConfigKey) throws -> Duration? {
      let expected = "a duration with its unit, such as 90s, 10m or 1h30m"
      guard let text = string(forKey: key) else { return try nothing(key, expected) }
      guard let duration = try? WrittenDuration(text) else { throw nonsense(key, expected) }
      return duration.duration
    }

    // MARK: - What the configurations need besides

    /// A count, from 0 on.
    func count(_ key: ConfigKey, through most: Int = .max) throws -> Int? {
      guard let count = int(forKey: key) else { return try nothing(key, "a whole number") }
      guard (0...most).contains(count) else {
        throw nonsense(key, most == .max ? "0 or more" : "from 0 to \(most)")
      }
      return count
    }

    func truth(_ key: ConfigKey) throws -> Bool? {
      try bool(forKey: key) ?? nothing(key, "true or false")
    }

    /// One of some words.
    func choice<Value>(_ key: ConfigKey, _ values: [(String, Value)]) throws -> Value? {
      let expected = "one of " + values.map(\.0).joined(separator: ", ")
      guard let text = string(forKey: key) else { return try nothing(key, expected) }
      guard let value = values.first(where: { $0.0 == text }) else {
        throw nonsense(key, expected)
      }
      return value.1
    }

    /// A duration, or `never`.
    func expiration(_ key: ConfigKey) throws -> Expiration? {
      if string(forKey: key) == "never" { return .never }
      return try duration(forKey: key).map { Expiration(afterWrite: $0) }
    }

    func durability(_ key: ConfigKey) throws -> Durability? {
      try choice(key, [("process", .process), ("power", .power)])
    }

    /// As ``size(forKey:)``, as far as an `Int` goes.
    func cost(_ key: ConfigKey) throws -> Int? { try size(forKey: key)?.bytes }

    /// Reads what is under a key; an error names that key, too.
    func within<Result>(
      _ scope: String, _ read: (ConfigReader) throws -> Result
    ) throws -> Result {
      do { return try read(scoped(to: ConfigKey(scope))) } catch let error as LarderError {
        let message = error.message.replacing(Self.intro, with: Self.intro + scope + ".")
        throw LarderError(error.code, message, cause: error.cause)
      }
    }

    private static var intro: String { "What is configured as " }

    /// nil if there is nothing, of whatever type.
    private func nothing<Value>(_ key: ConfigKey, _ expected: String) throws -> Value? {
      let isThere =
        string(forKey: key) != nil || int(forKey: key) != nil || double(forKey: key) != nil
        || bool(forKey: key) != nil || stringArray(forKey: key) != nil
        || intArray(forKey: key) != nil || doubleArray(forKey: key) != nil
        || boolArray(forKey: key) != nil
      if isThere { throw nonsense(key, expected) }
      return nil
    }

    private func nonsense(_ key: ConfigKey, _ expected: String) -> LarderError {
      LarderError(.invalidArgument, "\(Self.intro)\(key) is not \(expected).")
    }
  }

  /// Puts a configured value into its place, if there is one.
  func set<Value>(_ place: inout Value, _ value: Value?) {
    if let value { place = value }
  }
#endif
