// SPDX-License-Identifier: MIT

/// Key paths that Swift forgets are `Sendable`.
///
/// A key path is not if it holds an index of a subscript that is not. Those that come here hold
/// what others hold that are, or come out of something that is.
@usableFromInline
enum ArchiveKeyPaths {
  /// Both, one after the other.
  static func joined<Root, Value, Inner>(
    _ outer: any KeyPath<Root, Value> & Sendable, _ inner: any KeyPath<Value, Inner> & Sendable
  ) -> any KeyPath<Root, Inner> & Sendable {
    let outer: KeyPath<Root, Value> = outer
    let inner: KeyPath<Value, Inner> = inner
    return assumeSendable(outer.appending(path: inner))
  }

  static func assumeSendable<Root, Value>(
    _ keyPath: KeyPath<Root, Value>
  ) -> any KeyPath<Root, Value> & Sendable {
    // `Sendable` has no meaning at run time: the type is the same.
    unsafeBitCast(keyPath, to: (any KeyPath<Root, Value> & Sendable).self)
  }

  static func assumeSendable<Root>(
    _ keyPath: PartialKeyPath<Root>
  ) -> any PartialKeyPath<Root> & Sendable {
    unsafeBitCast(keyPath, to: (any PartialKeyPath<Root> & Sendable).self)
  }

  static func assumeAnySendable(_ keyPath: AnyKeyPath) -> any AnyKeyPath & Sendable {
    unsafeBitCast(keyPath, to: (any AnyKeyPath & Sendable).self)
  }

  /// Reads the property: of a stored one in a structure from where it lies, which is several
  /// times faster than through its key path.
  @inlinable
  static func reader<Root: Sendable, Value: Sendable>(
    _ keyPath: any KeyPath<Root, Value> & Sendable
  ) -> @Sendable (Root) -> Value {
    guard let offset = MemoryLayout<Root>.offset(of: keyPath as KeyPath<Root, Value>) else {
      return { $0[keyPath: keyPath] }
    }
    return { root in
      withUnsafePointer(to: root) { start in
        UnsafeRawPointer(start).advanced(by: offset).assumingMemoryBound(to: Value.self).pointee
      }
    }
  }

  /// The same for types of which nobody says that they are `Sendable`.
  static func plainReader<Root, Value>(
    _ keyPath: any KeyPath<Root, Value> & Sendable
  ) -> (Root) -> Value {
    guard let offset = MemoryLayout<Root>.offset(of: keyPath as KeyPath<Root, Value>) else {
      return { $0[keyPath: keyPath] }
    }
    return { root in
      withUnsafePointer(to: root) { start in
        UnsafeRawPointer(start).advanced(by: offset).assumingMemoryBound(to: Value.self).pointee
      }
    }
  }
}
