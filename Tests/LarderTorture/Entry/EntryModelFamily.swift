// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Random calls beside a model that is too simple to be wrong.
enum EntryModelFamily {
  static func run(_ run: Run) throws {
    while var dice = run.nextCase() {
      let path = try Workplace.fresh("case", in: run.folder)
      let steps = dice.between(20, 400)
      run.trial("\(steps) steps") {
        var world = try EntryWorld(path: path, plant: run.orders.plant, &dice)
        for number in 0..<steps {
          do {
            try world.step(&dice)
          } catch {
            throw Broken("step \(number): \(error)")
          }
        }
        try world.end()
      }
      if !run.orders.keeps { Workplace.remove(URL(fileURLWithPath: path)) }
    }
  }
}
