// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport

/// Which calls a run makes, and on what.
struct IndexPlan: CustomStringConvertible, Sendable {
  /// What the keys' hashes are like.
  enum Hashes: Sendable {
    case mixed, equal, lowBits, highBits

    func callAsFunction(_ key: UInt64) -> UInt64 {
      switch self {
      case .mixed: Index.mixed(key)
      case .equal: 0x0123_4567_89AB_CDEF
      case .lowBits: key
      case .highBits: key << 44
      }
    }
  }

  var policy: larder_index_policy
  var seed: UInt64
  var operations: Int
  /// How many keys there are.
  var keys: Int
  /// Limits are up to this.
  var countLimit: Int?
  var costLimit: Int?
  var mostCost = 0
  /// Every now and then there are no limits.
  var liftsLimits = false
  var pins = false
  var expires = false
  var hashes = Hashes.mixed

  static let names = ["lru", "fifo", "s3fifo", "adaptive"]

  var description: String {
    "\(Self.names[Int(policy.rawValue)]), seed \(seed), limits \(countLimit ?? 0) and "
      + "\(costLimit ?? 0), \(keys) keys, \(hashes) hashes"
  }

  var model: any EvictionModel {
    switch policy {
    case LARDER_INDEX_LRU: QueueModel(ordersByUse: true)
    case LARDER_INDEX_FIFO: QueueModel(ordersByUse: false)
    case LARDER_INDEX_S3FIFO: S3FIFOModel()
    default: AdaptiveModel()
    }
  }
}
