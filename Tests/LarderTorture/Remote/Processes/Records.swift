// SPDX-License-Identifier: MIT

#if Remote
  import Dispatch
  import Foundation
  import Synchronization

  /// What a machine did, in a file that is mapped into its memory: a killed process leaves all of
  /// it.
  ///
  /// Unchecked: each record belongs to who added it.
  final class Records: @unchecked Sendable {
    struct Record {
      var begin: UInt64 = 0
      var end: UInt64 = 0
      var value: UInt64 = 0
      var loaderBegin: UInt64 = 0
      var loaderEnd: UInt64 = 0
      var loaderValue: UInt64 = 0
      var life: UInt64 = 0
      var key: UInt32 = 0
      var kind: UInt8 = 0
      /// Set last of all.
      var state: UInt8 = 0
      var isForeign: UInt8 = 0
    }

    static let (unused, begun, failed, known) = (UInt8(0), UInt8(1), UInt8(2), UInt8(3))
    /// Kinds that are no deeds.
    static let (barrier, stall) = (UInt8(100), UInt8(101))

    let capacity: Int
    private let records: UnsafeMutablePointer<Record>
    private let count = Atomic(0)

    /// Makes a file of so many records, or opens it.
    init(_ path: String, capacity: Int) throws {
      self.capacity = capacity
      let size = capacity * MemoryLayout<Record>.stride
      let file = open(path, O_RDWR | O_CREAT, 0o600)
      guard file >= 0, ftruncate(file, off_t(size)) == 0 else {
        throw Broken("cannot make the file of a machine's records")
      }
      defer { close(file) }
      let address = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
      guard let address, address != MAP_FAILED else {
        throw Broken("cannot map the file of a machine's records")
      }
      records = address.bindMemory(to: Record.self, capacity: capacity)
    }

    deinit { munmap(records, capacity * MemoryLayout<Record>.stride) }

    /// nil when the file is full.
    func add(_ record: Record) -> UnsafeMutablePointer<Record>? {
      let place = count.add(1, ordering: .relaxed).oldValue
      guard place < capacity else { return nil }
      records[place] = record
      return records + place
    }

    /// All that were added, by whatever process.
    var all: [Record] {
      UnsafeBufferPointer(start: records, count: capacity).filter { $0.state != Self.unused }
    }
  }

  /// The machine's clock, which all processes share, in nanoseconds.
  func monotonicTime() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
#endif
