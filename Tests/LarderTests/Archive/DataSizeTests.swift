// SPDX-License-Identifier: MIT

import Foundation
import Larder
import Testing

/// Sizes in units.
struct DataSizeTests {
  private static let sizes = [128, 256, 512, 1024, 1536, 2048, 2560, 8192, 65536]

  @Test(arguments: sizes)
  func unitsAreOf1024(count: Int) {
    let size = DataSize(bytes: count)
    #expect(size.bytes == count && DataSize.bytes(count) == size)
    let thousands = Double(count) / 1024
    #expect(size.kilobytes == thousands && DataSize.kilobytes(thousands) == size)
    let large = DataSize(bytes: count << 10)
    #expect(large.megabytes == thousands && DataSize.megabytes(thousands) == large)
    let larger = DataSize(bytes: count << 20)
    #expect(larger.gigabytes == thousands && DataSize.gigabytes(thousands) == larger)
    let largest = DataSize(bytes: count << 30)
    #expect(largest.terabytes == thousands && DataSize.terabytes(thousands) == largest)
  }

  @Test func partsOfABytesAreRoundedUp() {
    #expect(DataSize.bytes(1.5).bytes == 2)
    #expect(DataSize.kilobytes(1.0001).bytes == 1025)
    #expect((1.5 as DataSize).bytes == 2)
  }

  @Test func numbersHaveUnits() {
    #expect(10.megabytes == DataSize(bytes: 10 << 20))
    #expect(10.kilobytes.bytes == 10_240)
    #expect(1.gigabytes.megabytes == 1024)
    #expect(0.5.terabytes.gigabytes == 512)
    #expect(7.bytes.bytes == 7)
    #expect(2.5.kilobytes.bytes == 2560 && 1.5.megabytes.kilobytes == 1536)
    #expect(Data(count: 17).dataSize == 17)
  }

  @Test func sizesAreComparedAddedAndTaken() {
    #expect(1.kilobytes < 1025 && 1.megabytes > 1023.kilobytes)
    #expect(1.kilobytes + 1 == 1025 && 1.kilobytes - 1025 == -1)
    var size: DataSize = .zero
    size += 3
    size -= 1
    #expect(size == 2 && [size, 5, .zero].max() == 5)
  }

  @Test func whatDoesNotFitIsTheNearest() {
    #expect(DataSize(bytes: .max) + 1 == DataSize(bytes: .max))
    #expect(DataSize(bytes: .min) - 1 == DataSize(bytes: .min))
    #expect(Int.max.kilobytes.bytes == .max && Int.min.kilobytes.bytes == .min)
    #expect(DataSize.bytes(Double.infinity).bytes == .max)
    #expect(DataSize.gigabytes(-Double.infinity).bytes == .min)
    #expect(DataSize.megabytes(Double.nan).bytes == 0)
    #expect(DataSize.bytes(9.3e18).bytes == .max)
  }

  @Test(arguments: [
    (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"),
    (10 << 20, "10 MiB"), (5 << 40, "5 TiB"), (-2048, "-2 KiB"), (Int.max, "8 EiB"),
  ])
  func theyReadWell(bytes: Int, text: String) {
    #expect("\(DataSize(bytes: bytes))" == text)
  }

  @Test func theyAreEncodedAndDecoded() throws {
    let size = 3.megabytes
    let bytes = try CBOREncoder().encode(size)
    #expect(try CBORDecoder().decode(DataSize.self, from: bytes) == size)
  }
}
