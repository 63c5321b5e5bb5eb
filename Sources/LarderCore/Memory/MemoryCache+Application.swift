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
  /// Hears what UIKit tells. The center forgets it when it is gone.
  ///
  /// UIKit is not imported, and its notifications are called by name, because
  /// `UIApplication` belongs to the main actor and is missing on watchOS.
  final class SystemEventObserver: NSObject, Sendable {
    private let action: @Sendable (SystemEvent) -> Void

    init(_ action: @escaping @Sendable (SystemEvent) -> Void) {
      self.action = action
      super.init()
      let center = NotificationCenter.default
      center.addObserver(
        self, selector: #selector(memoryWarning),
        name: Notification.Name("UIApplicationDidReceiveMemoryWarningNotification"), object: nil)
      center.addObserver(
        self, selector: #selector(background),
        name: Notification.Name("UIApplicationDidEnterBackgroundNotification"), object: nil)
    }

    @objc private func memoryWarning() { action(.memoryWarning) }
    @objc private func background() { action(.background) }
  }
#endif
