// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check every byte of a cache that matters, and change nothing.",
    discussion: """
      Verifies the index, every entry's checksum in the log, and that counts, orders and times \
      agree with the entries. Works while a program uses the cache. \
      Prints what is wrong and where. Exits with 0 if all is well and with 1 if there is damage; \
      damage costs the entries it hit and no others, and larder cache salvage copies the rest.

      EXAMPLES
        larder cache verify users.cache
        larder cache verify --json users.cache | jq .damaged
        larder cache verify -q a.cache || larder cache salvage a.cache b.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  @Flag(name: .shortAndLong, help: "No report and no progress: the exit code alone.")
  var quiet = false

  func run() throws {
    let report: StoreReport
    let writer: Int?
    do {
      let cache = try CacheFolder.read(folder, tells: false)
      writer = try cache.statistics.writerProcess
      report = try EntryProgress.run("verifying", noun: "entry", isShown: !quiet) {
        try cache.verify(progress: $0)
      }
    } catch let error as LarderError where error.code == .damaged {
      // Damage so deep that it cannot even be opened is what was asked for, and not a failure.
      if !quiet { try ReportText.print(damage: error, of: folder, as: "folder", json: json) }
      throw ExitCode(ToolExit.damage)
    }
    if quiet {
      // The exit code says it.
    } else if json {
      var object = JSONObject()
      object.add("folder", folder)
      object.add("writerProcess", writer)
      CacheText.add(report, to: &object)
      try StandardOutput.line(object.line)
    } else {
      try StandardOutput.line(
        "\(folder): \(report.isIntact ? "all is well" : "damaged"), \(CacheText.intact(report))")
      for finding in CacheText.findings(report) { try StandardOutput.line("  \(finding)") }
      if let writer {
        try StandardOutput.line("  process \(writer) has it open; this was one state of it")
      }
      if !report.isIntact {
        try StandardOutput.line("  larder cache salvage copies what is intact to a new cache")
      }
    }
    if !report.isIntact { throw ExitCode(ToolExit.damage) }
  }
}
