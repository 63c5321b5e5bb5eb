// SPDX-License-Identifier: MIT

#if Remote
  /// What a value is: the number of the write that made it, no two of which are the same. 0 is no
  /// value.
  typealias ValueID = UInt64

  /// The machine that made a value.
  func writer(of value: ValueID) -> Int { Int(value >> 40) }

  /// Set in what is too large for the server: it stays with the machine that made it.
  let largeBit: ValueID = 1 << 39

  func isLarge(_ value: ValueID) -> Bool { value & largeBit != 0 }

  /// An operation on a key, by one machine, between two moments of one clock.
  struct Deed {
    enum Kind: UInt8 {
      case read, load, set, remove
      /// A loader that ran for a load, from the load's beginning to its end.
      case loader
    }

    var kind = Kind.read
    var key = 0
    /// A process that was started again is another machine: it remembers nothing.
    var machine = 0
    var begin: UInt64 = 0
    var end: UInt64 = 0
    /// What was read or written.
    var value: ValueID = 0
    /// Whether it returned. If not, it may have happened or not.
    var isKnown = false
    /// Of a loader: when it ran, and what it made.
    var loader: (begin: UInt64, end: UInt64, value: ValueID)?
    /// How long what is set lives; 0: for ever.
    var life: UInt64 = 0
    /// What is read has the bytes of another key or none that were ever written.
    var isForeign = false
  }

  /// A change of what the server has under a key.
  struct Change {
    /// If that is large, the server has what stands in for it.
    var value: ValueID
    /// It happened between these.
    var begin: UInt64
    var end: UInt64
    /// Whether it is known to have happened.
    var isKnown: Bool
    /// Who made it, and since when they know that; nobody for what befalls the server.
    var machine = -1
    var knownAt = UInt64.max
    /// Of what a load made: what was under way meanwhile.
    var loader: (begin: UInt64, end: UInt64)?
    var life: UInt64 = 0
    /// When the machine that wrote it began to count its life: behind the server, which did when
    /// it got it.
    var livesFrom: UInt64?

    /// Whether others find nothing; who made it may have lost it, too.
    var isAbsence: Bool { value == 0 || isLarge(value) }
  }

  /// What befell all keys, or those of one server: it was flushed, or killed and forgot everything.
  struct Clearing {
    var begin: UInt64
    var end: UInt64
    var what: String
    /// nil: all.
    var keys: Set<Int>?
    /// Whether they were all on that server.
    var isKnown = true

    func concerns(_ key: Int) -> Bool { keys?.contains(key) ?? true }
  }

  /// Whatever the server told a machine before `begin`, that machine has heeded by `end`.
  struct Barrier {
    var begin: UInt64
    var end: UInt64
  }

  /// All that happened, of which the checker judges the reads.
  struct History {
    var deeds: [Deed] = []
    var clearings: [Clearing] = []
    /// By machine, in order.
    var barriers: [Int: [Barrier]] = [:]
    /// By machine: when it was not run by the system, or much too late.
    var stalls: [Int: [Barrier]] = [:]
    /// By machine: the disk that it has, if another one may have it later.
    var disks: [Int: Int] = [:]
    /// By key, what the server did if that is known, as in a simulation. nil: it follows from what
    /// the machines did.
    var changes: [Int: [Change]]?
    var promise = Promise()

    /// Whether a machine may have what another one, or itself, did not send to the server.
    func isShared(_ machine: Int, _ other: Int) -> Bool {
      machine == other || disks[machine].map { $0 == disks[other] } ?? false
    }
  }

  /// How old what is read may be, in nanoseconds.
  struct Promise {
    /// After a connection is lost: `keepAlive` + `timeout`, and the time of grace if stale copies
    /// are served.
    var afterLoss: UInt64 = 2_250_000_000
    var localLifetime: UInt64 = 60_000_000_000
    /// What is allowed on top of both: the time to hear, to be scheduled, to read a clock.
    var margin: UInt64 = 0
    /// Likewise for what expires: rounding.
    var expiryMargin: UInt64 = 2_000_000
    /// How long after its end an operation that failed may still reach the server.
    var straggling: UInt64 = 2_000_000_000
  }

  /// A read that should not have been.
  struct Violation {
    let key: Int
    let what: String
    /// What happened to the key that matters for it, one a line.
    let story: [String]
  }
#endif
