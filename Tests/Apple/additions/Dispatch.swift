// SPDX-License-Identifier: MIT
// Compiled into each library: what Dispatch has on Apple systems and not on Linux. Source:
// developer.apple.com/documentation/dispatch/dispatchsource/memorypressureevent.

import Dispatch

extension DispatchSource {
  struct MemoryPressureEvent: OptionSet {
    static let normal = MemoryPressureEvent(rawValue: 1)
    static let warning = MemoryPressureEvent(rawValue: 2)
    static let critical = MemoryPressureEvent(rawValue: 4)
    static let all: MemoryPressureEvent = [.normal, .warning, .critical]
    let rawValue: UInt
  }

  class func makeMemoryPressureSource(
    eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMemoryPressure {
    // Nothing here is run.
    while true {}
  }
}

protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {
  var data: DispatchSource.MemoryPressureEvent { get }
  var mask: DispatchSource.MemoryPressureEvent { get }
}
