// SPDX-License-Identifier: MIT
import Foundation

func fail(_ message: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data("larder-bench: \(message)\n".utf8))
  exit(code)
}

if let request = ResidentBytes.request(of: CommandLine.arguments) {
  ResidentBytes.runAsChild(request.subject, count: request.count)
}

do {
  if let request = DiskMemory.request(of: CommandLine.arguments) {
    try DiskMemory.runAsChild(request.path, count: request.count)
  }
  if let request = ManyMemory.request(of: CommandLine.arguments) {
    try ManyMemory.runAsChild(request.subject, request.path, count: request.count)
  }
  if let writer = OtherWriter(arguments: CommandLine.arguments) {
    try writer.runAsChild()
  }
  try Watcher.runAsChild(CommandLine.arguments)
  #if HAS_REMOTE
    try RemoteWatcher.runAsChild(CommandLine.arguments)
  #endif
  let options = try Options(CommandLine.arguments.dropFirst())
  if options.help {
    print(Options.usage)
  } else if options.list {
    for row in allAreas.flatMap({ $0.rows(options.scale) }) {
      print(row.id, row.goal.text, separator: "\t")
    }
  } else {
    try run(options)
  }
} catch let error as UsageError {
  fail("\(error.message) Try --help.", code: 64)
} catch {
  fail("\(error)", code: 2)
}

func run(_ options: Options) throws {
  #if DEBUG
    print("Built without optimisation: the figures say nothing. Build with -c release.\n")
  #endif
  let output = options.output.map { URL(fileURLWithPath: $0) } ?? Results.defaultFolder
  try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
  let scratch = "work-\(ProcessInfo.processInfo.processIdentifier)"
  let bench = try Bench(options, folder: output.appendingPathComponent(scratch))
  defer { bench.removeFolder() }
  let machine = Machine()

  var unmet = 0
  var unjudged = 0
  for area in allAreas where options.areas.isEmpty || options.areas.contains(area.name) {
    let rows = area.rows(options.scale).filter { options.includes(row: $0.id) }
    if let absence = area.absence, options.rows.isEmpty {
      print("\(area.name): skipped: \(absence)\n")
    }
    if rows.isEmpty { continue }
    let report = try area.run(rows, bench, machine)
    print(report.text)
    let results = try Results.merge(report.measurements, into: output)
    var files = report.filesOfResults?(results) ?? [:]
    if options.rows.isEmpty {
      files.merge(report.files) { $1 }
      files["\(area.name).svg"] = report.chart
    }
    for (name, text) in files {
      try text.write(to: output.appendingPathComponent(name), atomically: true, encoding: .utf8)
    }
    unmet += report.measurements.count { $0.met == false }
    unjudged += report.measurements.count { $0.isUnjudged }
  }
  print("Results and charts: \(output.path)")
  if unmet > 0 { print("\(unmet) goal\(unmet == 1 ? " is" : "s are") not met.") }
  if unjudged > 0 {
    print("\(unjudged) could not be judged: that takes \(Effort.judged) pairs of samples.")
  }
}
