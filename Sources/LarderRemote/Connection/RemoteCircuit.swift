// SPDX-License-Identifier: MIT

#if Remote
  /// Has calls fail at once when several have failed in a row, so that nobody waits for a server
  /// that does not answer: after a while a single one tries.
  struct RemoteCircuit {
    private let limit: Int
    private let openFor: Duration
    private var failures = 0
    private var closesAt = Duration.zero
    private var isProbing = false

    init(failures: Int, openFor: Duration) {
      limit = max(1, failures)
      self.openFor = openFor
    }

    var isOpen: Bool { failures >= limit }

    /// Whether a call may be made; if so, what comes of it has to be told.
    ///
    /// - Parameter now: Time since some beginning.
    mutating func allows(at now: Duration) -> Bool {
      if !isOpen { return true }
      if isProbing || now < closesAt { return false }
      isProbing = true
      return true
    }

    mutating func succeed() {
      failures = 0
      isProbing = false
    }

    mutating func fail(at now: Duration) {
      failures += 1
      isProbing = false
      if isOpen { closesAt = now + openFor }
    }
  }

  /// When to ask a server whether it is there.
  ///
  /// What had changed when it got a question was announced before the answer; what changed since
  /// may not have been. So a late answer says no more than an early one, and silence is counted
  /// from the question.
  struct RemoteSilence {
    private let longest: Duration
    private var begun: Duration

    /// - Parameter now: Time since some beginning.
    init(longest: Duration, at now: Duration) { (self.longest, begun) = (longest, now) }

    mutating func end(byAnswerTo question: Duration) { begun = max(begun, question) }

    /// How long it need not be asked yet.
    func rest(at now: Duration) -> Duration { max(.zero, longest - (now - begun)) }
  }

  /// How long to wait before the next attempt to connect: twice as long each time, and not at the
  /// same moment as everybody else.
  struct RemoteBackoff {
    private static let shortest = Duration.milliseconds(50)
    private let longest: Duration
    private var attempts = 0

    init(longest: Duration) { self.longest = longest }

    /// - Returns: Half to all of what the number of attempts says.
    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
      let wait = min(Self.shortest * (1 << min(attempts, 16)), longest)
      attempts += 1
      return wait * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() { attempts = 0 }
  }
#endif
