// SPDX-License-Identifier: MIT

#if canImport(Darwin)
  import Dispatch
  import Foundation

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
