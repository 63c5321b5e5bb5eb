// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

/// What documentation comments show compiles, with what their readers have.
@Suite("Examples in comments", .enabled(if: TypeCheck.isThere, "There is no swiftc."))
struct CommentTests {
  @Test func everySwiftBlockOfAComment() throws {
    var source = TypeCheck.imports.map { "import \($0)\n" }.joined() + Self.declarations
    var count = 0
    for module in TypeCheck.modules {
      source += "enum In\(module) {\n\(Self.moreDeclarations[module] ?? "")"
      for path in Self.sources(of: module) {
        for block in Self.blocks(of: path) {
          count += 1
          // The nearest folder or file that says what there is.
          let known = Self.parameters.filter { path.hasPrefix("Sources/" + $0.key) }
          let parameters = known.max { $0.key.count < $1.key.count }?.value ?? ""
          let effects = block.code.contains("await") ? "async throws" : "throws"
          source += """
            func example\(count)(\(parameters)) \(effects) {
            #sourceLocation(file: "\(path)", line: \(block.line))
            \(block.code)
            #sourceLocation()
            }

            """
        }
      }
      source += "}\n"
    }
    #expect(count > 95)
    #expect(throws: Never.self) { try TypeCheck.check(source) }
  }

  /// As in a new app of Xcode's.
  @Test func whatIsOnTheMainActorByDefault() throws {
    let example = try #require(MarkedCode.examples["default isolation"])
    let source = "import Foundation\nimport Larder\n" + example
    #expect(throws: Never.self) {
      try TypeCheck.check(source, ["-default-isolation", "MainActor"])
    }
  }

  private static func sources(of module: String) -> [String] {
    let folder = "Sources/" + module
    let url = Documentation.top.appendingPathComponent(folder)
    let names = FileManager.default.enumerator(atPath: url.path)?.compactMap { $0 as? String }
    return (names ?? []).filter { $0.hasSuffix(".swift") }.sorted().map { folder + "/" + $0 }
  }

  private static func blocks(of path: String) -> [(line: Int, code: String)] {
    var blocks: [(line: Int, code: String)] = []
    var block: (line: Int, code: String)?
    let lines = Documentation.page(path).text.split(
      separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      let line = line.drop { $0 == " " }
      guard line.hasPrefix("///") else { continue }
      let text = line.dropFirst(3).drop { $0 == " " }
      if text.hasPrefix("```") {
        if let block { blocks.append(block) }
        block = block == nil && text == "```swift" ? (number + 2, "") : nil
      } else {
        block?.code += text + "\n"
      }
    }
    return blocks
  }

  /// What there is besides in a comment of a module, a folder or a file, as parameters.
  private static let parameters = [
    "Larder/Archive": """
    archive: Archive<Person>, users: Archive<User>, books: Archive<Book>,
    accounts: Archive<Account>, payer: Int, payee: Int, amount: Int, path: String, folder: String
    """,
    "Larder/Cache": """
    cache: Cache<Int, User>, users: Cache<Int, User>, counts: Cache<String, Int>, id: Int,
    ids: [Int], word: String, server: Server, database: Database
    """,
    "Larder/Cache/Loading/Cache+Loading": """
    cache: Cache<String, [String]>, query: String, database: Database
    """,
    "Larder/Disk": """
    cache: DiskCache<String, Int>, counts: DiskCache<String, Int>, path: String, user: User,
    id: Int, yesterday: Date, damaged: String, rescued: String, payer: String, payee: String,
    from: Int, to: Int, amount: Int, word: String
    """,
    "Larder/Entry": """
    pages: EntryCache<String>, path: String, head: Data, body: Data, chunks: [Data]
    """,
    "Larder/Feed": "cache: DiskCache<String, Int>, token: ChangeToken, mirror: inout Mirror",
    "Larder/Store/Face": """
    cache: DiskCache<String, Int>, folder: URL, damaged: URL, rescued: URL, path: String
    """,
    "LarderCompatibility": "archive: Archive<User>, user: User, session: inout Session",
    "LarderCompression": "file: URL",
    "LarderConfiguration": "config: ConfigReader, path: String",
    "LarderCore": "log: MessageLog<String>, message: String",
    "LarderCore/Coding": "bytes: Data, url: URL, buffer: UnsafeMutableRawBufferPointer",
    "LarderCore/Files": "configuration: inout MessageLogConfiguration, folder: URL",
    "LarderCore/Log": "log: MessageLog<String>, url: URL, damaged: URL, rescued: URL",
    "LarderCore/Log/MessageLog+Async": "log: MessageLog<Event>, event: Event",
    "LarderCore/Log/Queue": """
    log: MessageLog<Mail>, queue: LogQueue<Mail>, deadLetters: MessageLog<DeadLetter<Mail>>,
    deadURL: URL
    """,
    "LarderCore/Log/Shipping": "log: MessageLog<Event>, sink: some LogSink",
    "LarderCore/Memory": """
    cache: MemoryCache<Int, User>, users: MemoryCache<Int, User>,
    counts: MemoryCache<String, Int>, id: Int, ids: [Int], word: String, user: User,
    server: Server, database: Database
    """,
    "LarderCore/Memory/Loading/LoadedValue": "pages: MemoryCache<URL, Data>, url: URL",
    "LarderCore/Memory/Loading/OldValue": "pages: MemoryCache<URL, Data>, url: URL",
    "LarderCore/Memory/Loading/MemoryCache+Loading": """
    cache: MemoryCache<String, [String]>, users: MemoryCache<Int, User>, query: String, id: Int,
    server: Server, database: Database
    """,
    "LarderCore/Tiers": """
    cache: MemoryCache<String, Token>, token: Token, user: String, page: Token, url: String
    """,
    "LarderEncryption": "file: URL",
    "LarderLifecycle": """
    users: Cache<Int, User>, sessions: Cache<String, User>, server: some Service, logger: Logger
    """,
    "LarderLogging": """
    url: URL, destination: LogDestination, configuration: inout LogDestinationConfiguration
    """,
    "LarderMetrics": "users: Cache<Int, User>, destination: LogDestination",
    "LarderRemote": "server: RemoteServer, password: String, folder: String, log: MessageLog<Data>",
    "LarderTracing": "users: Cache<Int, User>, id: Int, server: Server",
  ]

  /// The types that comments take for granted.
  private static let declarations = """
    import Foundation
    import Synchronization
    struct User: Codable, Identifiable, Sendable { var id = 0, name = "", age = 0 }
    struct Event: Codable, Sendable { var text = "" }
    struct Mail: Codable, Sendable {}
    struct Host: Hashable, Sendable { var name: String }
    struct Token: Sendable { var expires = Date() }
    struct City: Codable, Sendable { var city = "" }
    struct BookV1: Codable, Identifiable, Sendable { var id = 0, name = "" }
    struct BookV2: Codable, Identifiable, Sendable { var id = 0, title = "" }
    struct Book: Codable, Identifiable, Sendable {
      var id = 0, title = "", year = 0, isOld = false, author: String?, publisher = City()
    }
    struct Account: Codable, Identifiable, Sendable { var id = 0, balance = 0 }
    struct Person: Codable, Identifiable, Sendable {
      var id = 0, age = 0, name = "", city = "", date = Date()
    }
    struct Mirror { mutating func apply(_ change: some Any) {} }
    struct Response {
      var body = Data(), etag = Data(), maximumAge = Duration.zero
      var mustNotBeStored = false, isNotModified = false
    }
    func fetch(_ url: URL, ifNoneMatch tag: Data? = nil) async throws -> Response { Response() }
    struct Record { var bytes = Data(), life: Expiration? }
    protocol Store: Sendable {
      func get(_ key: String) async throws -> Record?
      func put(_ key: String, _ bytes: Data, lives: Expiration?) async throws
      func delete(_ key: String) async throws
      func deleteAll() async throws
      func has(_ key: String) async throws -> Bool
    }
    struct Server: Sendable {
      func user(_ id: Int) async throws -> User { User() }
      func users(_ ids: [Int]) async throws -> [Int: User] { [:] }
    }
    struct Database: Sendable {
      func users(_ ids: [Int]) throws -> [Int: User] { [:] }
      func run(_ query: String) throws -> [String] { [] }
    }
    func show(_ item: some Any) {}
    func upload(_ item: some Any) throws {}
    func send(_ item: some Any) throws {}

    """

  /// More of them, and others of their names, in the comments of a module.
  private static let moreDeclarations = [
    "LarderCompatibility": """
    struct Address: Codable, Sendable { var city = "" }
    struct Settings: ArchiveCodable { var primaryKey: String { "settings" } }
    struct User: ArchiveCodable {
      var primaryKey: String { name }
      var name = "", age = 0, address = Address(), email: String?, manual = 0
    }
    struct Session { @Archived var user: User? }
    func compare(_ a: User, _ b: User) -> ComparisonResult { .orderedSame }

    """,
    "LarderLogging": """
    enum Sensitivity: Int64, Logger.MetadataValueAttributes.Attribute { case sensitive }

    """,
  ]
}

