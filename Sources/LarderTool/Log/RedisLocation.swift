// SPDX-License-Identifier: MIT
#if Remote
  import ArgumentParser
  import Foundation

  /// A server as the command line names one: `redis://[user@]host[:port][/database]`.
  struct RedisLocation: CustomStringConvertible {
    let host: String
    let port: Int
    let user: String?
    let database: Int
    let isEncrypted: Bool

    init(_ text: String) throws {
      guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
        let scheme = parts.scheme?.lowercased(), ["redis", "rediss"].contains(scheme),
        parts.query == nil, parts.fragment == nil
      else {
        throw ValidationError("A server is redis://host or rediss://host, with TLS.")
      }
      guard parts.password == nil else {
        throw ValidationError(
          "All users can see what a command is called with: the password comes from the "
            + "environment, LARDER_REDIS_PASSWORD, or from a --password-file.")
      }
      let path = parts.path.drop { $0 == "/" }
      guard let database = path.isEmpty ? 0 : Int(path), database >= 0 else {
        throw ValidationError("A database is a number: redis://host/2")
      }
      // An address of IPv6 stands in brackets, which belong to the text and not to the address.
      self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
      port = parts.port ?? 6379
      user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
      self.database = database
      isEncrypted = scheme == "rediss"
    }

    var description: String { "\(host):\(port)" }
  }
#endif
