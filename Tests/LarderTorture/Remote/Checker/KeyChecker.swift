// SPDX-License-Identifier: MIT

#if Remote
  /// Judges the reads of one key.
  ///
  /// It does not know in which order the server did what overlapped, so it only takes for older
  /// what ended before the other began. A change *supersedes* another if it is known to have
  /// happened and began after the other had ended. A value is current from the
  /// beginning of the change that wrote it until the first change that supersedes that has ended:
  /// `death`. What is current at any moment of a read may be read. What is not, is stale, and since
  /// when decides whether that was promised.
  struct KeyChecker {
    private let key: Int
    private let history: History
    private let deeds: [Deed]
    /// In the order of `begin`.
    private let changes: [Change]
    private let deaths: [UInt64]
    private let placeOf: [ValueID: Int]
    /// Where the changes are that leave nothing.
    private let absences: [Int]
    private let latestAbsence: Latest
    private let loads: [ValueID: Deed]
    /// By machine.
    private let writes: [Int: [Deed]]
    /// Of a machine, what it wrote itself.
    private var knowledge: [Int: Known] = [:]

    /// What a machine must not forget: deaths as above, but only by what it wrote itself, each
    /// no earlier than that returned.
    private struct Known {
      let deaths: [UInt64]
      let latestAbsence: Latest
    }

    /// Of places in order, the latest death up to each.
    private struct Latest {
      let begins: [UInt64]
      let deaths: [UInt64]

      init(_ places: [Int], _ changes: [Change], _ all: [UInt64]) {
        begins = places.map { changes[$0].begin }
        var latest: UInt64 = 0
        deaths = places.map { place in
          latest = max(latest, all[place])
          return latest
        }
      }

      /// The latest of those that began by then; nil if none did.
      func death(by time: UInt64) -> UInt64? {
        let count = begins.place { $0 > time }
        return count > 0 ? deaths[count - 1] : nil
      }
    }

    init(_ key: Int, _ deeds: [Deed], _ history: History) {
      self.key = key
      self.history = history
      self.deeds = deeds
      var loads: [ValueID: Deed] = [:]
      for deed in deeds { if let loader = deed.loader { loads[loader.value] = deed } }
      self.loads = loads
      let writes = deeds.filter { $0.kind == .set || $0.kind == .remove || $0.loader != nil }
      self.writes = Dictionary(grouping: writes, by: \.machine)
      let changes = Changes.of(key, deeds, history)
      self.changes = changes
      deaths = Self.deaths(changes) { $0.isKnown ? $0.end : .max }
      var placeOf: [ValueID: Int] = [:]
      for (place, change) in changes.enumerated() where change.value != 0 {
        placeOf[change.value] = place
      }
      self.placeOf = placeOf
      absences = changes.indices.filter { changes[$0].isAbsence }
      latestAbsence = Latest(absences, changes, deaths)
    }

    /// - Parameter ending: When a change supersedes those before it; `.max` if it does not.
    private static func deaths(
      _ changes: [Change], _ ending: (Change) -> UInt64
    ) -> [UInt64] {
      var first = [UInt64](repeating: .max, count: changes.count + 1)
      for place in changes.indices.reversed() {
        first[place] = min(first[place + 1], ending(changes[place]))
      }
      return changes.map { change in
        first[changes.place { $0.begin > change.end }]
      }
    }

    mutating func check() -> Violation? {
      // Stored is bad enough.
      for change in changes where change.isKnown && isStale(change.loader) {
        guard let load = loads[change.value] else { continue }
        return violation("stored what a stale load made: the key had changed meanwhile", load, nil)
      }
      for deed in deeds where deed.isKnown && (deed.kind == .read || deed.kind == .load) {
        if let violation = check(deed) { return violation }
      }
      return nil
    }

    private mutating func check(_ read: Deed) -> Violation? {
      if read.isForeign {
        return violation("read a value of another key, or that nobody wrote", read, nil)
      }
      if isLarge(read.value), !history.isShared(read.machine, writer(of: read.value)) {
        return violation("read a value of another machine that was not sent", read, nil)
      }
      // What a load made is for those who waited for it, whatever became of it.
      let load = loads[read.value]
      if let load, load.machine == read.machine, load.begin <= read.end, read.begin <= load.end {
        return nil
      }
      if read.value != 0 { return check(read, load) }
      let death = latestAbsence.death(by: read.end) ?? 0
      let mine = known(to: read.machine).latestAbsence.death(by: read.end) ?? 0
      return check(read, nil, death, mine)
    }

    private mutating func check(_ read: Deed, _ load: Deed?) -> Violation? {
      let found = placeOf[read.value] ?? load.flatMap { placeOfStandIn($0) }
      guard let place = found, changes[place].begin <= read.end else {
        let what = load == nil ? "that nobody had written" : "of a load that was not stored"
        return violation("read a value \(what)", read, nil)
      }
      if isStale(load?.loader.map { ($0.begin, $0.end) }) {
        return violation("read what a stale load made: the key had changed meanwhile", read, nil)
      }
      return check(read, place, deaths[place], known(to: read.machine).deaths[place])
    }

    /// Whether a change happened while the loader ran, after which its value must not be stored.
    private func isStale(_ loader: (begin: UInt64, end: UInt64)?) -> Bool {
      guard let loader else { return false }
      let first = changes.place { $0.begin >= loader.begin }
      return changes[first...].prefix { $0.begin <= loader.end }.contains { change in
        change.isKnown && change.end <= loader.end
      }
    }

    /// What a load made that is large, its machine keeps if the server has what stands in for
    /// another one, and for as long as that is there.
    private func placeOfStandIn(_ load: Deed) -> Int? {
      guard let loader = load.loader, isLarge(loader.value) else { return nil }
      let next = changes.place { $0.begin >= loader.begin }
      let last = changes[..<next].lastIndex { $0.isKnown }
      return last.flatMap { isLarge(changes[$0].value) ? $0 : nil }
    }

    /// When it has expired; `.max` if it does not.
    private func expiry(of change: Change) -> UInt64 {
      if change.life == 0 { return .max }
      return (change.livesFrom ?? change.end) + change.life + history.promise.expiryMargin
    }

    /// Whether the same machine was reading the same already before a moment. A read that joins
    /// another one gets what the server said to that.
    private func isJoined(_ read: Deed, _ time: UInt64) -> Bool {
      deeds.contains { deed in
        (deed.kind == .read || deed.kind == .load) && deed.isKnown && deed.value == read.value
          && deed.machine == read.machine && deed.begin <= time && deed.end >= read.begin
      }
    }

    private func check(
      _ read: Deed, _ place: Int?, _ death: UInt64, _ mine: UInt64
    ) -> Violation? {
      if let place, changes[place].value == read.value {
        let expiry = expiry(of: changes[place])
        if expiry < read.begin, !isJoined(read, expiry) {
          return violation("read something that had expired", read, place, since: expiry)
        }
      }
      if mine < read.begin {
        return violation("read something older than what it had written", read, place, since: mine)
      }
      guard death < read.begin else { return nil }
      let promise = history.promise
      let limit = promise.margin + stalls(read.machine, death, read.begin)
      if read.begin - death > min(promise.afterLoss, promise.localLifetime) + limit {
        return violation("read something stale for too long", read, place, since: death)
      }
      if let barrier = barrier(read.machine, after: death), barrier.end < read.begin {
        return violation(
          "read something stale after the server's message had been heeded", read, place,
          since: death, barrier)
      }
      return nil
    }

    private func stalls(_ machine: Int, _ from: UInt64, _ to: UInt64) -> UInt64 {
      (history.stalls[machine] ?? []).reduce(0) { sum, stall in
        let (begin, end) = (max(from, stall.begin), min(to, stall.end))
        return begin < end ? sum + end - begin : sum
      }
    }

    /// The first barrier by which a machine has heeded what happened before a moment. A copy that
    /// it writes itself may come after the message that removes it, and goes then.
    private func barrier(_ machine: Int, after time: UInt64) -> Barrier? {
      guard let barriers = history.barriers[machine] else { return nil }
      var time = time
      while true {
        let place = barriers.place { $0.begin >= time }
        guard place < barriers.count else { return nil }
        let barrier = barriers[place]
        let busy = (writes[machine] ?? []).filter { $0.begin <= barrier.end && $0.end >= time }
        guard let last = busy.map(\.end).max() else { return barrier }
        if last == .max { return nil }
        time = last + 1
      }
    }

    // MARK: - What a machine wrote

    private mutating func known(to machine: Int) -> Known {
      if let known = knowledge[machine] { return known }
      let deaths = Self.deaths(changes) { change in
        change.isKnown && change.machine == machine ? change.knownAt : .max
      }
      let known = Known(deaths: deaths, latestAbsence: Latest(absences, changes, deaths))
      knowledge[machine] = known
      return known
    }

    // MARK: - The story

    private func violation(
      _ what: String, _ read: Deed, _ place: Int?, since: UInt64? = nil, _ barrier: Barrier? = nil
    ) -> Violation {
      let zero = place.map { changes[$0].begin } ?? (read.begin - min(read.begin, 1_000_000_000))
      var lines: [(UInt64, String)] = []
      func time(_ time: UInt64) -> String { time == .max ? "…" : "\(Double(time) / 1e6)" }
      func add(_ begin: UInt64, _ end: UInt64, _ text: String) {
        lines.append((begin, "\(time(begin)) … \(time(end)) ms: \(text)"))
      }
      for deed in deeds where deed.end >= zero && deed.begin <= read.end {
        let isPlain = deed.kind == .read && deed.value != read.value && deed.loader == nil
        if isPlain && deed.machine != read.machine { continue }
        let text = "machine \(deed.machine) \(deed.kind)"
        if let loader = deed.loader {
          add(loader.begin, loader.end, "\(text) makes \(Self.name(loader.value))")
        } else {
          add(
            deed.begin, deed.end,
            "\(text) \(Self.name(deed.value))\(deed.isKnown ? "" : ", failed")")
        }
      }
      for clearing in history.clearings
      where clearing.end >= zero && clearing.begin <= read.end && clearing.concerns(key) {
        add(clearing.begin, clearing.end, clearing.what)
      }
      if let changes = history.changes?[key] {
        for change in changes where change.end >= zero && change.begin <= read.end {
          let what = isLarge(change.value) ? "what stands in for " : ""
          add(change.begin, change.end, "the server has \(what)\(Self.name(change.value))")
        }
      }
      if let barrier { add(barrier.begin, barrier.end, "machine \(read.machine) heard the server") }
      lines.sort { $0.0 < $1.0 }
      var story = lines.map(\.1)
      if story.count > 40 { story = Array(story.prefix(15)) + ["…"] + Array(story.suffix(24)) }
      let old = since.map { ", stale for \(Double(read.begin - min($0, read.begin)) / 1e6) ms" }
      let text = "machine \(read.machine) \(what) (\(Self.name(read.value)))\(old ?? "")"
      return Violation(key: key, what: "key \(key): \(text)", story: story)
    }

    static func name(_ value: ValueID) -> String {
      if value == 0 { return "nothing" }
      let name = "\(writer(of: value)).\(value & (largeBit - 1))"
      return isLarge(value) ? name + ", large" : name
    }
  }

  extension Array {
    /// Of elements in order, the place of the first for which it holds; their count if for none.
    func place(where holds: (Element) -> Bool) -> Int {
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        if holds(self[middle]) { high = middle } else { low = middle + 1 }
      }
      return low
    }
  }
#endif
