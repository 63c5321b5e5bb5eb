// SPDX-License-Identifier: MIT
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Source: developer.apple.com/documentation/uikit, UIImage, which is immutable and Sendable.

public import CoreGraphics
public import Foundation

open class UIImage: NSObject, @unchecked Sendable {
  public init?(data: Data) { nil }
  open var cgImage: CGImage? { nil }
  open func jpegData(compressionQuality: CGFloat) -> Data? { nil }
  open func pngData() -> Data? { nil }
}
