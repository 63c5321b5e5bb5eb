// SPDX-License-Identifier: MIT
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Source: developer.apple.com/documentation/coregraphics, CGImage and CGImageAlphaInfo. A Double
// becomes a CGFloat by itself only if the compiler finds that here.

@_exported public import struct Foundation.CGFloat

public enum CGImageAlphaInfo: UInt32, @unchecked Sendable {
  case none
  case premultipliedLast
  case premultipliedFirst
  case last
  case first
  case noneSkipLast
  case noneSkipFirst
  case alphaOnly
}

public class CGImage {
  init() {}
  public var alphaInfo: CGImageAlphaInfo { .none }
}
