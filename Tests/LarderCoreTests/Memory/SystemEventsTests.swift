// SPDX-License-Identifier: MIT

import LarderTestSupport
import Testing

@testable import LarderCore

/// Events of a system that is made up here.
struct SystemEventsTests {
  private let posts = Locked<[SystemEvents.Action]>([])
  private let events: SystemEvents

  init() {
    events = SystemEvents { [posts] action in
      posts.withLock { $0.append(action) }
      return true
    }
  }

  private func post(_ event: SystemEvent) { posts.withLock { $0 }.forEach { $0(event) } }

  private func makeCache(
    _ change: (inout MemoryCacheConfiguration<Int, Int>) -> Void = { _ in }
  ) -> MemoryCache<Int, Int> {
    var configuration = MemoryCacheConfiguration<Int, Int>()
    configuration.systemEvents = events
    change(&configuration)
    let cache = MemoryCache(configuration)
    cache.set(1, forKey: 1)
    return cache
  }

  @Test func memoryPressureReachesEveryCache() {
    let caches = [makeCache(), makeCache(), makeCache { $0.removesAllOnMemoryWarning = false }]
    // One source, however many caches there are.
    #expect(posts.withLock { $0.count } == 1)
    post(.memoryWarning)
    #expect(caches.map(\.isEmpty) == [true, true, false])
  }

  @Test func theBackgroundReachesEveryCache() {
    let caches = [makeCache(), makeCache { $0.removesAllInBackground = false }]
    post(.background)
    #expect(caches.map(\.isEmpty) == [true, false])
  }

  @Test func nobodyListensBeforeThereIsACacheAndNoneIsKept() {
    #expect(posts.withLock { $0.isEmpty })
    var cache: MemoryCache<Int, Int>? = makeCache()
    weak let observed = cache
    cache = nil
    #expect(observed == nil)
    post(.memoryWarning)
    cache = makeCache()
    post(.memoryWarning)
    #expect(cache?.isEmpty == true)
  }

  @Test func anEventMayMakeAndReleaseCaches() {
    let made = Locked<[MemoryCache<Int, Int>]>([])
    let makeCache = makeCache
    let cache = makeCache {
      $0.onMemoryWarning = { _ in made.withLock { $0 = [makeCache { _ in }] } }
    }
    post(.memoryWarning)
    post(.memoryWarning)
    #expect(cache.isEmpty && made.withLock { $0.count } == 1)
  }
}
