// SPDX-License-Identifier: MIT
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Source: developer.apple.com/documentation/appkit, NSImage and NSBitmapImageRep; neither is
// Sendable.

public import CoreGraphics
public import Foundation

open class NSImage: NSObject {
  public init?(data: Data) { nil }
  open var isValid: Bool { true }
  open func cgImage(
    forProposedRect proposedDestRect: UnsafeMutablePointer<NSRect>?, context: NSGraphicsContext?,
    hints: [NSImageRep.HintKey: Any]?
  ) -> CGImage? { nil }
}

@available(*, unavailable)
extension NSImage: Sendable {}

open class NSGraphicsContext: NSObject {}

open class NSImageRep: NSObject {
  public struct HintKey: RawRepresentable, Hashable, Sendable {
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }
}

open class NSBitmapImageRep: NSImageRep {
  public enum FileType: UInt, Sendable {
    case tiff
    case bmp
    case gif
    case jpeg
    case png
    case jpeg2000
  }

  public struct PropertyKey: RawRepresentable, Hashable, Sendable {
    public static let compressionFactor = PropertyKey(rawValue: "NSImageCompressionFactor")
    public var rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  public init(cgImage: CGImage) {}
  open func representation(using storageType: FileType, properties: [PropertyKey: Any]) -> Data? {
    nil
  }
}
