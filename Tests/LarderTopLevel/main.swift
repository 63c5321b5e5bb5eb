// SPDX-License-Identifier: MIT

// What a script does with a log, at the top level of its main.swift. That it compiles is the test;
// LogSyncerTests look at what the calls do.
import Foundation
import LarderCore

/// In a function the forms that suspend are taken.
func append(to log: MessageLog<String>) async throws {
  try await log.append("two", durability: .power)
  try await log.append(contentsOf: ["three", "four"], durability: .power)
  try await log.sync()
}

let url = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "top-level.larder")
let log = try MessageLog<String>(fileURL: url, maximumBytes: 1 << 20, whenFull: .overwriteOldest)
try await append(to: log)
// At the top level it is the forms that block, although it awaits: no task has to wait for it.
try log.append("five")
try log.append("six", durability: .power)
for entry in log.entries { print(entry.sequence, try entry.message) }
try log.sync()
try log.close()
