// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Shipping a log, at random") struct LogShipperModelTests {
  @Test(arguments: [false, true])
  func eachNumberIsInTheSinkOnce(refuses: Bool) async throws {
    let seed = SeededGenerator(seed: 1).seed
    let model = try ShippingModel(seed: seed, refuses: refuses)
    #expect(try await model.run(operations: effort(3_000, long: 10_000)) == nil, "seed \(seed)")
  }

  @Test(arguments: ShippingPlant.allCases)
  func aDefectIsFound(_ plant: ShippingPlant) async throws {
    // Only a log whose owner relies on what is acknowledged loses by that.
    let refuses = plant == .earlyAcknowledgement
    var finding: String?
    for seed in 1...20 where finding == nil {
      let model = try ShippingModel(seed: UInt64(seed), refuses: refuses, plant: plant)
      finding = try await model.run(operations: 1000)
    }
    #expect(finding != nil)
  }
}
