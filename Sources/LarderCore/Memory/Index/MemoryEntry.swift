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
  private let termsOffset: Int

  init(clock: CacheClock, termsOffset: Int) {
    self.termsOffset = termsOffset
    super.init(clock: clock)
  }

  override func move(to target: UnsafeMutableRawPointer, from source: UnsafeMutableRawPointer) {
    target.moveInitializeMemory(
      as: MemoryEntry<Key, Value>.self,
      from: source.assumingMemoryBound(to: MemoryEntry<Key, Value>.self), count: 1)
    if termsOffset != 0 {
      (target + termsOffset).moveInitializeMemory(
        as: MemoryTerms.self,
        from: (source + termsOffset).assumingMemoryBound(to: MemoryTerms.self), count: 1)
    }
  }
}
