// SPDX-License-Identifier: MIT

public import Foundation
public import Larder
public import LarderCore
import Synchronization

/// Hands out one archive for each type of elements.
///
/// ```swift
/// let users = try ArchiveFactory.shared.archive(for: User.self, maximumDiskSize: 10.megabytes)
/// ```
///
/// An archive has the folder ``Archivable/archiveName`` in the factory's, which is the program's
/// in the user's Application Support unless you name another one. It stays open as long as the
/// factory does, or until it is closed; then the next call opens it again.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time.
public final class ArchiveFactory: Sendable {
  /// The one for all who need no other: in the user's Application Support.
  public static let shared = ArchiveFactory(folder: nil, .zero, .zero, .init())

  /// What archives hold in memory if nobody says otherwise: 1 MiB.
  public static let defaultMaximumMemorySize = 1.megabytes

  /// What archives hold on disk if nobody says otherwise: 2 MiB.
  public static let defaultMaximumDiskSize = 2.megabytes

  /// What archives of this factory hold in memory if nobody says otherwise.
  public let maximumMemorySize: DataSize

  /// What archives of this factory hold on disk if nobody says otherwise.
  public let maximumDiskSize: DataSize

  let executor = DiskExecutor("larder.archive.factory")
  /// nil is the user's Application Support.
  private let folder: String?
  private let configuration: ArchiveConfiguration
  private let slots = Mutex<[ObjectIdentifier: ArchiveSlot]>([:])

  /// Makes a factory whose archives lie in a folder.
  ///
  /// - Parameters:
  ///   - directory: The folder; it is created with the first archive if it is missing, with
  ///     the folders above it.
  ///   - maximumMemorySize: What archives hold in memory if nobody says otherwise. 0 and
  ///     less: 1 MiB.
  ///   - maximumDiskSize: What archives hold on disk if nobody says otherwise. 0 and less:
  ///     2 MiB.
  ///   - configuration: Everything else; its sizes and its factory do not count.
  /// - Complexity: O(1).
  public convenience init(
    directory: URL, maximumMemorySize: DataSize = .zero, maximumDiskSize: DataSize = .zero,
    configuration: ArchiveConfiguration = .init()
  ) {
    self.init(folder: directory.path, maximumMemorySize, maximumDiskSize, configuration)
  }

  private init(
    folder: String?, _ memorySize: DataSize, _ diskSize: DataSize,
    _ configuration: ArchiveConfiguration
  ) {
    self.folder = folder
    maximumMemorySize = memorySize > .zero ? memorySize : Self.defaultMaximumMemorySize
    maximumDiskSize = diskSize > .zero ? diskSize : Self.defaultMaximumDiskSize
    self.configuration = configuration
  }

  /// The archive for a type of elements, which is opened if it is not open.
  ///
  /// - Parameters:
  ///   - type: The type.
  ///   - maximumMemorySize: What the archive holds in memory. Only counts when the call opens
  ///     it. 0 and less: as the factory says.
  ///   - maximumDiskSize: What it holds on disk; likewise.
  /// - Returns: The archive: for one type always the same, while it is open.
  /// - Throws: `.invalidArgument` (a name that no folder can have, or one that another type
  ///   has too); `.io` if a folder cannot be created; as
  ///   `Archive.init(at:coder:indexes:schema:configuration:)`.
  /// - Complexity: O(1); if the call opens the archive, as
  ///   `Archive.init(at:coder:indexes:schema:configuration:)`.
  public func archive<Element: Archivable>(
    for type: Element.Type = Element.self, maximumMemorySize: DataSize = .zero,
    maximumDiskSize: DataSize = .zero
  ) throws -> Archive<Element> {
    let slot = try slot(for: type)
    return try slot.archive.withLock { opened in
      if let archive = opened as? Archive<Element>, !archive.isClosed { return archive }
      let archive = try open(type, maximumMemorySize, maximumDiskSize)
      opened = archive
      return archive
    }
  }

  /// Closes all archives; those that are asked for later are opened again.
  ///
  /// - Throws: The first error of any of them; all are closed all the same.
  /// - Complexity: As that of `checkpoint()` for each.
  public func closeAll() throws {
    let slots = slots.withLock { Array($0.values) }
    var failure: (any Error)?
    for slot in slots {
      do {
        try slot.archive.withLock { archive in
          defer { archive = nil }
          try archive?.end()
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// Suspends all archives that are open; see `Archive.suspend(calls:)`.
  ///
  /// - Parameter calls: What calls do until the archives are resumed; they fail by default.
  /// - Throws: The first error of any of them; all are suspended all the same.
  /// - Complexity: As that of `checkpoint()` for each.
  public func suspendAll(calls: SuspendedCalls = .fail) throws {
    try forEachArchive { try $0.suspendBlocking(calls) }
  }

  /// Resumes all archives that are suspended; see `Archive.resume()`.
  ///
  /// - Throws: The first error of any of them, which stays suspended; the others are resumed all
  ///   the same.
  /// - Complexity: As opening, for each.
  public func resumeAll() throws {
    try forEachArchive { try $0.resumeBlocking() }
  }

  private func forEachArchive(_ body: (any ArchiveEnding) throws -> Void) throws {
    var failure: (any Error)?
    for slot in slots.withLock({ Array($0.values) }) {
      do {
        try slot.archive.withLock { archive in
          if let archive, !archive.isClosed { try body(archive) }
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  private func slot<Element: Archivable>(for type: Element.Type) throws -> ArchiveSlot {
    try slots.withLock { slots in
      let name = Element.archiveName
      if let slot = slots[ObjectIdentifier(type)] { return slot }
      if let other = slots.values.first(where: { $0.name == name }) {
        throw LarderError(
          .invalidArgument,
          "\(type) and \(other.type) have one archive name, \"\(name)\"; give one another.")
      }
      let slot = ArchiveSlot(name: name, type: "\(type)")
      slots[ObjectIdentifier(type)] = slot
      return slot
    }
  }

  private func open<Element: Archivable>(
    _ type: Element.Type, _ memorySize: DataSize, _ diskSize: DataSize
  ) throws -> Archive<Element> {
    var configuration = configuration
    configuration.memorySizeLimit = memorySize > .zero ? memorySize : maximumMemorySize
    configuration.sizeLimit = diskSize > .zero ? diskSize : maximumDiskSize
    configuration.companion = ArchiveFactoryLink(owner: self)
    return try Archive(at: try location(Element.archiveName), configuration: configuration)
  }

  private func location(_ name: String) throws -> StoreLocation {
    guard let folder else { return .named(name) }
    try DiskFolder.validate(name)
    return .path(folder + "/" + name)
  }
}

/// The place of one type's archive.
private final class ArchiveSlot: Sendable {
  let name: String
  let type: String
  let archive = Mutex<(any ArchiveEnding)?>(nil)

  init(name: String, type: String) {
    self.name = name
    self.type = type
  }
}

/// An archive of whatever type.
private protocol ArchiveEnding: AnyObject, Sendable {
  var isClosed: Bool { get }
  func end() throws
  func suspendBlocking(_ calls: SuspendedCalls) throws
  func resumeBlocking() throws
}

extension Archive: ArchiveEnding {
  fileprivate func end() throws { try close() }
  fileprivate func suspendBlocking(_ calls: SuspendedCalls) throws { try suspend(calls: calls) }
  fileprivate func resumeBlocking() throws { try resume() }
}
