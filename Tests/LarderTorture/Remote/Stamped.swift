// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore

  /// What is stored: which key it belongs to, and which write made it.
  struct Stamped: Sendable, Equatable {
    var key: Int
    var id: ValueID

    static let byteCount = 16
    /// More than the server gets if it is not to get large values.
    static let largeByteCount = 80

    static let coder = Coder<Stamped>(
      encode: { stamped in
        var bytes = Data(count: isLarge(stamped.id) ? largeByteCount - byteCount : 0)
        for number in [UInt64(stamped.key), stamped.id] {
          withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
      },
      decode: { bytes in
        let stamped = Stamped(bytes.suffix(byteCount))
        guard bytes.count == (isLarge(stamped.id) ? largeByteCount : byteCount) else {
          throw Broken("a value has \(bytes.count) bytes")
        }
        return stamped
      })

    private init<Bytes: Collection<UInt8>>(_ bytes: Bytes) {
      func number(_ bytes: Bytes.SubSequence) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
      self.init(
        key: Int(truncatingIfNeeded: number(bytes.prefix(8))),
        id: number(bytes.dropFirst(8).prefix(8)))
    }

    init(key: Int, id: ValueID) {
      self.key = key
      self.id = id
    }

    /// Of an entry as it is on the server, whose last bytes the value is; nil for what is none, a
    /// marker for example.
    init?(remote bytes: [UInt8]) {
      guard bytes.count >= 18 + Self.byteCount else { return nil }
      self.init(bytes.suffix(Self.byteCount))
    }

    /// Whether that is what the server has in place of a value that is too large.
    static func isStandIn(_ bytes: [UInt8]) -> Bool { bytes.count == 17 && bytes.last == 3 }

    static let prefix = "torture:"

    /// As the server has it.
    static func remoteKey(_ key: Int) -> [UInt8] { Array("\(prefix)\(key)".utf8) }

    static let keyCoder = KeyCoder<Int>(
      encode: { Data("\($0)".utf8) },
      decode: { bytes in
        guard let key = Int(String(decoding: bytes, as: UTF8.self)) else {
          throw Broken("that is no key")
        }
        return key
      })
  }
#endif
