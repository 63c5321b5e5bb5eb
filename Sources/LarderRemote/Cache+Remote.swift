// SPDX-License-Identifier: MIT

#if Remote
  public import Larder
  public import LarderCore

  extension Cache {
    /// Opens a cache in a folder whose entries many machines share over a server.
    ///
    /// - Parameters:
    ///   - location: The folder for the copies on disk. Its last part is the name of the shared
    ///     entries, unless `remoteConfiguration` has another prefix for their keys.
    ///   - remote: The server.
    ///   - coder: Makes bytes of values, on disk and on the server.
    ///   - keyCoder: Makes bytes of keys, on disk and on the server.
    ///   - configuration: What is local; the server comes behind its `furtherTiers`.
    ///   - remoteConfiguration: What is not.
    /// - Throws: As `Cache.init(at:coder:keyCoder:configuration:)` and
    ///   `RemoteTier.init(name:server:coder:keyCoder:configuration:)`.
    /// - Complexity: As `Cache.init(at:coder:keyCoder:configuration:)`. The server is connected
    ///   to when it is first needed.
    public convenience init(
      at location: StoreLocation, remote: RemoteServer, coder: Coder<Value>,
      keyCoder: KeyCoder<Key>,
      configuration: CacheConfiguration<Key, Value> = .init(),
      remoteConfiguration: RemoteTierConfiguration = .init()
    ) throws {
      var remoteConfiguration = remoteConfiguration
      remoteConfiguration.clock = configuration.clock
      var configuration = configuration
      configuration.furtherTiers.append(
        try RemoteTier(
          name: location.name, server: remote, coder: coder, keyCoder: keyCoder,
          configuration: remoteConfiguration))
      try self.init(at: location, coder: coder, keyCoder: keyCoder, configuration: configuration)
    }

    /// The first of the tiers that is a server, for its statistics; nil if none is.
    ///
    /// - Complexity: O(tiers).
    public var remoteTier: RemoteTier<Key, Value>? {
      tiers.lazy.compactMap { $0 as? RemoteTier<Key, Value> }.first
    }
  }

  extension Cache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
    /// Opens a cache in a folder whose entries many machines share over a server, with values as
    /// CBOR and the standard coder of keys.
    ///
    /// ```swift
    /// var server = RemoteServer(host: "cache.internal")
    /// server.credentials = RemoteCredentials(password: password)
    /// let users = try Cache<String, User>(at: .named("users"), remote: server)
    /// ```
    ///
    /// - Parameters:
    ///   - location: The folder for the copies on disk. Its last part is the name of the shared
    ///     entries, unless `remoteConfiguration` has another prefix for their keys.
    ///   - remote: The server.
    ///   - configuration: What is local; the server comes behind its `furtherTiers`.
    ///   - remoteConfiguration: What is not.
    /// - Throws: As `init(at:remote:coder:keyCoder:configuration:remoteConfiguration:)`.
    /// - Complexity: As `init(at:remote:coder:keyCoder:configuration:remoteConfiguration:)`.
    public convenience init(
      at location: StoreLocation, remote: RemoteServer,
      configuration: CacheConfiguration<Key, Value> = .init(),
      remoteConfiguration: RemoteTierConfiguration = .init()
    ) throws {
      try self.init(
        at: location, remote: remote, coder: .cbor, keyCoder: .standard,
        configuration: configuration, remoteConfiguration: remoteConfiguration)
    }
  }
#endif
