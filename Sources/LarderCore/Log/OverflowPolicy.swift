// SPDX-License-Identifier: MIT

/// What a full log does with one more message.
public enum OverflowPolicy: Sendable, Hashable {
  /// Drops as many of the oldest messages as are needed, and no more.
  ///
  /// For logs whose latest messages matter most.
  case overwriteOldest

  /// Throws `.full` and stays as it is; a shorter message may still fit.
  ///
  /// For those who must not lose a message unread.
  case refuse
}
