// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Random calls to random containers, all of one value and open at once, with a tree for a model.
///
/// `LARDER_SEED` repeats one seed.
struct CBORWriterModelTests {
  /// What has been written so far.
  private final class Model {
    enum Content {
      case nothing
      case leaf(CBORValue)
      case list([Model])
      case map([(key: Name, value: Model)])
    }
    var content = Content.nothing

    init(_ content: Content = .nothing) { self.content = content }

    func value(for key: Name) -> Model? {
      if case .map(let pairs) = content { pairs.first { $0.key == key }?.value } else { nil }
    }

    func append(_ value: Model, _ key: Name?) {
      switch (content, key) {
      case (.list(let elements), _): content = .list(elements + [value])
      case (.map(var pairs), let key?):
        pairs.removeAll { $0.key == key }
        content = .map(pairs + [(key, value)])
      default: break
      }
    }

    /// With the keys in the order of RFC 8949, section 4.2.1.
    var value: CBORValue {
      get throws {
        switch content {
        case .nothing: return .map([])
        case .leaf(let value): return value
        case .list(let elements): return .array(try elements.map { try $0.value })
        case .map(let pairs):
          let items = try pairs.map { key, value in
            let number = key.intValue.map(Int64.init)
            return (CBORValue.Pair(Self.key(key, number), try value.value))
          }
          let sorted = try items.map { (try $0.key.encoded, $0) }
            .sorted { $0.0.lexicographicallyPrecedes($1.0) }
          return .map(sorted.map(\.1))
        }
      }
    }

    private static func key(_ key: Name, _ number: Int64?) -> CBORValue {
      number.map { $0 < 0 ? .negative(UInt64(~$0)) : .unsigned(UInt64($0)) }
        ?? .text(key.stringValue)
    }
  }

  private enum Container {
    case keyed(KeyedEncodingContainer<Name>, Model)
    case unkeyed(any UnkeyedEncodingContainer, Model)
  }

  private struct Thrown: Error {}

  /// A value that makes calls as they come, and records what they amount to.
  private final class Improviser: Encodable {
    let generator: Locked<SeededGenerator>
    let model = Model()
    let depth: Int
    /// Whether it throws in the end.
    let fails: Bool
    /// Whether a key may be written twice.
    let repeatsKeys: Bool

    init(_ generator: Locked<SeededGenerator>, depth: Int, fails: Bool, repeatsKeys: Bool) {
      self.generator = generator
      self.depth = depth
      self.fails = fails
      self.repeatsKeys = repeatsKeys
    }

    private func random(_ bound: Int) -> Int {
      generator.withLock { Int.random(in: 0..<bound, using: &$0) }
    }

    func encode(to encoder: any Encoder) throws {
      var containers: [Container] = [open(encoder, model)]
      // Many entries at times, so that heads grow while others are open.
      for step in 0..<(random(12) == 0 ? 90 : random(12)) {
        let index = random(containers.count)
        switch containers[index] {
        case .keyed(var container, let model):
          let name = repeatsKeys ? random(12) : step
          let key = random(3) == 0 ? Name(intValue: name - 4) : Name(stringValue: "\(name)")
          let isRepeated = model.value(for: key) != nil
          try write(to: &container, model, key, &containers)
          containers[index] = .keyed(container, model)
          if isRepeated { containers.removeAll { !isReachable($0) } }
        case .unkeyed(var container, let model):
          try write(to: &container, model, &containers)
          containers[index] = .unkeyed(container, model)
        }
      }
      if fails { throw Thrown() }
    }

    private func open(_ encoder: any Encoder, _ model: Model) -> Container {
      if random(2) == 0 {
        model.content = .map([])
        return .keyed(encoder.container(keyedBy: Name.self), model)
      }
      model.content = .list([])
      return .unkeyed(encoder.unkeyedContainer(), model)
    }

    private var leaf: (Int, Model) {
      let number = random(2) == 0 ? random(20) : random(1 << 40)
      return (number, Model(.leaf(.unsigned(UInt64(number)))))
    }

    private func child() -> Improviser {
      Improviser(generator, depth: depth - 1, fails: random(4) == 0, repeatsKeys: repeatsKeys)
    }

    private func write(
      to container: inout KeyedEncodingContainer<Name>, _ model: Model, _ key: Name,
      _ containers: inout [Container]
    ) throws {
      let earlier = model.value(for: key)
      switch random(depth > 0 ? 7 : 5) {
      case 0, 1:
        let (number, leaf) = leaf
        try container.encode(number, forKey: key)
        model.append(leaf, key)
      case 2:
        var nested = Model(.map([]))
        if let earlier, case .map = earlier.content { nested = earlier }
        containers.append(
          .keyed(container.nestedContainer(keyedBy: Name.self, forKey: key), nested))
        model.append(nested, key)
      case 3:
        var nested = Model(.list([]))
        if let earlier, case .list = earlier.content { nested = earlier }
        containers.append(.unkeyed(container.nestedUnkeyedContainer(forKey: key), nested))
        model.append(nested, key)
      case 4:
        let nested = Model()
        containers.append(open(container.superEncoder(forKey: key), nested))
        model.append(nested, key)
      default:
        let child = child()
        do {
          try container.encode(child, forKey: key)
          model.append(child.model, key)
        } catch is Thrown {}
      }
    }

    private func write(
      to container: inout any UnkeyedEncodingContainer, _ model: Model,
      _ containers: inout [Container]
    ) throws {
      switch random(depth > 0 ? 7 : 5) {
      case 0, 1:
        let (number, leaf) = leaf
        try container.encode(number)
        model.append(leaf, nil)
      case 2:
        let nested = Model(.map([]))
        containers.append(.keyed(container.nestedContainer(keyedBy: Name.self), nested))
        model.append(nested, nil)
      case 3:
        let nested = Model(.list([]))
        containers.append(.unkeyed(container.nestedUnkeyedContainer(), nested))
        model.append(nested, nil)
      case 4:
        let nested = Model()
        containers.append(open(container.superEncoder(), nested))
        model.append(nested, nil)
      default:
        let child = child()
        do {
          try container.encode(child)
          model.append(child.model, nil)
        } catch is Thrown {}
      }
    }

    /// Whether a container is still part of the value: what was nested in a pair whose key was
    /// written again is not.
    private func isReachable(_ container: Container) -> Bool {
      switch container {
      case .keyed(_, let wanted), .unkeyed(_, let wanted): holds(model, wanted)
      }
    }

    private func holds(_ model: Model, _ wanted: Model) -> Bool {
      if model === wanted { return true }
      switch model.content {
      case .list(let elements): return elements.contains { holds($0, wanted) }
      case .map(let pairs): return pairs.contains { holds($0.value, wanted) }
      default: return false
      }
    }
  }

  @Test(arguments: [false, true], 0..<4 as Range<UInt64>)
  func whatIsWrittenInAnyOrderIsThere(repeatsKeys: Bool, _ seed: UInt64) throws {
    let generator = Locked(SeededGenerator(seed: seed))
    let seed = generator.withLock(\.seed)
    for round in 0..<effort(40, long: 150) {
      let value = Improviser(generator, depth: 2, fails: false, repeatsKeys: repeatsKeys)
      let bytes = try cbor(value, deterministic: true)
      let expected = try value.model.value.encoded
      #expect(bytes == expected, "Seed \(seed), round \(round)")
      if bytes != expected { return }
    }
  }
}
