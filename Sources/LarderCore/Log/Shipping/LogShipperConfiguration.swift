// SPDX-License-Identifier: MIT

/// How a ``LogShipper`` works.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LogShipperConfiguration: Sendable {
  /// The most messages of a batch; 1,000 by default, at least 1.
  public var maximumBatchCount = 1000
  /// A batch is sent once its messages have so many bytes; 1 MiB by default. The last of them may
  /// go beyond, so that one of any size can be shipped: a shipper holds no more than that.
  public var maximumBatchBytes = 1 << 20
  /// How long the sink may take for a call; 30 s by default, nil: for ever. One that takes longer
  /// is cancelled, and counts as a failure.
  public var timeout: Duration? = .seconds(30)
  /// The pause after the first failure, at most; 100 ms by default. Each further one in a row is
  /// followed by one of up to twice as long, of which half is random.
  public var initialPause = Duration.milliseconds(100)
  /// The longest pause; 30 s by default.
  public var maximumPause = Duration.seconds(30)
  /// After how many failures in a row the shipper ends, and throws the last; nil, the default:
  /// never.
  public var failuresToGiveUp: Int?
  /// Called for each failure that is followed by another attempt. Must not block.
  public var onFailure: (@Sendable (any Error) -> Void)?
  /// Measures pauses and the timeout; the system's by default.
  public var clock = CacheClock.system

  /// Makes the default configuration.
  ///
  /// - Complexity: O(1).
  public init() {}

  func validate() throws(LarderError) {
    guard maximumBatchCount > 0, maximumBatchBytes > 0, failuresToGiveUp ?? 1 > 0 else {
      throw LarderError(
        .invalidArgument, "A batch has at least 1 message, and a shipper fails at least once.")
    }
    guard initialPause > .zero, maximumPause >= initialPause, timeout ?? initialPause > .zero else {
      throw LarderError(
        .invalidArgument, "Pauses and timeout of a shipper are positive; they grow to the longest.")
    }
  }

  /// Half to all of what the number of failures in a row says.
  func pause(after failures: Int) -> Duration {
    let longest = min(initialPause * (1 << min(max(failures - 1, 0), 30)), maximumPause)
    return longest * Double.random(in: 0.5...1)
  }
}
