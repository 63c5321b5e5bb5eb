// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Queries while others write.
struct ArchiveQueryConcurrencyTests {
  @Test func eachResultIsOneMomentWhateverIsWrittenMeanwhile() throws {
    let place = try CitizenPlace()
    // Never another number of them, of whom two change places all the time.
    let archive = try place.open((0..<100).map { Citizen(id: $0, age: $0 / 50) })
    let isOver = Locked(false)
    let failures = Locked<[String]>([])
    onDiskThreads(3) { thread in
      do {
        if thread == 0 {
          defer { isOver.withLock { $0 = true } }
          for _ in 0..<150 {
            let found = try archive.sorted(by: \.age, .reverse).limit(100)
              .results()
            let isRight =
              Set(found.map(\.id)).count == 100
              && zip(found, found.dropFirst()).allSatisfy { ($1.age, $0.id) < ($0.age, $1.id) }
            if !isRight { failures.withLock { $0.append("\(found.map(\.id))") } }
          }
          return
        }
        var round = 0
        while !isOver.withLock({ $0 }) {
          round += 1
          try archive.upsert(Citizen(id: round % 100, age: (round / 7 + thread) % 2))
        }
      } catch {
        failures.withLock { $0.append("\(error)") }
        isOver.withLock { $0 = true }
      }
    }
    #expect(failures.withLock { $0 } == [])
  }
}
