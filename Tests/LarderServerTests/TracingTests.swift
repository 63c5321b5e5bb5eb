// SPDX-License-Identifier: MIT

#if Tracing
  import Foundation
  import InMemoryTracing
  import Larder
  import LarderTestSupport
  import LarderTracing
  import Testing
  import Tracing

  /// The one tracer of this process: another suite must not use it at the same time.
  private let tracer: InMemoryTracer = {
    let tracer = InMemoryTracer()
    InstrumentationSystem.bootstrap(tracer)
    return tracer
  }()

  @Suite("Spans of loads", .serialized) struct TracingTests {
    private struct Failure: Error {}

    /// Other tests load as well.
    private func names() -> [String] {
      tracer.popFinishedSpans().map(\.operationName).filter { $0 == "memory" || $0 == "cache" }
    }

    @Test func aLoadIsASpanAndAHitIsNone() async throws {
      _ = tracer
      let memory = MemoryCache<Int, Int>(countLimit: 10)
      let directory = try TemporaryDirectory()
      let cache = try Cache<Int, Int>(at: .path(directory.file("cache").path))
      for _ in 0..<3 {
        #expect(try await memory.value(forKey: 1, tracing: "memory") { 7 } == 7)
        #expect(try await cache.value(forKey: 1, tracing: "cache") { 8 } == 8)
      }
      #expect(names() == ["memory", "cache"])
      try await cache.close()
    }

    @Test func theSpanIsAChildOfTheCallersAndHasTheFailure() async throws {
      _ = tracer
      let memory = MemoryCache<Int, Int>(countLimit: 10)
      await withSpan("caller") { _ in
        _ = try? await memory.value(forKey: 1, tracing: "load") { throw Failure() }
      }
      let spans = tracer.popFinishedSpans()
      let load = try #require(spans.first { $0.operationName == "load" })
      let caller = try #require(spans.first { $0.operationName == "caller" })
      #expect(load.parentSpanID == caller.spanID && load.traceID == caller.traceID)
      #expect(load.errors.count == 1)
    }
  }
#endif
