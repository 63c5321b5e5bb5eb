// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore

  /// Parses RESP3 as it arrives, in pieces of any size, from a server that is not trusted.
  ///
  ///     reply  = line | bulk | items
  ///     line   = ( '+' | '-' | ':' | ',' | '#' | '(' | '_' ) text CR LF
  ///     bulk   = ( '$' | '!' | '=' ) length CR LF bytes CR LF
  ///     items  = ( '*' | '~' | '>' | '%' | '|' ) count CR LF reply…
  ///
  /// What must hold:
  /// 1. Nothing is reserved for a length or a count that was only announced.
  /// 2. A reply has at most as many bytes, elements and levels as the limits say; a line that does
  ///    not end is refused, too. What is kept of a reply is bounded by that.
  /// 3. Every byte is looked at once, however small the pieces are.
  /// 4. After an error every call throws it again: where a reply ends is unknown then.
  ///
  /// Strings and aggregates of unknown length, which no server sends, are refused. Attributes are
  /// read and dropped.
  struct RESPParser {
    struct Limits: Sendable {
      var bytes = 8 << 20
      var elements = 1 << 17
      var depth = 8
      var lineBytes = 64 << 10
    }

    private enum Kind { case array, map, push, attribute }

    private struct Frame {
      let kind: Kind
      var remaining: Int
      var elements: [RemoteReply]
    }

    /// A bulk string whose length is known, but not all of whose bytes are there.
    private struct Bulk {
      let type: UInt8
      let count: Int
    }

    private let limits: Limits
    private var bytes: [UInt8] = []
    /// Where the first byte is that was not parsed, and the first that no line's end was sought in.
    private var start = 0
    private var scanned = 0
    private var frames: [Frame] = []
    private var bulk: Bulk?
    private var replyBytes = 0
    private var replyElements = 0
    private var failure: LarderError?

    init(_ limits: Limits = Limits()) { self.limits = limits }

    /// How many bytes wait for those that are missing.
    var count: Int { bytes.count - start }

    /// Adds what arrived.
    mutating func append(_ piece: UnsafeRawBufferPointer) {
      if failure != nil { return }
      if start == bytes.count {
        // A large reply does not keep its memory.
        bytes.removeAll(keepingCapacity: bytes.count <= 1 << 16)
        (start, scanned) = (0, 0)
      } else if start > 1 << 16 {
        bytes.removeFirst(start)
        scanned -= start
        start = 0
      }
      bytes.append(contentsOf: piece)
    }

    /// The next reply that is there as a whole; nil if more has to arrive first.
    mutating func next() throws(LarderError) -> RemoteReply? {
      if let failure { throw failure }
      do throws(LarderError) {
        while let step = try step() {
          if case .value(let value) = step, let reply = end(value) { return reply }
        }
        return nil
      } catch {
        failure = error
        (bytes, frames, bulk) = ([], [], nil)
        (start, scanned) = (0, 0)
        throw error
      }
    }

    // MARK: - Values

    private enum Step {
      case value(RemoteReply)
      /// An aggregate began, or an attribute ended.
      case begun
    }

    /// Reads one line or bulk string; nil if it is not there as a whole.
    private mutating func step() throws(LarderError) -> Step? {
      if let bulk { return try take(bulk).map { .value($0) } }
      guard let line = try line() else { return nil }
      let type = bytes[line.lowerBound]
      let text = bytes[(line.lowerBound + 1)..<line.upperBound]
      try count(bytes: line.count + 2)
      switch type {
      case UInt8(ascii: "+"): return .value(.status(String(decoding: text, as: UTF8.self)))
      case UInt8(ascii: "-"): return .value(.error(Self.word(text)))
      case UInt8(ascii: ":"): return .value(.integer(try integer(text)))
      case UInt8(ascii: "("): return .value(.bytes(Array(text)))
      case UInt8(ascii: ","): return .value(.double(try double(text)))
      case UInt8(ascii: "#"): return .value(.boolean(try boolean(text)))
      case UInt8(ascii: "_"):
        guard text.isEmpty else { throw Self.garbage("a null with content") }
        return .value(.null)
      case UInt8(ascii: "$"), UInt8(ascii: "!"), UInt8(ascii: "="):
        return try beginBulk(type, try integer(text))
      default:
        return try beginItems(type, text)
      }
    }

    private mutating func beginBulk(_ type: UInt8, _ length: Int64) throws(LarderError) -> Step? {
      // As earlier protocols write null.
      if length == -1, type == UInt8(ascii: "$") { return .value(.null) }
      guard length >= 0, length <= limits.bytes - replyBytes else {
        throw Self.garbage("a string of \(length) bytes, where \(limits.bytes) are allowed")
      }
      let bulk = Bulk(type: type, count: Int(length))
      self.bulk = bulk
      return try take(bulk).map { .value($0) }
    }

    private mutating func take(_ bulk: Bulk) throws(LarderError) -> RemoteReply? {
      guard bytes.count - start >= bulk.count + 2 else { return nil }
      let content = bytes[start..<(start + bulk.count)]
      guard bytes[start + bulk.count] == UInt8(ascii: "\r"),
        bytes[start + bulk.count + 1] == UInt8(ascii: "\n")
      else { throw Self.garbage("a string that does not end where it should") }
      try count(bytes: bulk.count + 2)
      start += bulk.count + 2
      scanned = start
      self.bulk = nil
      switch bulk.type {
      case UInt8(ascii: "!"): return .error(Self.word(content))
      case UInt8(ascii: "="):
        // Three letters for the format, and a colon.
        guard content.count >= 4 else { throw Self.garbage("a text without a format") }
        return .bytes(Array(content.dropFirst(4)))
      default: return .bytes(Array(content))
      }
    }

    private mutating func beginItems(
      _ type: UInt8, _ text: ArraySlice<UInt8>
    ) throws(LarderError) -> Step {
      let kind: Kind
      switch type {
      case UInt8(ascii: "*"), UInt8(ascii: "~"): kind = .array
      case UInt8(ascii: "%"): kind = .map
      case UInt8(ascii: ">"): kind = .push
      case UInt8(ascii: "|"): kind = .attribute
      default: throw Self.garbage("a reply of the unknown type \(type)")
      }
      let length = try integer(text)
      if length == -1, type == UInt8(ascii: "*") { return .value(.null) }
      guard length >= 0, length <= limits.elements - replyElements else {
        throw Self.garbage("\(length) elements, where \(limits.elements) are allowed")
      }
      if kind == .push, !frames.isEmpty { throw Self.garbage("a push inside of a reply") }
      let isPairs = kind == .map || kind == .attribute
      let items = Int(length) * (isPairs ? 2 : 1)
      replyElements += items
      if items == 0 { return kind == .attribute ? .begun : .value(Self.aggregate(kind, [])) }
      guard frames.count < limits.depth else {
        throw Self.garbage("a reply of more than \(limits.depth) levels")
      }
      var frame = Frame(kind: kind, remaining: items, elements: [])
      frame.elements.reserveCapacity(min(items, 64))
      frames.append(frame)
      return .begun
    }

    /// Puts a value into the aggregate that it belongs to, and what that ends into its own.
    ///
    /// - Returns: The reply, if that ends one.
    private mutating func end(_ value: RemoteReply) -> RemoteReply? {
      var value = value
      while !frames.isEmpty {
        let last = frames.count - 1
        frames[last].elements.append(value)
        frames[last].remaining -= 1
        if frames[last].remaining > 0 { return nil }
        let frame = frames.removeLast()
        // The value that it is an attribute of comes next.
        if frame.kind == .attribute { return nil }
        value = Self.aggregate(frame.kind, frame.elements)
      }
      (replyBytes, replyElements) = (0, 0)
      return value
    }

    private static func aggregate(_ kind: Kind, _ elements: [RemoteReply]) -> RemoteReply {
      switch kind {
      case .map: .map(elements)
      case .push: .push(elements)
      case .array, .attribute: .array(elements)
      }
    }

    // MARK: - Lines

    /// The next line without its end; nil if that is not there.
    private mutating func line() throws(LarderError) -> Range<Int>? {
      while scanned < bytes.count {
        let byte = bytes[scanned]
        if byte == UInt8(ascii: "\n") { throw Self.garbage("a line that ends early") }
        if byte == UInt8(ascii: "\r") {
          if scanned + 1 == bytes.count { return nil }
          guard bytes[scanned + 1] == UInt8(ascii: "\n"), scanned > start else {
            throw Self.garbage("a line that ends early")
          }
          let line = start..<scanned
          start = scanned + 2
          scanned = start
          return line
        }
        scanned += 1
        if scanned - start > limits.lineBytes {
          throw Self.garbage("a line of more than \(limits.lineBytes) bytes")
        }
      }
      return nil
    }

    private mutating func count(bytes: Int) throws(LarderError) {
      replyBytes += bytes
      if replyBytes > limits.bytes {
        throw Self.garbage("a reply of more than \(limits.bytes) bytes")
      }
    }

    private func integer(_ text: ArraySlice<UInt8>) throws(LarderError) -> Int64 {
      guard text.count <= 20, let number = Int64(String(decoding: text, as: UTF8.self)) else {
        throw Self.garbage("a number that is none")
      }
      return number
    }

    private func double(_ text: ArraySlice<UInt8>) throws(LarderError) -> Double {
      guard text.count <= 64, let number = Double(String(decoding: text, as: UTF8.self)) else {
        throw Self.garbage("a number that is none")
      }
      return number
    }

    private func boolean(_ text: ArraySlice<UInt8>) throws(LarderError) -> Bool {
      switch text.first {
      case UInt8(ascii: "t") where text.count == 1: return true
      case UInt8(ascii: "f") where text.count == 1: return false
      default: throw Self.garbage("a boolean that is none")
      }
    }

    /// The first word of an error, if it looks like one: the rest may quote what was sent. Of a
    /// redirection everything.
    private static func word(_ text: ArraySlice<UInt8>) -> String {
      if let redirect = RedisRedirect(text) { return redirect.description }
      let word = text.prefix { $0 != UInt8(ascii: " ") }
      let isWord =
        (1...24).contains(word.count)
        && word.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
      return isWord ? String(decoding: word, as: UTF8.self) : "ERR"
    }

    private static func garbage(_ what: String) -> LarderError {
      LarderError(.remote, "The server does not speak RESP3: it sent \(what).")
    }
  }
#endif
