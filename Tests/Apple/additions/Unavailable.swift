// SPDX-License-Identifier: MIT
// Compiled into each library: names that Linux shows to Swift and an Apple system does not, or that
// are not for Swift to use.

// developer.apple.com/documentation/foundation/process: macOS alone has it.
#if !APPLE_OS_macOS
  @available(*, unavailable, message: "macOS alone has processes to start")
  final class Process {}
#endif

// Files are synced by the C core's system layer, which knows how to reach the medium.
@available(*, unavailable, message: "the system layer of the C core syncs files")
func fsync(_ file: Int32) -> Int32 { -1 }

@available(*, unavailable, message: "Darwin does not declare it")
func fdatasync(_ file: Int32) -> Int32 { -1 }

@available(*, unavailable, message: "the system layer of the C core syncs mapped files")
func msync(_ address: UnsafeMutableRawPointer?, _ length: Int, _ flags: Int32) -> Int32 {
  -1
}

// fork(2) is closed to Swift on Darwin.
@available(*, unavailable, message: "Darwin closes it to Swift")
func fork() -> Int32 { -1 }
