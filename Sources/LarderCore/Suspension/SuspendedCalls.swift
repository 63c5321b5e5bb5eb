// SPDX-License-Identifier: MIT

/// What calls do that come while their store is suspended.
///
/// ```swift
/// try log.suspend(calls: .wait)
/// ```
public enum SuspendedCalls: Sendable, Hashable {
  /// They throw `.suspended` at once.
  case fail

  /// They go on when the store is resumed, and throw `.closed` if it is closed instead.
  ///
  /// A synchronous call blocks its thread until then, so whoever resumes must not need that
  /// thread: on the main thread of an app, use `.fail`, or `await` the asynchronous forms.
  case wait
}
