// SPDX-License-Identifier: MIT

#if canImport(AppKit) && !canImport(UIKit)
  import AppKit
  import LarderCore
  import LarderTestSupport
  import Testing

  /// Only on macOS, where images can be made without a screen.
  @Suite struct ImageCoderTests {
    private static func image(hasAlpha: Bool) throws -> NSImage {
      let bitmap = try #require(
        NSBitmapImageRep(
          bitmapDataPlanes: nil, pixelsWide: 8, pixelsHigh: 4, bitsPerSample: 8,
          samplesPerPixel: hasAlpha ? 4 : 3, hasAlpha: hasAlpha, isPlanar: false,
          colorSpaceName: .deviceRGB, bytesPerRow: 0, bitsPerPixel: 0))
      let image = NSImage(size: NSSize(width: 8, height: 4))
      image.addRepresentation(bitmap)
      return image
    }

    @Test func anImageWithAlphaIsPNG() throws {
      let coder = Coder<NSImage>.image
      #expect(coder.format == "image")
      let bytes = try coder.encode(Self.image(hasAlpha: true))
      #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
      #expect(try coder.decode(bytes).size == NSSize(width: 8, height: 4))
    }

    @Test(arguments: [-1, 0, 0.5, 1, 2, .nan])
    func anImageWithoutAlphaIsJPEG(quality: Double) throws {
      let coder = Coder<NSImage>.image(jpegCompressionQuality: quality)
      let bytes = try coder.encode(Self.image(hasAlpha: false))
      #expect(bytes.starts(with: [0xFF, 0xD8]))
      #expect(try coder.decode(bytes).size == NSSize(width: 8, height: 4))
    }

    @Test func garbageAndEmptyImagesAreRefused() throws {
      #expect(errorCode { try Coder<NSImage>.image.decode(Data("garbage".utf8)) } == .decoding)
      #expect(errorCode { try Coder<NSImage>.image.decode(Data()) } == .decoding)
      #expect(errorCode { try Coder<NSImage>.image.encode(NSImage(size: .zero)) } == .encoding)
    }
  }
#endif
