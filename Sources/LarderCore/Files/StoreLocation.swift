// SPDX-License-Identifier: MIT

public import Foundation

/// Where a store is: at a path, at a URL, or under a name where such stores belong.
///
/// ```swift
/// let users = try Archive<User>(at: .named("users"))
/// let pages = try Cache<URL, Data>(at: .url(folder.appending(component: "pages")))
/// let tokens = try DiskCache<String, String>(at: "/var/cache/example/tokens")
/// let log = try MessageLog<Event>(at: .named("events"), capacity: 1.megabytes, whenFull: .refuse)
/// ```
///
/// A store is a folder, a log one file. Opening creates it, and the folders above it, if they are
/// missing; opening for reading creates nothing.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum StoreLocation: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The folder or file at a path. A relative one begins where the process is at opening.
  /// Percent signs and tildes mean themselves: of a URL use ``url(_:)`` or
  /// `URL.path(percentEncoded: false)`.
  case path(String)
  /// The folder or file at a file URL.
  case url(URL)
  /// The one of that name in the user's folder for such data. Archives and logs are in
  /// `Library/Application Support` on Apple systems, else in `$XDG_DATA_HOME` or
  /// `~/.local/share`; caches, which the system may delete, in `Library/Caches`, else in
  /// `$XDG_CACHE_HOME` or `~/.cache`. There the program has a folder that is named by the
  /// identifier of its bundle, or without a bundle by its executable; the store lies in that one.
  /// The name has 1 to 255 bytes, none of them a slash.
  case named(String)

  /// The folder or file at a path.
  ///
  /// - Parameter path: As of ``path(_:)``.
  /// - Complexity: O(1).
  public init(stringLiteral path: String) { self = .path(path) }

  /// The last part of its path, or its name.
  package var name: String {
    switch self {
    case .path(let path): DiskFolder.lastComponent(of: path)
    case .url(let url): DiskFolder.lastComponent(of: url.path)
    case .named(let name): name
    }
  }

  /// The path.
  ///
  /// - Parameter directory: Where a name is looked for.
  package func path(in directory: FileManager.SearchPathDirectory) throws(LarderError) -> String {
    switch self {
    case .path(let path): return path
    // Names that are equal in Swift are one, whatever form their letters have.
    case .named(let name):
      return try DiskFolder.path(of: CanonicalText.composed(name), in: directory)
    case .url(let url):
      guard url.isFileURL else {
        throw LarderError(
          .invalidArgument, "A store needs a file URL, and \(url.absoluteString) is none.")
      }
      return url.path
    }
  }
}
