// SPDX-License-Identifier: MIT

#if Remote
  enum Checker {
    /// - Returns: The first read of each key that should not have been.
    static func check(_ history: History) -> [Violation] {
      var deeds: [Int: [Deed]] = [:]
      for deed in history.deeds { deeds[deed.key, default: []].append(deed) }
      return deeds.keys.sorted().compactMap { key in
        var checker = KeyChecker(key, deeds[key] ?? [], history)
        return checker.check()
      }
    }
  }

  enum Changes {
    /// What the server did to a key, in the order of beginning.
    static func of(_ key: Int, _ deeds: [Deed], _ history: History) -> [Change] {
      var changes = [Change(value: 0, begin: 0, end: 0, isKnown: true)]
      let known = history.changes?[key].map { $0.map { withDeed($0, deeds) } }
      let done = known ?? (history.changes == nil ? follow(deeds, history) : [])
      changes += done
      let margin = history.promise.expiryMargin
      // What expires is gone then, unless something else was there already.
      changes += done.filter { $0.life > 0 && $0.value != 0 }.map { change in
        Change(
          value: 0, begin: change.begin + max(change.life, margin) - margin,
          end: change.end + change.life + margin, isKnown: false)
      }
      changes += history.clearings.filter { $0.concerns(key) }.map {
        Change(value: 0, begin: $0.begin, end: $0.end, isKnown: $0.isKnown)
      }
      return changes.sorted { $0.begin < $1.begin }
    }

    /// From what the machines did.
    private static func follow(_ deeds: [Deed], _ history: History) -> [Change] {
      // What a machine has read was written by then, whatever became of the call that wrote it.
      // But what a load made, its own machine may have read without its being stored.
      var seen: [ValueID: UInt64] = [:]
      let made = Set(deeds.compactMap { $0.loader?.value })
      for deed in deeds where deed.isKnown && deed.value != 0 {
        guard deed.kind == .read || deed.kind == .load else { continue }
        let isOwn = isLarge(deed.value) || writer(of: deed.value) == deed.machine
        if made.contains(deed.value), isOwn { continue }
        seen[deed.value] = min(seen[deed.value] ?? .max, deed.end)
      }
      let late = history.promise.straggling
      return deeds.compactMap { deed in
        let lateEnd = deed.end.addingReportingOverflow(late).partialValue
        switch deed.kind {
        case .set, .remove:
          var change = Change(
            value: deed.value, begin: deed.begin, end: deed.isKnown ? deed.end : lateEnd,
            isKnown: deed.isKnown, machine: deed.machine, knownAt: deed.end, life: deed.life)
          if !deed.isKnown, deed.value != 0, let time = seen[deed.value] {
            (change.isKnown, change.end) = (true, max(deed.begin, min(time, lateEnd)))
            change.machine = -1
          }
          return change
        case .loader:
          guard let loader = deed.loader, loader.value != 0 else { return nil }
          var change = Change(
            value: loader.value, begin: loader.end, end: max(lateEnd, loader.end), isKnown: false,
            loader: (loader.begin, loader.end))
          if let time = seen[loader.value] {
            (change.isKnown, change.end) = (true, max(loader.end, min(time, change.end)))
          }
          return change
        case .read, .load: return nil
        }
      }
    }

    /// What the server did, and which call of which machine that was.
    private static func withDeed(_ change: Change, _ deeds: [Deed]) -> Change {
      var change = change
      let own = deeds.filter { deed in
        guard deed.machine == change.machine, deed.begin <= change.begin, deed.end >= change.end
        else { return false }
        switch deed.kind {
        case .set, .remove: return deed.value == change.value
        case .read, .load, .loader: return false
        }
      }
      change.knownAt = own.map { $0.isKnown ? $0.end : .max }.max() ?? .max
      change.life = own.first?.life ?? 0
      change.livesFrom = own.first.flatMap { $0.isKnown ? $0.end : nil }
      let load = change.value == 0 ? nil : deeds.first { $0.loader?.value == change.value }
      change.loader = load?.loader.map { ($0.begin, $0.end) }
      return change
    }
  }
#endif
