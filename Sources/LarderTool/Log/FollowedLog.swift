// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// A log that is followed by its path, also when that leads to another file.
///
/// Belongs to one thread.
final class FollowedLog {
  private let path: String
  private(set) var ring: RingHandle
  /// Why `ring` is a copy of what is intact.
  let damage: LarderError?
  /// How often what has the log's name was no log, as one that is just being made.
  private var misses = 0
  private var hasToldOfDeletion = false

  /// How often that may be before it is an error.
  private static let patience = 25

  /// - Parameter follows: Whether there is more to come: then it cannot be damaged.
  init(_ path: String, follows: Bool) throws {
    self.path = path
    if follows {
      damage = nil
      ring = try LogCreation.read(path)
    } else {
      let log = try LogCreation.readIntact(path)
      damage = log.damage
      ring = log.ring
    }
  }

  /// Waits for a message after `sequence`, for so long at most.
  ///
  /// - Returns: Whether there is one; nil if the file was deleted or replaced. What is left in it
  ///   can be read.
  func wait(after sequence: UInt64, timeout: Duration) throws -> Bool? {
    do {
      return try ring.wait(after: sequence, timeout: timeout)
    } catch  where error.code == .replaced {
      return nil
    }
  }

  /// Whether the file was deleted or replaced.
  var isReplaced: Bool {
    get throws {
      do {
        try ring.checkPlace()
        return false
      } catch  where error.code == .replaced {
        return true
      }
    }
  }

  /// Goes on with the file that the path leads to now, and says so.
  ///
  /// - Returns: Whether it is the same log, so that its numbers go on; nil if there is none yet.
  func openSuccessor() throws -> Bool? {
    guard let other = try openPath() else {
      if !hasToldOfDeletion && misses == 0 {
        StandardError.note("\(path): deleted; waiting for another log of this name")
        hasToldOfDeletion = true
      }
      return nil
    }
    (misses, hasToldOfDeletion) = (0, false)
    let next = try ring.statistics().nextSequence
    let isSame =
      try other.created() == ring.created() && other.statistics().nextSequence >= next
    ring = other
    StandardError.note(
      isSame
        ? "\(path): resized or copied; going on with its new file"
        : "\(path): another log has this name now, which follows from its beginning")
    return isSame
  }

  private func openPath() throws -> RingHandle? {
    do {
      return try LogCreation.read(path)
    } catch let error as LarderError where error.errno == ENOENT {
      return nil
    } catch let error as LarderError where error.code == .notALarderFile && misses < Self.patience {
      misses += 1
      return nil
    }
  }
}
