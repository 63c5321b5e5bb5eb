// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// A second process that reads along.
enum DemoFollow {
  private static let count: UInt64 = 50_000
  private static let probes = 50

  static func run(_ tour: Tour) throws {
    try tour.heading("Followed live by another process")
    tour.explain("This process appends, and  larder log tail -f  reads along in another one.")
    let file = tour.file("follow.larder")
    let log = try MessageLog(
      at: .url(file), capacity: 16.megabytes, whenFull: .refuse, coder: .data)
    try log.append(DemoMessage.make(1))
    let child = try ChildProcess(["log", "tail", "-n", "1", "-f", file.path])
    var lines = Lines(child)
    // It has started when it has printed this one.
    var isEqual = lines.next() == DemoMessage.make(1)
    for number in 2...count { try log.append(DemoMessage.make(number)) }
    var next: UInt64 = 2
    while next <= count, isEqual, lines.next() == DemoMessage.make(next) { next += 1 }
    try tour.claim(
      isEqual && next == count + 1,
      "It printed all \(Quantity.count(count)) messages as they were appended, in order.",
      otherwise: "It printed \(Quantity.count(next - 1)).")

    let clock = ContinuousClock()
    var delays: [Duration] = []
    for number in count + 1...count + UInt64(probes) {
      let start = clock.now
      try log.append(DemoMessage.make(number))
      isEqual = isEqual && lines.next() == DemoMessage.make(number)
      delays.append(start.duration(to: clock.now))
    }
    tour.show(
      "from an append here to the line read from the other process: "
        + "\(tour.time(delays.sorted()[probes / 2])) (median of \(probes))")
    // A script that runs this in its background has SIGINT ignored, and children inherit that.
    child.send(SIGTERM)
    let end = child.wait()
    try tour.claim(
      isEqual && end == 0, "A signal ended it in good order.", otherwise: "It ended with \(end).")
    try log.close()
  }

  /// The lines that a child prints.
  private struct Lines {
    private let child: ChildProcess
    private var pending = Data()
    private var offset = 0

    init(_ child: ChildProcess) { self.child = child }

    /// `nil` if the child ended or fell silent.
    mutating func next() -> Data? {
      while true {
        if let end = pending[offset...].firstIndex(of: UInt8(ascii: "\n")) {
          defer { offset = end + 1 }
          return pending[offset..<end]
        }
        let more = child.read()
        guard !more.isEmpty else { return nil }
        pending = Data(pending[offset...]) + more
        offset = 0
      }
    }
  }
}
