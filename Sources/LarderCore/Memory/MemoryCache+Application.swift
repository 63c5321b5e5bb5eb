// SPDX-License-Identifier: MIT

#if canImport(UIKit)
  import Foundation
#endif

/// What the system tells an app that a cache answers.
package enum SystemEvent: Sendable {
  case memoryWarning
  case background
}

/// What a cache does then.
struct SystemEventActions<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  let removesAllOnMemoryWarning: Bool
  let removesAllInBackground: Bool
  let onMemoryWarning: (@Sendable (MemoryCache<Key, Value>) -> Void)?
  let onEnterBackground: (@Sendable (MemoryCache<Key, Value>) -> Void)?

  init(_ configuration: MemoryCacheConfiguration<Key, Value>) {
    removesAllOnMemoryWarning = configuration.removesAllOnMemoryWarning
    removesAllInBackground = configuration.removesAllInBackground
    onMemoryWarning = configuration.onMemoryWarning
    onEnterBackground = configuration.onEnterBackground
  }
}

extension MemoryCache {
  /// - Complexity: That of ``removeAll(keepingCapacity:)``.
  package func handle(_ event: SystemEvent) {
    switch event {
    case .memoryWarning:
      onSystemEvent.onMemoryWarning?(self)
      if onSystemEvent.removesAllOnMemoryWarning { removeAll() }
    case .background:
      onSystemEvent.onEnterBackground?(self)
      if onSystemEvent.removesAllInBackground { removeAll() }
    }
  }
}

#if canImport(UIKit)
  /// Hears what UIKit tells, as long as it is there.
  ///
  /// UIKit is not imported, and its notifications are called by name, because
  /// `UIApplication` belongs to the main actor and is missing on watchOS.
  final class SystemEventObserver: Sendable {
    /// The center's for us. Set once, and read once more when nobody else is left.
    private nonisolated(unsafe) let observers: [any NSObjectProtocol]

    init(_ action: @escaping @Sendable (SystemEvent) -> Void) {
      let events: [(String, SystemEvent)] = [
        ("UIApplicationDidReceiveMemoryWarningNotification", .memoryWarning),
        ("UIApplicationDidEnterBackgroundNotification", .background),
      ]
      observers = events.map { name, event in
        NotificationCenter.default.addObserver(
          forName: Notification.Name(name), object: nil, queue: nil
        ) { _ in action(event) }
      }
    }

    deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
  }
#endif
