// SPDX-License-Identifier: MIT
#if Remote
  import ArgumentParser
  import Foundation
  import LarderCore
  import LarderRemote
  import Synchronization

  struct LogShip: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "ship",
      abstract: "Ship a log to a stream of a Redis or Valkey server, each message once.",
      discussion: """
        Ships what the log holds and what is appended, until Ctrl-C, beside the program that \
        writes to it. However often this or the server is stopped, killed or cut off, the stream \
        has each number of the log once: as an entry with the fields message, and time if the log \
        keeps times; or counted in an entry with the field lost, if its messages were gone before \
        they could be shipped. A server that is away is tried again and again.

        The stream's key is its name, a colon and the log's identity, which is kept beside the log \
        in a file of the same name with .identity behind it.

        The consumer says how far the log was shipped, for the program that removes messages. Only \
        who has the log open for writing can say so: this does when it ends, if nobody has.

        The password comes from the environment (LARDER_REDIS_PASSWORD) or from a file, as all \
        users can see what a command is called with.

        EXAMPLES
          larder log ship app.larder --to redis://127.0.0.1 --stream app
          larder log ship app.larder --to rediss://log@redis.internal/2 --stream app
          larder log ship app.larder --to redis://127.0.0.1 --stream app --once
        """)

    @Argument(help: "The log.", completion: .file())
    var file: String

    @Option(
      name: .long,
      help: ArgumentHelp(
        "The server: redis://[user@]host[:port][/database], or rediss:// with TLS.",
        valueName: "server"))
    var to: String

    @Option(name: .long, help: "The name of the stream, before the log's identity.")
    var stream: String

    @Option(name: .long, help: "The consumer that says how far the log was shipped.")
    var consumer = "ship"

    @Option(
      name: .long,
      help: ArgumentHelp(
        "About how many entries the stream keeps. (default: all)", valueName: "count"))
    var maxLength: Int?

    @Option(
      name: .long, help: ArgumentHelp("The most messages to send at a time.", valueName: "count"))
    var batch = 1000

    @Option(
      name: .long,
      help: ArgumentHelp("How long the server may take, in seconds.", valueName: "seconds"))
    var timeout: UInt32 = 10

    @Option(name: .long, help: "A file whose first line is the password.", completion: .file())
    var passwordFile: String?

    @Option(
      name: .long, help: "Certificates (PEM) that the server's has to come from, for rediss.",
      completion: .file())
    var authorities: String?

    @Flag(
      name: .long,
      help: "End when everything is shipped, or with an error after 5 failures in a row.")
    var once = false

    @Flag(name: .long, help: "Show how far it is.")
    var progress = false

    @Flag(name: .shortAndLong, help: "No summary, and no notes of what is tried again.")
    var quiet = false

    // By hand, as the parser quotes what it cannot parse: it may have a password.
    private var location: RedisLocation { get throws { try RedisLocation(to) } }

    func validate() throws {
      let location = try location
      if batch < 1 || maxLength ?? 1 < 1 || timeout < 1 {
        throw ValidationError("--batch, --max-length and --timeout are at least 1.")
      }
      if stream.isEmpty { throw ValidationError("A stream has a name.") }
      if !(1...32).contains(consumer.utf8.count) {
        throw ValidationError("A consumer's name has from 1 to 32 bytes.")
      }
      if authorities != nil && !location.isEncrypted {
        throw ValidationError("--authorities is for a server with TLS: rediss://")
      }
    }

    func run() throws {
      Interruption.enable()
      try StandardStreams.requireOutput(outside: file)
      // The bytes as they are, whatever coder made them.
      let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
      let log = try MessageLog(readingFrom: .path(file), coder: coder)
      let created = try log.created
      let shipper = try shipper(of: log)
      let ticker = progress ? ProgressTicker { text(shipper.statistics) } : nil
      let result = Self.wait { once ? try await shipper.shipAll() : try await shipper.run() }
      ticker?.stop()
      let statistics = shipper.statistics
      acknowledge(statistics.lastSequence, created: created)
      // A copy's numbers go on far behind its messages.
      let isAll = if case .success = result { once } else { false }
      if !quiet { StandardError.note("\(file): \(text(statistics, isAll: isAll))") }
      do {
        try result.get()
      } catch is CancellationError where Interruption.isRequested {
        if once { throw ExitCode(ToolExit.interrupted) }
      }
    }

    private func shipper(of log: MessageLog<Data>) throws -> LogShipper<Data> {
      var streams = RedisStreamConfiguration()
      streams.maximumLength = maxLength
      let sink = try RedisStreamSink(
        connection: RedisConnection(try server()), stream: stream, identity: log.identity(),
        configuration: streams)
      var configuration = LogShipperConfiguration()
      configuration.maximumBatchCount = batch
      // The connection has one of its own.
      configuration.timeout = nil
      if once { configuration.failuresToGiveUp = 5 }
      if !quiet {
        let (file, server) = (file, try location)
        configuration.onFailure = { error in
          let reason = (error as? LarderError)?.explained ?? "\(type(of: error))"
          StandardError.note("\(file): \(server): \(reason) It is tried again.")
        }
      }
      return try LogShipper(log, consumer: consumer, sink: sink, configuration: configuration)
    }

    private func server() throws -> RemoteServer {
      let location = try location
      var server = RemoteServer(host: location.host, port: location.port)
      server.security = location.isEncrypted ? .tls(authorities: authorities) : .plaintext
      server.database = location.database
      server.timeout = .seconds(Int64(timeout))
      server.connectTimeout = .seconds(Int64(timeout))
      server.clientName = "larder-log-ship"
      if let password = try password() {
        server.credentials = RemoteCredentials(
          user: location.user ?? "default", password: password)
      } else if location.user != nil {
        throw ToolFailure(
          "\(location): a user needs a password: LARDER_REDIS_PASSWORD, or --password-file")
      }
      return server
    }

    private func password() throws -> String? {
      guard let passwordFile else {
        return ProcessInfo.processInfo.environment["LARDER_REDIS_PASSWORD"]
      }
      guard let data = FileManager.default.contents(atPath: passwordFile) else {
        throw ToolFailure("\(passwordFile): cannot read the password")
      }
      let line = String(decoding: data, as: UTF8.self)
        .split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).first
      return line.map(String.init)
    }

    /// Says how far it was shipped, if nobody writes to the log: else that program's shipper would.
    private func acknowledge(_ sequence: UInt64?, created: Int64) {
      guard let sequence else { return }
      do {
        var options = RingOptions(existing: true)
        options.created = created
        let ring = try RingHandle(path: file, options: options)
        try ring.acknowledge(consumer, through: sequence)
        try ring.shutdown(syncs: false)
      } catch  where [.busy, .readOnly, .replaced].contains(error.code) {
        // As the help says.
      } catch {
        if !quiet { StandardError.note("\(file): cannot say how far it was shipped: \(error)") }
      }
    }

    private func text(_ statistics: LogShipperStatistics, isAll: Bool = false) -> String {
      var text = "shipped \(Quantity.count(statistics.messages, "message"))"
      text += ", \(Quantity.bytes(statistics.bytes))"
      if statistics.missing > 0 {
        text += "; \(Quantity.count(statistics.missing)) more were gone before that"
      }
      if statistics.lag > 0, !isAll { text += "; \(Quantity.count(statistics.lag)) left" }
      return text
    }

    /// Waits for a task, which an interruption cancels.
    private static func wait(
      _ body: @escaping @Sendable () async throws -> Void
    ) -> Result<Void, any Error> {
      let outcome = Outcome()
      let task = Task {
        do {
          try await body()
          outcome.finish(.success(()))
        } catch {
          outcome.finish(.failure(error))
        }
      }
      return outcome.wait { if Interruption.isRequested { task.cancel() } }
    }
  }

  /// What came of a task, for a thread that waits for it.
  private final class Outcome: Sendable {
    private let result = Mutex<Result<Void, any Error>?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    func finish(_ result: Result<Void, any Error>) {
      self.result.withLock { $0 = result }
      isDone.signal()
    }

    /// - Parameter look: Called several times a second.
    func wait(_ look: () -> Void) -> Result<Void, any Error> {
      while isDone.wait(timeout: .now() + .milliseconds(50)) == .timedOut { look() }
      return result.withLock { $0 } ?? .success(())
    }
  }
#endif
