// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  /// A connection as `RedisConnection` has it, over a simulated network: it connects when it is
  /// needed and again when it is lost, gives up a server that does not answer in time, and asks one
  /// that is silent.
  ///
  /// Unchecked: all of it happens on the thread of the loop.
  final class SimulatedConnection: RemoteConnection, @unchecked Sendable {
    private enum State {
      case idle, connecting
      case ready(SimulatedNetwork.Link)
      case waiting, closed
    }

    private final class Call {
      let commands: [RemoteCommand]
      var waiting: CheckedContinuation<[RemoteReply], any Error>?

      init(_ commands: [RemoteCommand]) { self.commands = commands }

      func end(_ result: Result<[RemoteReply], any Error>) { waiting.take()?.resume(with: result) }
    }

    private final class Cancellation: @unchecked Sendable {
      var isCancelled = false
      var call: Call?
    }

    static let timeout: UInt64 = 250_000_000
    static let keepAlive: UInt64 = 2_000_000_000

    private let loop = VirtualLoop.shared
    private let network: SimulatedNetwork
    private let machine: Int
    private var dice: Dice
    private var state = State.idle
    private var attempt = 0
    private var failures = 0
    private var lastRead: UInt64 = 0
    private var underWay: [Call] = []
    private var queued: [Call] = []
    private var sink: (@Sendable (RemoteEvent) -> Void)?
    private(set) var epoch: UInt64 = 0
    /// Told when a connection is lost, once the sink has been.
    var lost: (Int) -> Void = { _ in }

    init(_ network: SimulatedNetwork, _ machine: Int, _ dice: Dice) {
      self.network = network
      self.machine = machine
      self.dice = dice
    }

    deinit { if case .ready(let link) = state { network.close(link) } }

    var deliversInWireOrder: Bool { true }

    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) { self.sink = sink }

    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      if commands.isEmpty { return [] }
      let cancellation = Cancellation()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let call = Call(commands)
          call.waiting = continuation
          if cancellation.isCancelled { return call.end(.failure(CancellationError())) }
          cancellation.call = call
          submit(call, patience)
        }
      } onCancel: {
        cancellation.isCancelled = true
        cancellation.call?.end(.failure(CancellationError()))
      }
    }

    private func submit(_ call: Call, _ patience: Duration?) {
      if case .closed = state { return call.end(.failure(error(.closed))) }
      // As an open circuit does.
      if failures >= 5, case .waiting = state { return call.end(.failure(error(.remote))) }
      loop.after(Self.timeout) { [weak self, weak call] in
        if let self, let call { expire(call) }
      }
      if let patience {
        loop.after(nanoseconds(patience)) { [weak self, weak call] in
          if let self, let call { call.end(.failure(error(.timedOut))) }
        }
      }
      switch state {
      case .ready(let link): write(call, link)
      case .idle:
        queued.append(call)
        connect()
      case .connecting, .waiting, .closed: queued.append(call)
      }
    }

    private func write(_ call: Call, _ link: SimulatedNetwork.Link) {
      underWay.append(call)
      network.send(call.commands, on: link)
    }

    private func expire(_ call: Call) {
      if let place = queued.firstIndex(where: { $0 === call }) {
        queued.remove(at: place)
        failures += 1
        return call.end(.failure(error(.timedOut)))
      }
      guard underWay.contains(where: { $0 === call }) else { return }
      call.end(.failure(error(.timedOut)))
      lose(attempt, .timedOut)
    }

    // MARK: - Connecting

    private func connect() {
      attempt += 1
      let mine = attempt
      state = .connecting
      network.connect(machine) { [self] link in
        guard mine == attempt, case .connecting = state else {
          if let link { network.close(link) }
          return
        }
        guard let link else { return lose(mine, .remote) }
        begin(link, mine)
      }
    }

    private func begin(_ link: SimulatedNetwork.Link, _ mine: Int) {
      state = .ready(link)
      link.receive = { [weak self] arrival in self?.receive(arrival, mine) }
      lastRead = loop.now
      failures = 0
      epoch += 1
      tell(.connected(epoch: epoch))
      let calls = queued
      queued = []
      for call in calls { write(call, link) }
      keepAlive(mine)
    }

    private func keepAlive(_ mine: Int) {
      guard mine == attempt, case .ready(let link) = state else { return }
      let silence = loop.now - lastRead
      if silence < Self.keepAlive {
        return loop.after(Self.keepAlive - silence) { [weak self] in self?.keepAlive(mine) }
      }
      let ping = Call([RemoteCommand("PING", [])])
      write(ping, link)
      loop.after(Self.timeout) { [weak self] in self?.expire(ping) }
      loop.after(Self.keepAlive) { [weak self] in self?.keepAlive(mine) }
    }

    private func receive(_ arrival: SimulatedNetwork.Arrival?, _ mine: Int) {
      guard mine == attempt else { return }
      lastRead = loop.now
      switch arrival {
      case .event(let event): tell(event)
      case .replies(let replies):
        failures = 0
        underWay.removeFirst().end(.success(replies))
      case nil: lose(mine, .remote)
      }
    }

    private func tell(_ event: RemoteEvent) { loop.inOrder { sink?(event) } }

    private func lose(_ mine: Int, _ code: LarderError.Code) {
      guard mine == attempt else { return }
      attempt += 1
      failures += 1
      let link: SimulatedNetwork.Link? = if case .ready(let link) = state { link } else { nil }
      if link != nil {
        tell(.lost(epoch: epoch))
        lost(machine)
      }
      if case .closed = state {} else { wait() }
      endAll(code)
      if let link { network.close(link) }
    }

    private func wait() {
      state = .waiting
      let mine = attempt
      let longest = min(50_000 << min(failures, 6), 2_000_000)
      loop.after(dice.microseconds(longest / 2, longest)) { [weak self] in
        if let self, attempt == mine, case .waiting = state { connect() }
      }
    }

    private func endAll(_ code: LarderError.Code) {
      let all = underWay + queued
      (underWay, queued) = ([], [])
      for call in all { call.end(.failure(error(code))) }
    }

    func close() async {
      if case .closed = state { return }
      lose(attempt, .closed)
      attempt += 1
      state = .closed
      sink = nil
    }

    private func error(_ code: LarderError.Code) -> LarderError {
      LarderError(code, "The simulated server failed.")
    }
  }
#endif
