// SPDX-License-Identifier: MIT

#if Configuration && Logging && Metrics && ServiceLifecycle
  import Configuration
  import Foundation
  import Larder
  import LarderConfiguration
  import LarderLifecycle
  import LarderLogging
  import LarderMetrics
  import Logging
  import ServiceLifecycle
  import UnixSignals

  // The server of the article, which LarderServerTests drive and stop.

  // Example: a whole server
  /// Serves until SIGTERM, with everything it keeps in one folder.
  func serve(from folder: URL) async throws {
    // LOG_CAPACITY=256MiB, USERS_DISK_SIZE_LIMIT=1GiB, USERS_EXPIRATION=30d, …
    let config = ConfigReader(provider: EnvironmentVariablesProvider())

    let destination = try LogDestination(
      at: .url(folder.appendingPathComponent("server.log")),
      configuration: .init(config: config.scoped(to: "log")))
    LoggingSystem.bootstrap { MessageLogHandler(label: $0, destination: destination) }
    let logger = Logger(label: "server")

    let users = try Cache<Int, String>(
      at: .url(folder.appendingPathComponent("users")),
      configuration: .init(config: config.scoped(to: "users")))

    let metrics = StoreMetrics(interval: .seconds(15))
    metrics.add(users, name: "users")
    metrics.add(destination.log, name: "server log")
    metrics.addLostCount(name: "server log") { destination.lostCount }

    // Shut down from the last to the first: the stores when nobody uses them any more.
    let group = ServiceGroup(
      services: [StoreService([users]), metrics, WebServer(users: users, logger: logger)],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    try await group.run()

    // The log outlives the group, which logs its own end.
    try await destination.log.close(durability: .power)
  }
  // End of example

  /// Stands for a server: stores the lines that it reads, and says each when it is stored.
  struct WebServer: Service {
    let users: Cache<Int, String>
    let logger: Logger

    func run() async throws {
      let (lines, continuation) = AsyncStream.makeStream(of: String.self)
      Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
      }
      say("ready")
      for await line in lines.cancelOnGracefulShutdown() {
        try await users.set("user \(line)", forKey: Int(line) ?? 0)
        logger.info("stored", metadata: ["user": "\(line)"])
        say(line)
      }
    }
  }
#endif
