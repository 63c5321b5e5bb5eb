// SPDX-License-Identifier: MIT

/// What is known of the types that were asked for last.
///
/// To find something out about a type at run time, a conformance or a generic type made of it,
/// takes the runtime a search. An input keeps a few answers from one call to the next.
struct CBORTypeTable<Answer> {
  private struct Slot {
    var type: ObjectIdentifier?
    var answer: Answer?
  }

  private static var count: Int { 64 }

  private let slots: UnsafeMutablePointer<Slot>

  init() {
    slots = .allocate(capacity: Self.count)
    slots.initialize(repeating: Slot(), count: Self.count)
  }

  func deallocate() {
    slots.deinitialize(count: Self.count)
    slots.deallocate()
  }

  /// The answer for a type, found out now if it is not at hand.
  @inline(__always)
  func answer(for type: ObjectIdentifier, _ find: () -> Answer) -> Answer {
    let mixed = UInt64(UInt(bitPattern: type)) &* 0x9e37_79b9_7f4a_7c15
    let first = slots + Int(truncatingIfNeeded: mixed >> 58)
    if first.pointee.type == type, let answer = first.pointee.answer { return answer }
    return otherAnswer(for: type, first, find)
  }

  /// The same for a type whose first slot is another's.
  @inline(never)
  private func otherAnswer(
    for type: ObjectIdentifier, _ first: UnsafeMutablePointer<Slot>, _ find: () -> Answer
  ) -> Answer {
    let start = first - slots
    for step in 1..<4 {
      let slot = slots + (start + step) % Self.count
      if slot.pointee.type == type, let answer = slot.pointee.answer { return answer }
    }
    let answer = find()
    // A slot that is free, or else the first.
    let free = (0..<4).lazy.map { slots + (start + $0) % Self.count }
      .first { $0.pointee.type == nil }
    (free ?? first).pointee = Slot(type: type, answer: answer)
    return answer
  }
}
