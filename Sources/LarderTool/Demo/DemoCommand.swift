// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import LarderLogTool

struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "A guided tour: see Larder work, in under a minute.",
    discussion: """
      Works in a temporary directory that it removes at its end. Everything it says is checked as \
      it says it; if anything does not hold, it says so and exits with 1.

      EXAMPLES
        larder demo
        NO_COLOR=1 larder demo | less
      """)

  func run() throws {
    Interruption.enable()
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("larder-demo-\(UUID().uuidString)", isDirectory: true)
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw ToolFailure("cannot make \(directory.path): \(error.localizedDescription)")
    }
    // Nothing to do about a directory that cannot be removed; the system clears its own.
    defer { try? FileManager.default.removeItem(at: directory) }
    let tour = Tour(directory: directory)
    let start = ContinuousClock.now
    tour.say(
      tour.styled(
        "Larder: a message log and a cache that survive a crash, and a cache in memory.", "1"))
    tour.say("Eight things it promises, tried out on this machine, in \(directory.path).")
    do {
      try DemoSpeed.run(tour)
      try DemoKill.run(tour)
      try DemoDamage.run(tour)
      try DemoFull.run(tour)
      try DemoConsumer.run(tour)
      try DemoFollow.run(tour)
      try DemoCache.run(tour)
      try DemoDiskCache.run(tour)
    } catch is DemoFailure {
      tour.say("\nThis did not hold on this machine, and it should have.")
      throw ExitCode(ToolExit.damage)
    }
    let duration = tour.time(start.duration(to: .now))
    tour.say(
      """

      \(tour.styled("All \(tour.claims) claims held, in \(duration).", "1")) The files are removed.

      Next:
        some-program | larder log append app.larder    keep what a program says
        larder log tail -f app.larder                  follow it from elsewhere
        larder log --help                              everything else about logs
        larder cache --help                            and about caches
        README.md                                      the same from Swift and from C
      """)
    try tour.requireAudience()
  }
}
