// SPDX-License-Identifier: MIT

#if canImport(UIKit)
  import CoreGraphics
  public import UIKit

  extension Coder where Value == UIImage {
    /// Images as PNG if they have an alpha channel, and else as JPEG; format
    /// `image`.
    ///
    /// - Parameter jpegCompressionQuality: From 0, the smallest, to 1, the best, for
    ///   images without an alpha channel; 1 by default. What lies outside counts as
    ///   the nearer of the two.
    /// - Returns: A coder. An image that has no pixels of its own is refused with
    ///   `.encoding`, and bytes that are no image with `.decoding`.
    /// - Complexity: O(1).
    public static func image(jpegCompressionQuality: Double = 1) -> Coder<UIImage> {
      let quality = ImageCoding.clamp(jpegCompressionQuality)
      return Coder(
        format: ImageCoding.format,
        encode: { image in
          let isOpaque = ImageCoding.isOpaque(image.cgImage)
          let bytes = isOpaque ? image.jpegData(compressionQuality: quality) : image.pngData()
          guard let bytes else { throw ImageCoding.noPixels }
          return bytes
        },
        decode: { bytes in
          guard let image = UIImage(data: bytes) else { throw ImageCoding.noImage(bytes.count) }
          return image
        })
    }

    /// Images as PNG or as JPEG of the best quality; format `image`.
    ///
    /// - Complexity: O(1).
    public static var image: Coder<UIImage> { image() }
  }
#elseif canImport(AppKit)
  public import AppKit
  import CoreGraphics

  extension Coder where Value == NSImage {
    /// Images as PNG if they have an alpha channel, and else as JPEG; format
    /// `image`.
    ///
    /// - Parameter jpegCompressionQuality: From 0, the smallest, to 1, the best, for
    ///   images without an alpha channel; 1 by default. What lies outside counts as
    ///   the nearer of the two.
    /// - Returns: A coder. An image that has no pixels of its own is refused with
    ///   `.encoding`, and bytes that are no image with `.decoding`.
    /// - Complexity: O(1).
    public static func image(jpegCompressionQuality: Double = 1) -> Coder<NSImage> {
      let quality = ImageCoding.clamp(jpegCompressionQuality)
      return Coder(
        format: ImageCoding.format,
        encode: { image in
          guard let pixels = image.cgImage(forProposedRect: nil, context: nil, hints: nil) else {
            throw ImageCoding.noPixels
          }
          let bitmap = NSBitmapImageRep(cgImage: pixels)
          let bytes =
            ImageCoding.isOpaque(pixels)
            ? bitmap.representation(using: .jpeg, properties: [.compressionFactor: quality])
            : bitmap.representation(using: .png, properties: [:])
          guard let bytes else { throw ImageCoding.noPixels }
          return bytes
        },
        decode: { bytes in
          guard let image = NSImage(data: bytes), image.isValid else {
            throw ImageCoding.noImage(bytes.count)
          }
          return image
        })
    }

    /// Images as PNG or as JPEG of the best quality; format `image`.
    ///
    /// - Complexity: O(1).
    public static var image: Coder<NSImage> { image() }
  }
#endif

#if canImport(UIKit) || canImport(AppKit)
  /// What the coders for both kinds of image have in common.
  private enum ImageCoding {
    static let format = "image"

    static var noPixels: LarderError {
      LarderError(.encoding, "The image has no pixels that PNG or JPEG could hold.")
    }

    static func noImage(_ count: Int) -> LarderError {
      LarderError(.decoding, "The \(count) bytes are not an image.")
    }

    /// NaN counts as 1.
    static func clamp(_ quality: Double) -> Double { quality < 1 ? max(0, quality) : 1 }

    static func isOpaque(_ pixels: CGImage?) -> Bool {
      guard let pixels else { return false }
      return switch pixels.alphaInfo {
      case .none, .noneSkipFirst, .noneSkipLast: true
      default: false
      }
    }
  }
#endif
