// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

/// Where the folder of a store is: at a path, at a URL, or under a name where such stores belong.
///
/// ```swift
/// let users = try Archive<User>(at: .named("users"))
/// let pages = try Cache<URL, Data>(at: .url(folder.appending(component: "pages")))
/// let tokens = try DiskCache<String, String>(at: "/var/cache/example/tokens")
/// ```
///
/// Opening a store creates its folder, and the folders above it, if they are missing; opening one
/// for reading creates nothing.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum StoreLocation: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The folder at a path. A relative one begins where the process is when the store is opened.
  /// Percent signs mean themselves: of a URL use ``url(_:)`` or `URL.path(percentEncoded: false)`.
  case path(String)
  /// The folder at a file URL.
  case url(URL)
  /// The folder of that name in the user's folder for such data. An ``Archive`` is in
  /// `Library/Application Support` on Apple systems, else in `$XDG_DATA_HOME` or
  /// `~/.local/share`; a cache, which the system may delete, in `Library/Caches`, else in
  /// `$XDG_CACHE_HOME` or `~/.cache`. There the program has a folder that is named by the
  /// identifier of its bundle, or without a bundle by its executable; the store lies in that one.
  /// The name has 1 to 255 bytes, none of them a slash.
  case named(String)

  /// The folder at a path.
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

  /// The path of the folder.
  ///
  /// - Parameter directory: Where a name is looked for.
  func path(in directory: FileManager.SearchPathDirectory) throws(LarderError) -> String {
    switch self {
    case .path(let path): return path
    case .named(let name): return try DiskFolder.path(of: name, in: directory)
    case .url(let url):
      guard url.isFileURL else {
        throw LarderError(
          .invalidArgument, "A store lies in a folder, and \(url.absoluteString) is no file URL.")
      }
      return url.path
    }
  }
}
