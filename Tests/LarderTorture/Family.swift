// SPDX-License-Identifier: MIT

/// Trials of one kind.
struct Family: Sendable {
  let area: String
  let name: String
  /// Its part of the time, among those that are run.
  let share: Double
  let summary: String
  /// Tries something over and over, until the run has no next case.
  let body: @Sendable (Run) throws -> Void

  static let all = [
    Family(
      area: "entry", name: "model", share: 2,
      summary: "random operations beside a model in memory", body: EntryModelFamily.run),
    Family(
      area: "entry", name: "damage", share: 3,
      summary: "bytes flipped, pages zeroed: nothing wrong, and nobody else's miss",
      body: EntryDamageFamily.run),
    Family(
      area: "entry", name: "kill", share: 5,
      summary: "SIGKILL at a random moment: each entry wholly old or wholly new",
      body: EntryKillFamily.run),
    Family(
      area: "archive", name: "model", share: 3,
      summary: "random operations and queries beside a model in memory",
      body: ArchiveModelFamily.run),
    Family(
      area: "archive", name: "damage", share: 2,
      summary: "bytes flipped, pages zeroed: no wrong element", body: ArchiveDamageFamily.run),
    Family(
      area: "archive", name: "kill", share: 5,
      summary: "SIGKILL at a random moment: elements and indexes agree",
      body: ArchiveKillFamily.run),
    Family(
      area: "migration", name: "kill", share: 3,
      summary: "SIGKILL in a migration, again and again: each element once, of the last version",
      body: MigrationKillFamily.run),
    Family(
      area: "suspend", name: "kill", share: 3,
      summary: "suspended and resumed under load, SIGKILL at a random moment",
      body: SuspendKillFamily.run),
    Family(
      area: "queue", name: "kill", share: 3,
      summary: "SIGKILL while eight workers do jobs: none lost, none again, each letter once",
      body: QueueKillFamily.run),
    Family(
      area: "names", name: "each", share: 1,
      summary: "each call of a handle whose folder was moved, replaced or deleted",
      body: NamesFamily.each),
    Family(
      area: "names", name: "mix", share: 3,
      summary: "stores of one name, renamed and made anew: no handle changes another's file",
      body: NamesFamily.mix),
  ]
}
