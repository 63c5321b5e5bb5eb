// SPDX-License-Identifier: MIT
import CLarder
import Foundation

/// The functions of the index: those that the tests are linked with, or those of a library that
/// was compiled with a defect.
struct IndexFunctions: Sendable {
  typealias Slot = larder_index_slot
  typealias Raw = OpaquePointer

  let create:
    @convention(c) (UnsafePointer<larder_index_options>, UnsafeMutablePointer<Raw?>) -> Int32
  let destroy: @convention(c) (Raw?) -> Void
  let readBegin: @convention(c) (Raw) -> UInt32
  let readEnd: @convention(c) (Raw, UInt32, Slot) -> Void
  let writeBegin: @convention(c) (Raw) -> Void
  let writeEnd: @convention(c) (Raw) -> Void
  let first: @convention(c) (Raw, UInt64, UnsafeMutablePointer<larder_index_probe>) -> Void
  let next: @convention(c) (Raw, UnsafeMutablePointer<larder_index_probe>) -> Void
  let find:
    @convention(c) (
      Raw, UInt64, @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Bool,
      UnsafeRawPointer
    ) -> Slot
  let equalsInteger: @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Bool
  let payload: @convention(c) (Raw, Slot) -> UnsafeMutableRawPointer
  let insert: @convention(c) (Raw, UInt64, UInt64, UnsafeMutablePointer<Slot>) -> Int32
  let rewrite: @convention(c) (Raw, Slot, UInt64) -> Void
  let touch: @convention(c) (Raw, Slot) -> Void
  let take: @convention(c) (Raw, Slot, larder_index_cause) -> Void
  let evict: @convention(c) (Raw, UnsafeMutablePointer<larder_index_cause>?) -> Slot
  let expire: @convention(c) (Raw) -> Slot
  let isDue: @convention(c) (Raw) -> Bool
  let clear: @convention(c) (Raw, Bool) -> Void
  let setLimits: @convention(c) (Raw, UInt64, UInt64) -> Int32
  let pin: @convention(c) (Raw, Slot, Bool) -> Int32
  let setExpiry: @convention(c) (Raw, UnsafePointer<larder_index_expiry>) -> Int32
  let setEntryExpiry: @convention(c) (Raw, Slot, UnsafePointer<larder_index_expiry>?) -> Int32
  let deadline: @convention(c) (Raw, Slot) -> Int64
  let nextDeadline: @convention(c) (Raw) -> Int64
  let count: @convention(c) (Raw) -> UInt64
  let totalCost: @convention(c) (Raw) -> UInt64
  let cost: @convention(c) (Raw, Slot) -> UInt64
  let isPinned: @convention(c) (Raw, Slot) -> Bool
  let list:
    @convention(c) (
      Raw, larder_index_order, UnsafeMutablePointer<Slot>?, Int,
      UnsafeMutablePointer<Int>
    ) -> Int32
  let getStatistics: @convention(c) (Raw, UnsafeMutablePointer<larder_index_statistics>) -> Void
  let resetStatistics: @convention(c) (Raw) -> Void
  let check: @convention(c) (Raw, UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Int32

  /// The library's own.
  static let linked = IndexFunctions()

  private init() {
    create = larder_index_create
    destroy = larder_index_destroy
    readBegin = larder_index_read_begin
    readEnd = larder_index_read_end
    writeBegin = larder_index_write_begin
    writeEnd = larder_index_write_end
    first = larder_index_first
    next = larder_index_next
    find = larder_index_find
    equalsInteger = larder_index_equals_u64
    payload = larder_index_payload
    insert = larder_index_insert
    rewrite = larder_index_rewrite
    touch = larder_index_touch
    take = larder_index_take
    evict = larder_index_evict
    expire = larder_index_expire
    isDue = larder_index_is_due
    clear = larder_index_clear
    setLimits = larder_index_set_limits
    pin = larder_index_pin
    setExpiry = larder_index_set_expiry
    setEntryExpiry = larder_index_set_entry_expiry
    deadline = larder_index_deadline
    nextDeadline = larder_index_next_deadline
    count = larder_index_count
    totalCost = larder_index_total_cost
    cost = larder_index_cost
    isPinned = larder_index_is_pinned
    list = larder_index_list
    getStatistics = larder_index_get_statistics
    resetStatistics = larder_index_reset_statistics
    check = larder_index_check
  }

  /// A function that the library does not have.
  struct Missing: Error {
    var name: String
  }

  /// Those of a library that `dlopen` gave, which stays open for ever.
  init(library: UnsafeMutableRawPointer) throws {
    func function<T>(_ name: String) throws -> T {
      guard let symbol = dlsym(library, "larder_index_" + name) else { throw Missing(name: name) }
      return unsafeBitCast(symbol, to: T.self)
    }
    create = try function("create")
    destroy = try function("destroy")
    readBegin = try function("read_begin")
    readEnd = try function("read_end")
    writeBegin = try function("write_begin")
    writeEnd = try function("write_end")
    first = try function("first")
    next = try function("next")
    find = try function("find")
    equalsInteger = try function("equals_u64")
    payload = try function("payload")
    insert = try function("insert")
    rewrite = try function("rewrite")
    touch = try function("touch")
    take = try function("take")
    evict = try function("evict")
    expire = try function("expire")
    isDue = try function("is_due")
    clear = try function("clear")
    setLimits = try function("set_limits")
    pin = try function("pin")
    setExpiry = try function("set_expiry")
    setEntryExpiry = try function("set_entry_expiry")
    deadline = try function("deadline")
    nextDeadline = try function("next_deadline")
    count = try function("count")
    totalCost = try function("total_cost")
    cost = try function("cost")
    isPinned = try function("is_pinned")
    list = try function("list")
    getStatistics = try function("get_statistics")
    resetStatistics = try function("reset_statistics")
    check = try function("check")
  }
}
