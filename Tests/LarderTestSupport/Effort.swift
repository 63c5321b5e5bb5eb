// SPDX-License-Identifier: MIT
import Foundation

private let isLong = !(ProcessInfo.processInfo.environment["LARDER_TEST_LONG"] ?? "").isEmpty

/// Address or Thread Sanitizer, under which everything takes many times as long, and every frame of
/// the stack is several times as large.
public let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

/// How many rounds, steps or cases a test of random input has: as many as have found every defect
/// that was ever planted, and then some; with `LARDER_TEST_LONG` in the environment, as
/// `make test-long` sets it, so many that a night is not too short; under a sanitizer as few as
/// take no minutes.
public func effort<Number>(_ usual: Number, long: Number, sanitized: Number? = nil) -> Number {
  if isSanitized { return sanitized ?? usual }
  return isLong ? long : usual
}
