// SPDX-License-Identifier: MIT
import Foundation

func fail(_ message: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data("larder-bench: \(message)\n".utf8))
  exit(code)
}

if let subject = ResidentBytes.subject(of: CommandLine.arguments) {
  ResidentBytes.runAsChild(subject)
}

do {
  if let request = DiskMemory.request(of: CommandLine.arguments) {
    try DiskMemory.runAsChild(request.path, count: request.count)
  }
  let options = try Options(CommandLine.arguments.dropFirst())
  if options.help {
    print(Options.usage)
  } else if options.list {
    for row in allAreas.flatMap({ $0.rows }) { print(row.id, row.goal.text, separator: "\t") }
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
  let bench = try Bench(
    quick: options.quick, traces: options.traces, folder: output.appendingPathComponent(scratch))
  defer { bench.removeFolder() }
  let machine = Machine()

  var unmet = 0
  for area in allAreas where options.areas.isEmpty || options.areas.contains(area.name) {
    let rows = area.rows.filter { options.includes(row: $0.id) }
    if rows.isEmpty { continue }
    let report = try area.run(rows, bench, machine)
    print(report.text)
    try Results.merge(report.measurements, into: output)
    if options.rows.isEmpty {
      for (name, text) in report.files.merging(
        ["\(area.name).svg": report.chart], uniquingKeysWith: { $1 })
      {
        try text.write(
          to: output.appendingPathComponent(name), atomically: true, encoding: .utf8)
      }
    }
    unmet += report.measurements.count { $0.met == false }
  }
  print("Results and charts: \(output.path)")
  if unmet > 0 { print("\(unmet) goal\(unmet == 1 ? " is" : "s are") not met.") }
}
