// SPDX-License-Identifier: MIT

public import Foundation
import Synchronization

/// What a cache keeps with a value besides its key, where it is asked for: behind the entry.
@usableFromInline
struct MemoryTerms {
  /// When it is time to load the value again, by the index's clock; `Int64.max` for never.
  var due: Int64
  /// What was said of this value alone; nil: nothing.
  var own: MemoryOwnTerms?

  static var none: MemoryTerms { MemoryTerms(due: .max, own: nil) }
}

/// What goes with one value alone. Nobody's closure runs where it is dropped.
final class MemoryOwnTerms: Sendable {
  /// What was stored with the value: a copy of the cache's own.
  let extendedData: Data?
  /// How long after it was written it is to be loaded again; nil: as the cache has it.
  let refreshAfter: Duration?
  /// How long it lives; nil: as the cache has it.
  let expiration: Expiration?

  fileprivate init?(_ company: MemoryCompany) {
    if company.extendedData == nil, company.refreshAfter == nil, company.expiration == nil {
      return nil
    }
    extendedData = company.extendedData.map { data in data.withUnsafeBytes { Data($0) } }
    refreshAfter = company.refreshAfter
    expiration = company.expiration
  }
}

/// The same, as who stores a value says it.
@usableFromInline
package struct MemoryCompany: Sendable {
  /// How long after it was written it is to be loaded again; nil: as the cache has it.
  var refreshAfter: Duration?
  /// How long it was given to live, without what has passed of it; nil: as the cache has it.
  var expiration: Expiration?
  /// How long ago it was written.
  var age: Duration
  var extendedData: Data?
  /// Whether the value is the one that is there, if one is: then that stays.
  @usableFromInline var isUnchanged: Bool

  @usableFromInline
  package init(
    refreshAfter: Duration? = nil, expiration: Expiration? = nil, age: Duration = .zero,
    extendedData: Data? = nil, isUnchanged: Bool = false
  ) {
    self.refreshAfter = refreshAfter
    self.expiration = expiration
    self.age = age
    self.extendedData = extendedData
    self.isUnchanged = isUnchanged
  }
}

extension MemoryCache {
  /// The age from which values are loaded again; nil for none.
  package var refreshTime: Duration? { refreshAfter == .max ? nil : .nanoseconds(refreshAfter) }

  /// Whether values are kept for loads that fail.
  package var keepsExpired: Bool { grace > 0 }

  /// How long values are kept for loads that fail.
  package var expiredLife: Duration { .nanoseconds(grace) }

  /// What goes with a value that was given a life of its own.
  @inlinable @inline(__always)
  func company(of expiration: Expiration?) -> MemoryCompany? {
    expiration == nil || !index.hasTerms ? nil : MemoryCompany(expiration: expiration)
  }

  /// Notes what goes with a value that is being written; nil for what the cache has for all.
  @usableFromInline
  func setTerms(_ payload: UnsafeMutableRawPointer, _ company: MemoryCompany?) {
    var terms = MemoryTerms.none
    let life = company?.refreshAfter.map { max(0, $0.inNanoseconds) } ?? refreshAfter
    if life != .max {
      let rest = life.subtractingReportingOverflow(company?.age.inNanoseconds ?? 0).partialValue
      let (due, overflows) = index.now.addingReportingOverflow(rest)
      terms.due = overflows ? (rest < 0 ? .min : .max) : due
    }
    terms.own = company.flatMap { MemoryOwnTerms($0) }
    if terms.own?.extendedData != nil { hasExtendedData.store(true, ordering: .relaxed) }
    index.terms(of: payload).pointee = terms
  }
}
