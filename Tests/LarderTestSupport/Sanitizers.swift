// SPDX-License-Identifier: MIT
import Foundation

/// Address or Thread Sanitizer, under which everything takes many times as long, and every frame of
/// the stack is several times as large.
public let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
