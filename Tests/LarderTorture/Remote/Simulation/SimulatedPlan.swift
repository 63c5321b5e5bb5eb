// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport

  /// What of a simulation its seed decides at the beginning.
  struct SimulatedPlan {
    var machines = 2
    var users = 2
    var deeds = 12
    var keys = 2
    var isSlow = false
    var disconnection = Disconnection.drop
    var localLifetime = Duration.seconds(60)
    var loadLease = Duration.seconds(30)
    var remembersAbsence = false
    /// Whether some values are too large for the server.
    var hasLarge = false
    var latency = (least: 100, most: 2000)
    /// Between two deeds of a user, in microseconds.
    var longestPause = 20_000
    var faults = 0
    /// Of how many keys a server remembers who has read them.
    var trackedLimit = Int.max
    var isCluster = false
    var moves = 0
    /// Between two steps of a move, in microseconds.
    var longestStep = 1000
    var pollInterval = Duration.seconds(2)

    init(_ dice: inout Dice, isCluster: Bool?) {
      machines = dice.between(2, 3)
      users = dice.between(1, 3)
      deeds = dice.between(6, 20)
      keys = dice.between(1, 3)
      isSlow = dice.oneIn(3)
      disconnection = Disconnection(&dice, grace: 100...5000)
      if dice.oneIn(4) { localLifetime = .milliseconds(dice.between(5, 2000)) }
      if dice.oneIn(4) { loadLease = .milliseconds(dice.between(1, 100)) }
      remembersAbsence = dice.oneIn(4)
      hasLarge = dice.oneIn(3)
      if dice.oneIn(3) { latency = (1000, 20_000) }
      if dice.oneIn(3) { longestPause = 1_000_000 }
      faults = dice.oneIn(4) ? 0 : dice.between(1, 6)
      if dice.oneIn(4) { trackedLimit = dice.below(2) }
      self.isCluster = isCluster ?? dice.oneIn(2)
      if !self.isCluster { return }
      moves = dice.between(0, 8)
      longestStep = [1000, 20_000, longestPause][dice.below(3)]
      let shortest = longestPause > 100_000 ? 300 : 20
      pollInterval = .milliseconds(dice.between(shortest, shortest * 10))
    }

    var horizon: Int { deeds * longestPause / 3 + 2000 }

    var promise: Promise {
      var promise = Promise()
      let silence = max(SimulatedConnection.keepAlive, isCluster ? nanoseconds(pollInterval) : 0)
      let timeouts = SimulatedConnection.timeout * (isCluster ? 2 : 1)
      promise.afterLoss = silence + timeouts + nanoseconds(disconnection.grace)
      promise.localLifetime = nanoseconds(localLifetime)
      // A message may be stalled for so long, and a machine hears of the end only behind it.
      promise.margin = 600_000_000
      return promise
    }
  }

  /// What becomes of copies when a connection is lost.
  enum Disconnection: Equatable {
    case drop, revalidate
    /// Milliseconds.
    case serveStale(Int)

    init(_ dice: inout Dice, grace: ClosedRange<Int>) {
      switch dice.below(5) {
      case 0: self = .serveStale(dice.between(grace.lowerBound, grace.upperBound))
      case 1: self = .revalidate
      default: self = .drop
      }
    }

    /// As a number for another process.
    init(_ number: Int) {
      self = number > 0 ? .serveStale(number) : number < 0 ? .revalidate : .drop
    }

    var number: Int {
      switch self {
      case .drop: 0
      case .revalidate: -1
      case .serveStale(let milliseconds): milliseconds
      }
    }

    /// For how long copies are served that may be stale.
    var grace: Duration { .milliseconds(max(0, number)) }

    var policy: RemoteDisconnection {
      switch self {
      case .drop: .drop
      case .revalidate: .revalidate
      case .serveStale: .serveStale(for: grace)
      }
    }
  }
#endif
