// SPDX-License-Identifier: MIT

#if Logging
  import Foundation
  import LarderCore
  import LarderLogging
  import LarderTestSupport
  import Logging
  import Testing

  @Suite("Logs of processes that are killed") struct LogProcessTests {
    private static let threads = 8
    /// How often each of the threads logs: `LARDER_TEST_LOG_CALLS=100000` for a longer run.
    private static let calls =
      ProcessInfo.processInfo.environment["LARDER_TEST_LOG_CALLS"].flatMap { Int($0) } ?? 1000

    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// What is wrong with the log, given how many calls of each thread returned at least.
    private func findings(returned: [Int]) throws -> [String] {
      var next = Array(repeating: 1, count: returned.count)
      var findings: [String] = []
      let log = try MessageLog<LogRecord>(readingFrom: .url(directory.file("log")))
      for entry in log.entries {
        let record = try entry.message
        guard let thread = record.metadata["thread"].flatMap({ Int($0.description) }),
          let call = record.metadata["call"].flatMap({ Int($0.description) }),
          next.indices.contains(thread)
        else {
          findings.append("\(entry.sequence) is of no thread")
          continue
        }
        if call != next[thread] { findings.append("\(thread) has \(call) at \(next[thread])") }
        next[thread] += 1
      }
      for (thread, count) in returned.enumerated() where next[thread] <= count {
        findings.append("\(thread) has \(next[thread] - 1) of \(count)")
      }
      return findings
    }

    private func returnedCalls() throws -> [Int] {
      try (0..<Self.threads).map { thread in
        let text = try String(contentsOf: directory.file("returned-\(thread)"), encoding: .utf8)
        return text.split(separator: "\n").first.flatMap { Int($0) } ?? 0
      }
    }

    @Test(arguments: ["half", "done"])
    func everyCallThatReturnedIsThereAfterAKill(when: String) throws {
      let server = try ServerProcess(
        ["log", directory.url.path, "\(Self.threads)", "\(Self.calls)"])
      while let line = server.readLine(), line != when {}
      server.send(SIGKILL)
      #expect(server.wait() == -SIGKILL)
      let returned = try returnedCalls()
      #expect(returned.reduce(0, +) >= Self.calls / 2)
      if when == "done" { #expect(returned.allSatisfy { $0 == Self.calls }) }
      #expect(try findings(returned: returned) == [])
      // One call more than there was would be missing.
      #expect(try findings(returned: returned.map { $0 + Self.calls }) != [])
    }

    // MARK: - Waiting for the device

    private static let strace = ["/usr/bin/strace", "/usr/local/bin/strace"].first {
      FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Calls that wait for the device, of the thread that logs, while it does.
    private func syncs(atLevel level: String) throws -> [Substring] {
      let trace = directory.file("trace-\(level)")
      let server = try ServerProcess(
        ["level", directory.url.path, level],
        under: [
          try #require(Self.strace), "-f", "-o", trace.path,
          "-e", "trace=write,fsync,fdatasync,msync,sync,syncfs,sync_file_range",
        ])
      #expect(server.wait() == 0)
      let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
      let begin = try #require(lines.firstIndex { $0.contains("\"begin\\n\"") })
      let end = try #require(lines.firstIndex { $0.contains("\"end\\n\"") })
      let thread = try #require(lines[begin].split(separator: " ").first)
      // Behind a number that strace fills up with spaces, the call.
      return lines[begin + 1..<end].filter { $0.hasPrefix(thread + " ") && !$0.contains(" write(") }
    }

    @Test(
      .enabled(if: strace != nil, "There is no strace: which system calls were made is not known."),
      .disabled(if: isSanitized, "A sanitizer makes calls of its own."))
    func aLogCallDoesNotWaitForTheDevice() throws {
      #expect(try syncs(atLevel: "error") == [])
      // One that is asked to does, and is seen.
      #expect(try syncs(atLevel: "critical").count >= 100)
    }
  }
#endif
