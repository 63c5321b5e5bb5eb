// SPDX-License-Identifier: MIT

import LarderCore
import Testing

@Suite struct ClampingTests {
  @Test func whatDoesNotFitBecomesTheNearestNumber() {
    #expect(UInt64.max.adding(clamping: 1) == .max)
    #expect(UInt64(1).subtracting(clamping: 2) == 0)
    #expect(Int.max.adding(clamping: 1) == .max)
    #expect(Int.min.adding(clamping: -1) == .min)
    #expect(Int.max.subtracting(clamping: -1) == .max)
    #expect(Int.min.subtracting(clamping: 1) == .min)
  }

  @Test func everyResultIsTheExactOneWithinTheBounds() {
    for left in Int8.min...Int8.max {
      for right in Int8.min...Int8.max {
        let (sum, difference) = (Int(left) + Int(right), Int(left) - Int(right))
        #expect(left.adding(clamping: right) == Int8(clamping: sum))
        #expect(left.subtracting(clamping: right) == Int8(clamping: difference))
      }
    }
  }
}
