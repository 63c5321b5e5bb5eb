// SPDX-License-Identifier: MIT

#if Metrics
  import Metrics

  /// One figure of a store at one moment.
  struct StoreFigure {
    enum Kind {
      /// What only grows, but for a reset.
      case counter(UInt64)
      case gauge(Double)
    }

    let label: String
    let kind: Kind
    let dimensions: [(String, String)]

    static func counter(
      _ label: String, _ value: UInt64, _ tier: String, cause: String? = nil
    ) -> StoreFigure {
      StoreFigure(label, .counter(value), tier, cause)
    }

    static func gauge(_ label: String, _ value: some BinaryInteger, _ tier: String) -> StoreFigure {
      StoreFigure(label, .gauge(Double(value)), tier, nil)
    }

    private init(_ label: String, _ kind: Kind, _ tier: String, _ cause: String?) {
      self.label = "larder_" + label
      self.kind = kind
      dimensions = [("tier", tier)] + (cause.map { [("cause", $0)] } ?? [])
    }
  }

  /// A store, and what was reported of it.
  struct StoreSource {
    enum Figures: ExpressibleByArrayLiteral {
      case some([StoreFigure])
      /// The store is gone.
      case gone

      init(arrayLiteral elements: StoreFigure...) { self = .some(elements) }
    }

    private enum Metric {
      case counter(Counter, reported: UInt64)
      case gauge(Meter)
    }

    let name: String
    let figures: @Sendable () -> Figures
    private(set) var isGone = false
    /// In the order of the figures, which is always the same.
    private var metrics: [Metric] = []

    init(name: String, figures: @escaping @Sendable () -> Figures) {
      self.name = name
      self.figures = figures
    }

    mutating func report(to factory: any MetricsFactory) {
      guard case .some(let figures) = figures() else {
        isGone = true
        return
      }
      for (index, figure) in figures.enumerated() {
        if index == metrics.count { metrics.append(metric(for: figure, factory)) }
        switch (figure.kind, metrics[index]) {
        case (.counter(let value), .counter(let counter, let reported)):
          // Less than before: the statistics were reset meanwhile.
          let more = value >= reported ? value - reported : value
          if more > 0 { counter.increment(by: Int64(clamping: more)) }
          metrics[index] = .counter(counter, reported: value)
        case (.gauge(let value), .gauge(let meter)): meter.set(value)
        default: break
        }
      }
    }

    private func metric(for figure: StoreFigure, _ factory: any MetricsFactory) -> Metric {
      let dimensions = [("name", name)] + figure.dimensions
      switch figure.kind {
      case .counter:
        return .counter(
          Counter(label: figure.label, dimensions: dimensions, factory: factory), reported: 0)
      case .gauge:
        return .gauge(Meter(label: figure.label, dimensions: dimensions, factory: factory))
      }
    }
  }
#endif
