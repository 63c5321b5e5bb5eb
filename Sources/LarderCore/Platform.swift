// SPDX-License-Identifier: MIT

// What Apple's systems have and others do not, and what stands in for it there. No other Swift file
// asks which system it is on: talking to the C library is the C core's part, which also gives the
// numbers of its errors.

import Dispatch
import Foundation

#if !canImport(Darwin)
  // Foundation's normalization elsewhere takes some letters above U+FFFF for others, and leaves
  // syllables and marks apart that belong together. What compares strings does not.
  @_spi(_Unicode) import Swift
#endif

/// The system that this was built for.
package enum Platform {
  /// Whether it is one of Apple's.
  package static var isApple: Bool {
    #if canImport(Darwin)
      true
    #else
      false
    #endif
  }
}

// MARK: - Texts

extension Platform {
  /// The composed form (NFC) of a text, which it is equal to.
  static func composed(_ text: String) -> String {
    #if canImport(Darwin)
      let composed = decomposed(text).precomposedStringWithCanonicalMapping
      // Never another text.
      return composed == text ? composed : text
    #else
      return string(of: text._nfc)
    #endif
  }

  /// The decomposed form (NFD) of a text, which it is equal to.
  static func decomposed(_ text: String) -> String {
    #if canImport(Darwin)
      let decomposed = text.decomposedStringWithCanonicalMapping
      return decomposed == text ? decomposed : text
    #else
      return string(of: text._nfd)
    #endif
  }

  private static func string(of scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    for scalar in scalars { view.append(scalar) }
    return String(view)
  }
}

// MARK: - Bytes

extension Data {
  /// As `withUnsafeBytes`, but inlined: that one is called for a result of any
  /// type by way of Foundation's unspecialised code.
  @inline(__always)
  func withContiguousBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    #if canImport(Darwin)
      // Its spans are of a later system than we ask for.
      return try withUnsafeBytes(body)
    #else
      let span = bytes
      return try span.withUnsafeBytes(body)
    #endif
  }
}

// MARK: - Files

extension FileAttributeSystem {
  /// The system that this was built for.
  package static let own: FileAttributeSystem = {
    var system = FileAttributeSystem()
    #if canImport(Darwin)
      system.excludeFromBackup = { path in
        var url = URL(fileURLWithPath: path)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try url.setResourceValues(values)
      }
    #endif
    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
      let types: [Protection: FileProtectionType] = [
        .none: .none, .complete: .complete, .completeUnlessOpen: .completeUnlessOpen,
        .completeUntilFirstUserAuthentication: .completeUntilFirstUserAuthentication,
      ]
      system.protection = (
        get: { path in
          let attributes = try FileManager.default.attributesOfItem(atPath: path)
          guard let type = attributes[.protectionKey] as? FileProtectionType else { return nil }
          return types.first { $0.value == type }?.key
        },
        set: { protection, path in
          guard let type = types[protection] else { return }
          try FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: path)
        }
      )
    #endif
    return system
  }()
}

// MARK: - Events

#if canImport(Darwin)
  /// Posts what Darwin tells: memory pressure wherever there is Dispatch, and the background where
  /// there is UIKit.
  ///
  /// UIKit is not imported, and its notification is called by name, because `UIApplication`
  /// belongs to the main actor and is missing on watchOS. Where nobody posts it, it never comes.
  ///
  /// Sendable, although Swift cannot see it: nothing changes until nobody else is left.
  final class SystemEventSource: @unchecked Sendable {
    private let pressure: any DispatchSourceMemoryPressure
    private let observer: any NSObjectProtocol

    init(_ action: @escaping SystemEvents.Action) {
      pressure = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: .global(qos: .utility))
      pressure.setEventHandler { action(.memoryWarning) }
      observer = NotificationCenter.default.addObserver(
        forName: Notification.Name("UIApplicationDidEnterBackgroundNotification"), object: nil,
        queue: nil
      ) { _ in action(.background) }
      pressure.activate()
    }

    deinit {
      pressure.cancel()
      NotificationCenter.default.removeObserver(observer)
    }
  }
#else
  /// Posts nothing: nobody tells a process here.
  struct SystemEventSource: Sendable {
    init(_ action: @escaping SystemEvents.Action) {}
  }
#endif
