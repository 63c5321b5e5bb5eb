// SPDX-License-Identifier: MIT

/// A payload of the index: what lies in its memory for each entry.
@usableFromInline
struct MemoryEntry<Key, Value> {
  @usableFromInline var key: Key
  @usableFromInline var value: Value

  @inlinable
  init(key: Key, value: Value) {
    self.key = key
    self.value = value
  }
}

extension MemoryEntry: Sendable where Key: Sendable, Value: Sendable {}

/// What the index calls back: its clock, and how it moves a payload.
///
/// Sendable, although Swift cannot see it of a class that is not final: nothing in it
/// or in its one subclass ever changes.
class MemoryHost: @unchecked Sendable {
  let clock: CacheClock

  init(clock: CacheClock) { self.clock = clock }

  func move(to target: UnsafeMutableRawPointer, from source: UnsafeMutableRawPointer) {}
}

/// Moves payloads that cannot be copied as bytes, because something knows their address:
/// a weak reference does.
final class MemoryMover<Key, Value>: MemoryHost, @unchecked Sendable {
  private let stampOffset: Int

  init(clock: CacheClock, stampOffset: Int) {
    self.stampOffset = stampOffset
    super.init(clock: clock)
  }

  override func move(to target: UnsafeMutableRawPointer, from source: UnsafeMutableRawPointer) {
    target.moveInitializeMemory(
      as: MemoryEntry<Key, Value>.self,
      from: source.assumingMemoryBound(to: MemoryEntry<Key, Value>.self), count: 1)
    if stampOffset != 0 {
      let stamp = (source + stampOffset).load(as: Int64.self)
      (target + stampOffset).storeBytes(of: stamp, as: Int64.self)
    }
  }
}
