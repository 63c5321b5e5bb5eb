// SPDX-License-Identifier: MIT

extension MemoryCache {
  /// Changes the value under a key in one step: nobody sees or changes it meanwhile.
  ///
  /// ```swift
  /// counts.update(forKey: word) { $0 = ($0 ?? 0) + 1 }
  /// ```
  ///
  /// The value is changed in place: an array under the key is not copied. The closure
  /// runs while the cache is locked and **must not use the cache**. It counts as a use,
  /// and as a write if there is a value afterwards. Reads in the statistics are not
  /// changed by it.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What the entry weighs afterwards; nil: what
  ///     ``MemoryCacheConfiguration/cost`` says, else what it weighed before.
  ///   - expiration: How long it lives from now on; nil: as ``expiration`` says.
  ///   - body: Gets the value, nil if there is none, or it has expired, and leaves
  ///     what is to be stored, nil for nothing. If it throws, what it left until then
  ///     is stored.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws.
  /// - Complexity: As ``set(_:forKey:cost:expiration:)``.
  @inlinable
  public func update<R>(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    _ body: (inout Value?) throws -> R
  ) rethrows -> R {
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    // A copy of what was there. It is wanted by those who hear of it, and for objects,
    // whose end may use the cache; for others it would make the body copy the value.
    let keeps = isHeard || Value.self is AnyObject.Type
    var kept: Value?
    var removedKey: Key?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    let superseded = loads.isBusy ? loads.supersede(key) : nil
    // What those get who waited for a load.
    var stored: Value?
    defer {
      end(&probe, &removedEntries)
      if let superseded { superseded.release(stored) }
      if let kept {
        if let removedKey {
          settle(removed: Entry(key: removedKey, value: kept))
        } else {
          settle(replaced: kept, key)
        }
      }
      settle(&removedEntries)
    }
    if let entry = matchLocked(key, candidate, &probe, &removedEntries) {
      if keeps { kept = entry.pointee.value }
      // What was said with the value counts as long as nobody says anything else.
      let keepsCost = measures && weigh(entry, &probe) != index.cost(&probe)
      // The entry has no value until the body is done.
      let place = place(ofValueIn: entry)
      var value: Value? = place.move()
      defer {
        if superseded != nil { stored = value }
        if let changed = value.take() {
          place.initialize(to: changed)
          let weight = keepsCost ? index.cost(&probe) : weigh(entry, &probe)
          index.rewrite(&probe, cost: cost.map(Self.weight) ?? weight)
          if index.hasTerms { setTerms(entry, nil) }
          if let expiration = own(expiration, entry) { live(expiration, &probe, &removedEntries) }
        } else {
          index.take(&probe)
          removedKey = UnsafeMutableRawPointer(entry).assumingMemoryBound(to: Key.self).move()
        }
      }
      return try body(&value)
    }
    var value: Value?
    defer {
      if superseded != nil { stored = value }
      if let value {
        let expiration = lives.own(expiration, key, value)
        _ = put(value, key, weigh(key, value, cost), expiration, nil, &probe, &removedEntries)
      }
    }
    return try body(&value)
  }

  @inlinable
  static func weight(_ cost: Int) -> UInt64 { UInt64(max(0, cost)) }

  /// What an entry weighs that was changed in place.
  @inlinable
  func weigh(_ entry: UnsafeMutablePointer<Entry>, _ probe: inout MemoryProbe) -> UInt64 {
    guard let costOfEntry else { return index.cost(&probe) }
    return Self.weight(costOfEntry(entry.pointee.key, entry.pointee.value))
  }

  /// How long an entry lives that was changed in place.
  @inlinable
  func own(_ asked: Expiration?, _ entry: UnsafeMutablePointer<Entry>) -> Expiration? {
    lives.own(asked, entry.pointee.key, entry.pointee.value)
  }

  @inlinable
  func place(ofValueIn payload: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Value> {
    (payload + (MemoryLayout<Entry>.offset(of: \.value) ?? 0)).assumingMemoryBound(to: Value.self)
  }
}