/// The compiler, asked for no more than whether something compiles.
enum TypeCheck {
  private static let folder = builtProducts.appendingPathComponent("Modules").path

  static let isThere = (try? CProgram.run("/usr/bin/env", ["swiftc", "--version"])) != nil

  /// What a module needs that has nothing in it without a trait.
  private static let needed = [
    "Larder": [], "LarderCompatibility": [], "LarderCompression": [], "LarderCore": [],
    "LarderConfiguration": ["Configuration"], "LarderEncryption": ["Crypto"],
    "LarderLifecycle": ["Logging", "ServiceLifecycle"], "LarderLogging": ["Logging"],
    "LarderMetrics": ["CoreMetrics"], "LarderRemote": ["NIOCore"], "LarderTracing": ["Tracing"],
  ].filter { $0.value.allSatisfy(isBuilt) }

  static let modules = needed.keys.sorted()
  static let imports = Set(needed.keys).union(needed.values.joined()).sorted()

  private static func isBuilt(_ module: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(folder)/\(module).swiftmodule")
  }

  /// - Throws: What the compiler says, if it does not compile.
  static func check(_ source: String, _ options: [String] = []) throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("examples.swift")
    try source.write(to: file, atomically: true, encoding: .utf8)
    _ = try CProgram.run(
      "/usr/bin/env",
      ["swiftc", "-typecheck", "-swift-version", "6", "-suppress-warnings", "-I", folder]
        + modulesOfC.flatMap { ["-I", $0] } + options + [file.path])
  }

  /// Where a map says what a module of C is: ours, and with traits those of others.
  private static let modulesOfC: [String] = {
    let built = builtProducts.resolvingSymlinksInPath()
    let checkouts = built.appendingPathComponent("../../checkouts").standardizedFileURL.path
    let folders = [Documentation.top.path + "/Sources", checkouts].flatMap { top in
      (FileManager.default.enumerator(atPath: top)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix("/module.modulemap") }.map { "\(top)/\($0)" }
    }
    let made = (try? FileManager.default.contentsOfDirectory(atPath: built.path)) ?? []
    return (folders + made.map { "\(built.path)/\($0)/module.modulemap" })
      .filter(FileManager.default.fileExists).map { String($0.dropLast("/module.modulemap".count)) }
  }()
}
