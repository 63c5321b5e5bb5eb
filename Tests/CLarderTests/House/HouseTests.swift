// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// What a person forgets and a reviewer should not have to look for.
@Suite("The house's rules")
struct HouseTests {
  // MARK: - Every file

  @Test func theTreeIsFound() {
    #expect(SourceTree.swift.count > 10)
    #expect(SourceTree.c.count > 10)
    #expect(SourceTree.publicHeaders.count > 4)
    #expect(Declaration.all.count > 30)
  }

  @Test func everyFileNamesItsLicenseAtTheTop() {
    for file in SourceTree.code where !file.path.hasSuffix(".modulemap") {
      let top = file.lines.prefix(2)
      #expect(top.contains { $0.hasSuffix("SPDX-License-Identifier: MIT") }, "\(file.path)")
    }
  }

  @Test func noLineIsLongerThanAHundredColumns() {
    // A row of a table in a comment and the help text of a make target cannot be wrapped.
    expectNoLine { line in
      line.utf8.count > 100 && line.count > 100 && !line.contains("/// |") && !line.contains(" ## ")
    }
  }

  @Test func noLineEndsInASpaceAndNoneBeginsWithATabButInMakefiles() {
    expectNoLine { line in line.hasSuffix(" ") || line.hasSuffix("\r") }
    expectNoLine(in: SourceTree.swift + SourceTree.c, like: SourceTree.Pattern("\t"))
  }

  @Test func everyFileEndsWithOneNewline() {
    for file in SourceTree.code {
      #expect(file.text.hasSuffix("\n") && !file.text.hasSuffix("\n\n"), "\(file.path)")
    }
  }

  @Test func nothingIsLeftForLater() {
    let marks = ["TO" + "DO", "FIX" + "ME", "HA" + "CK"]
    expectNoLine(like: SourceTree.Pattern(marks.joined(separator: "|")))
  }

  @Test func noPathOfOneMachineIsInTheSources() {
    // `a/root/b` is a relative path, and so may be anything.
    expectNoLine(like: SourceTree.Pattern(#"(^|["' =(:])/(home|root|work|Users|opt)/"#))
  }

  @Test func theTopLevelHoldsWhatTheDesignNames() throws {
    let allowed: Set = [
      "Package.swift", "Package.resolved", "Sources", "Tests", "Benchmarks", "README.md", "LICENSE",
      "Makefile",
    ]
    let names = try FileManager.default.contentsOfDirectory(atPath: SourceTree.top.path)
    #expect(names.filter { !$0.hasPrefix(".") && !allowed.contains($0) } == [])
  }

  // MARK: - The C core

  @Test func everyPublicFunctionHasThePrefix() {
    for declaration in Declaration.all {
      let prefix =
        declaration.header.hasPrefix("Sources/CLarderStore/") ? "larder_store_" : "larder_"
      #expect(declaration.name.hasPrefix(prefix), "\(declaration.header): \(declaration.text)")
    }
  }

  @Test func everyPublicFunctionThatCanFailMustBeChecked() {
    // A shutdown that fails has shut down all the same, and most callers can do nothing about it.
    let exempt: Set = [
      "larder_ring_shutdown", "larder_ring_shutdown_unsynced", "larder_store_shutdown",
    ]
    for declaration in Declaration.all where !exempt.contains(declaration.name) {
      let canFail = declaration.text.contains("larder_status larder_")
      #expect(declaration.text.hasPrefix("LARDER_MUST_CHECK") == canFail, "\(declaration.text)")
    }
  }

  @Test func everyPublicFunctionIsDocumented() {
    // The statistics are documented field by field at the struct right above it.
    let exempt: Set = ["larder_ring_statistics_get", "larder_store_statistics_get"]
    for declaration in Declaration.all where !exempt.contains(declaration.name) {
      #expect(declaration.isDocumented, "\(declaration.header): \(declaration.name)")
    }
  }

  @Test func theUmbrellaHeaderIncludesEveryOther() throws {
    // But for the store's, which is a library of its own.
    let headers = SourceTree.publicHeaders.filter {
      !$0.path.hasPrefix("Sources/CLarderStore/")
    }
    let umbrella = try #require(headers.first { $0.path.hasSuffix("/larder.h") })
    for file in headers where file.path != umbrella.path {
      let name = URL(fileURLWithPath: file.path).lastPathComponent
      #expect(umbrella.text.contains("#include \"\(name)\"\n"), "\(name)")
    }
  }

  @Test func everyHeaderIsGuardedByItsOwnName() {
    for file in SourceTree.c where file.path.hasSuffix(".h") && file.path.hasPrefix("Sources/") {
      let name = URL(fileURLWithPath: file.path).deletingPathExtension().lastPathComponent
      let guardName = (name.hasPrefix("larder") ? name : "larder_" + name).uppercased() + "_H"
      #expect(file.text.contains("#ifndef \(guardName)\n#define \(guardName)\n"), "\(file.path)")
    }
  }

  @Test func theCoreNeverPrintsAbortsOrUsesAnUnsafeFunction() {
    let banned = SourceTree.Pattern(
      #"\b(v?f?s?printf|puts|perror|abort|_?exit|str(error|cpy|cat|tok)|gets|alloca)\((?!3\))"#)
    expectNoLine(in: SourceTree.c.filter { $0.path.hasPrefix("Sources/") }, like: banned)
  }

  @Test(arguments: ["c -std=c11", "c++ -std=c++17"])
  func everyPublicHeaderCompilesAlone(language: String) throws {
    for file in SourceTree.publicHeaders {
      let path = SourceTree.top.appendingPathComponent(file.path).path
      let folders = SourceTree.headerFolders.map {
        "-I" + SourceTree.top.appendingPathComponent($0).path
      }
      let arguments =
        ["-x"] + language.split(separator: " ").map(String.init)
        + ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        // An inline function of a header is unused where the header is all there is.
        + ["-Wno-pragma-once-outside-header", "-Wno-unused-function", "-fsyntax-only", path]
        + folders
      let output = try Self.run("clang", arguments)
      #expect(output == "", "\(file.path)")
    }
  }

  // MARK: - Swift

  @Test func noSwiftModuleShowsACModuleToItsUsers() {
    let sources = SourceTree.swift.filter { $0.path.hasPrefix("Sources/") }
    expectNoLine(in: sources) { line in
      (line.hasPrefix("public import C") || line.hasPrefix("@_exported import C"))
        && line.dropFirst(15).contains("Larder")
    }
  }

  @Test func theCCorePointsDownwardsToo() {
    // The system layer knows nothing of Larder but its statuses, the ring nothing of the store, and
    // the store nothing of what the ring keeps to itself; LMDB is the store's alone.
    for (module, below) in [
      ("CLarderSystem", [String]()), ("CLarder", ["CLarderSystem"]),
      ("CLarderStore", ["CLarderSystem", "CLarder"]),
    ] {
      let files = SourceTree.c.filter { $0.path.hasPrefix("Sources/\(module)/") }
      let offered = SourceTree.c.map(\.path).filter { path in
        path.hasPrefix("Sources/\(module)/")
          || below.contains { path.hasPrefix("Sources/\($0)/include/") }
      }
      expectNoLine(in: files) { line in
        guard line.hasPrefix("#include \"") else { return false }
        let name = "/" + line.split(separator: "\"")[1]
        return !offered.contains { $0.hasSuffix(name) }
      }
      if module != "CLarderStore" {
        expectNoLine(in: files) { $0.hasPrefix("#include") && $0.contains("lmdb") }
      }
    }
    expectNoLine(in: SourceTree.swift.filter { $0.path.hasPrefix("Sources/") }) { line in
      line.hasSuffix("import CLMDB")
    }
    let upper = SourceTree.swift.filter { $0.path.hasPrefix("Sources/LarderCore/") }
    expectNoLine(in: upper) { line in line.hasSuffix("import CLarderStore") }
  }

  @Test func aFunctionOfTheCoreHasSeventyLinesAtMost() {
    for file in SourceTree.c where file.path.hasPrefix("Sources/") {
      // Within a function lines are indented.
      var begin = 0
      for (number, line) in file.lines.enumerated() {
        if line.first?.isLetter == true { begin = number }
        if line == "}", number - begin >= 70 { Issue.record("\(file.path):\(begin + 1)") }
      }
    }
  }

  @Test func aFolderIsTakenInAtAGlance() throws {
    // Fuzzers' inputs are no files that somebody reads.
    let files = SourceTree.files(in: ["Sources", "Tests", "Benchmarks"], suffixes: [""])
      .map(\.path).filter { !$0.contains("/corpus-") }
    let folders = Dictionary(grouping: files) { $0.split(separator: "/").dropLast() }
    for (folder, files) in folders where files.count > 25 {
      Issue.record("\(files.count) files in \(folder.joined(separator: "/"))")
    }
  }

  @Test func theFloorsOfTheStoreLookDownwards() throws {
    // What stands on one line may look at each other.
    let floors = [
      ["format", "pages"],
      ["lmdb", "log"],
      ["handle"],
      ["checkpoint", "cleaning", "feed", "read"],
      ["repair"],
      ["store"],
    ]
    let folder = "Sources/CLarderStore/"
    let level = Dictionary(
      uniqueKeysWithValues: floors.enumerated().flatMap { level, names in
        names.map { ($0, level) }
      })
    let files = SourceTree.c.filter { file in
      file.path.hasPrefix(folder) && !file.path.hasPrefix(folder + "include/")
    }
    #expect(Set(files.map { floor(of: $0.path.dropFirst(folder.count)) }) == Set(level.keys))
    for file in files {
      let here = floor(of: file.path.dropFirst(folder.count))
      expectNoLine(in: [file]) { line in
        guard line.hasPrefix("#include \"") else { return false }
        let name = line.split(separator: "\"")[1]
        guard name.contains("/") else { return false }
        return level[floor(of: name), default: .max] > level[here, default: -1]
      }
    }
  }

  @Test func onlyTheSystemLayerKnowsWhichSystemItIs() {
    let asked = SourceTree.Pattern(#"__(APPLE|linux|ANDROID|FreeBSD)__"#)
    let above = SourceTree.c.filter {
      $0.path.hasPrefix("Sources/") && !$0.path.hasPrefix("Sources/CLarderSystem/")
    }
    expectNoLine(in: above, like: asked)
  }

  @Test func aDescriptorIsMadeInOnePlace() throws {
    // In any other, it might be the program's standard output.
    let makers: Set = [
      "open", "open64", "openat", "openat64", "creat", "creat64", "opendir", "fopen", "fopen64",
      "freopen", "tmpfile", "mkstemp", "mkostemp", "dup", "dup2", "dup3", "pipe", "pipe2", "popen",
      "socket", "socketpair", "accept", "memfd_create", "shm_open", "eventfd", "timerfd_create",
      "signalfd", "epoll_create", "epoll_create1", "inotify_init", "inotify_init1", "kqueue",
      "mdb_env_open", "mdb_env_copy", "mdb_env_copy2",
    ]
    let found = try Self.symbols.get().mapValues { makers.intersection($0.undefined) }
      .filter { !$0.value.isEmpty }
    #expect(
      found.keys.sorted() == [
        "Sources/CLarderStore/lmdb/environment_open.c", "Sources/CLarderSystem/descriptor.c",
      ])
    #expect(found["Sources/CLarderStore/lmdb/environment_open.c"] == ["mdb_env_open"])
    expectNoLine(in: SourceTree.c.filter { $0.path.hasPrefix("Sources/") }) { line in
      line.contains("F_DUPFD") && !line.contains("F_DUPFD_CLOEXEC, STANDARD_COUNT")
    }
  }

  @Test func theLibrariesOpenFilesThroughTheCore() {
    let libraries = SourceTree.swift.filter { file in
      file.path.hasPrefix("Sources/") && !file.path.hasPrefix("Sources/LarderTool/")
        // Where Foundation opens something, it is kept from the standard descriptors.
        && !file.text.contains("larder_os_standard_occupy()")
    }
    expectNoLine(in: libraries, like: Self.opensAFile)
  }

  /// A line of Swift that opens a file past the core.
  private static let opensAFile = SourceTree.Pattern(
    [
      #"\WO_(RDONLY|WRONLY|RDWR|CREAT)"#,
      #"(FileHandle|Pipe|Process|Stream)\((\)|for|file|url|to)|createFile\("#,
      #"\WcontentsOf(File|URL)?: \w*(url|URL|path|file)|\.write\(to(File|URL)?:"#,
    ].joined(separator: "|"))

  @Test(arguments: [
    ("let file = open(path, O_RDONLY | O_CLOEXEC)", true),
    ("let handle = try FileHandle(forReadingFrom: url)", true),
    ("try data.write(to: url, options: .atomic)", true),
    ("let bytes = try Data(contentsOf: url)", true),
    ("state.memory.append(contentsOf: bytes)", false),
    ("let pipe = Pipe()", true), ("InputStream(data: try data(at: index))", false),
    ("larder_os_file_open(path, flags, 0, &file)", false), ("let text = open(.map, key)", false),
  ])
  func whatOpensAFileIsKnown(line: String, opens: Bool) {
    #expect(Self.opensAFile.isFound(in: line) == opens, "\(line)")
  }

  @Test func theToolPrintsThroughOnePlace() {
    let files = SourceTree.swift.filter { file in
      file.path.hasPrefix("Sources/LarderTool/")
        && !["StandardOutput.swift", "StandardStreams.swift"].contains {
          file.path.hasSuffix("/Support/" + $0)
        }
    }
    expectNoLine(in: files, like: Self.mayPrint) { Self.prints($0) }
  }

  private static let printingCall = SourceTree.Pattern(
    #"(^|[^.\w])(print|debugPrint|dump|puts|putchar|fputs|fwrite|printf|vprintf)\("#)
  private static let printingStream = SourceTree.Pattern(
    #"(^|\W)(STDOUT_FILENO|stdout|standardOutput)($|\W)"#)
  private static let mayPrint = SourceTree.Pattern(
    #"([pP]rint|dump|puts|putchar|fwrite|printf)\(|STDOUT_FILENO|stdout|standardOutput"#)

  /// Whether a line of Swift writes to the standard output past the tool's one way to it.
  private static func prints(_ line: some StringProtocol) -> Bool {
    // Functions of ours may be called so, and a child's output is not the tool's.
    if line.contains("func print(") || line.contains("process.standardOutput = output") {
      return false
    }
    return printingCall.isFound(in: line)
      || (printingStream.isFound(in: line) && !line.contains("isatty(STDOUT_FILENO)"))
  }

  @Test(arguments: [
    ("    print(object.line)", true), ("  for line in lines { print(line) }", true),
    ("FileHandle.standardOutput.write(data)", true), ("fputs(text, stdout)", true),
    ("try StandardOutput.line(text)", false), ("try printer.print(record, lost: 0)", false),
    ("isatty(STDOUT_FILENO) == 1", false),
  ])
  func whatPrintsIsKnown(line: String, isPrint: Bool) {
    #expect((Self.mayPrint.isFound(in: line) && Self.prints(line)) == isPrint, "\(line)")
  }

  @Test func aStatusIsTestedOneWay() {
    // `if (status)` and `!status`; what a call gives, where it stands in a condition, is compared.
    let other = SourceTree.Pattern(#"\b\w*status (==|!=) LARDER_OK"#)
    expectNoLine(in: SourceTree.c.filter { $0.path.hasPrefix("Sources/") }, like: other)
  }

  @Test func everySymbolOfTheCoreHasThePrefix() throws {
    // Of the objects themselves: a program that links them statically defines what it likes.
    for (path, symbols) in try Self.symbols.get() {
      #expect(symbols.defined.allSatisfy { $0.hasPrefix("larder_") }, "\(path): \(symbols.defined)")
    }
  }

  @Test func aCircleHasThreeFilesAtMost() throws {
    let symbols = try Self.symbols.get()
    let home = Dictionary(
      symbols.flatMap { path, symbols in symbols.defined.map { ($0, path) } },
      uniquingKeysWith: { first, _ in first })
    let calls = symbols.mapValues { Set($0.undefined.compactMap { home[$0] }) }
    /// The files whose functions may run when one of the file's does.
    func reached(from path: String) -> Set<String> {
      var found: Set<String> = []
      var next = Array(calls[path] ?? [])
      while let path = next.popLast() {
        if found.insert(path).inserted { next += calls[path] ?? [] }
      }
      return found
    }
    let reach = calls.keys.reduce(into: [:]) { $0[$1] = reached(from: $1) }
    for (path, others) in reach {
      let circle = others.filter { reach[$0]?.contains(path) == true }
      #expect(circle.count <= 3, "\(circle.sorted())")
    }
  }

  /// Of each C file: the external symbols that its object defines, and those that it needs. The
  /// objects are the build's, where it has them, and LMDB is not among them.
  private static let symbols = Result {
    let directory = try TemporaryDirectory()
    let includes = ["CLarderSystem", "CLarder", "CLarderStore"].flatMap {
      ["-I", "Sources/\($0)", "-I", "Sources/\($0)/include"]
    }
    let bundlesLMDB = ProcessInfo.processInfo.environment["LARDER_LMDB"] == "bundled"
    var symbols: [String: (defined: [String], undefined: [String])] = [:]
    for file in SourceTree.c where file.path.hasPrefix("Sources/") && file.path.hasSuffix(".c") {
      let parts = file.path.split(separator: "/", maxSplits: 2)
      var object = builtProducts.appendingPathComponent("\(parts[1]).build/\(parts[2]).o").path
      if bundlesLMDB || !FileManager.default.fileExists(atPath: object) {
        object = directory.file("object.o").path
        _ = try Self.run(
          "cc", ["-std=c11", "-D_GNU_SOURCE", "-w", "-c", file.path, "-o", object] + includes)
      }
      let lines = try Self.run("nm", ["-g", object]).split(separator: "\n")
        .map { $0.split(separator: " ") }
      symbols[file.path] = (
        // Two underscores begin what a compiler adds.
        lines.filter { $0.count == 3 && !$0[2].hasPrefix("__") }.map { String($0[2]) },
        lines.filter { $0.count == 2 }.map { String($0[1]) }
      )
    }
    return symbols
  }

  @Test func dependenciesPointDownwards() {
    let remote = ["LarderRemote", "NIOCore", "NIOPosix", "NIOSSL"]
    let above = [
      "Sources/LarderCore/": [
        "Larder", "LarderTool", "ArgumentParser", "LarderCompatibility", "LarderCompression",
        "LarderEncryption", "CZlib", "Crypto",
      ] + remote,
      "Sources/Larder/": [
        "LarderTool", "ArgumentParser", "LarderCompatibility", "LarderCompression",
        "LarderEncryption", "CZlib", "Crypto",
      ] + remote,
      "Sources/LarderRemote/": [
        "LarderTool", "ArgumentParser", "LarderCompatibility", "LarderCompression",
        "LarderEncryption", "CZlib", "Crypto",
      ],
      "Sources/LarderCompatibility/": [
        "LarderTool", "ArgumentParser", "LarderCompression", "LarderEncryption", "CZlib", "Crypto",
      ],
      "Sources/LarderCompression/": ["Larder", "LarderTool", "LarderEncryption", "Crypto"],
      "Sources/LarderEncryption/": ["Larder", "LarderTool", "LarderCompression", "CZlib"],
      "Sources/LarderLogging/": [
        "Larder", "LarderMetrics", "LarderLifecycle", "LarderConfiguration", "LarderTracing",
      ],
      "Sources/LarderMetrics/": ["LarderLogging", "LarderConfiguration", "LarderTracing"],
      "Sources/LarderLifecycle/": ["LarderLogging", "LarderMetrics", "LarderConfiguration"],
      "Sources/LarderTracing/": ["LarderLogging", "LarderMetrics", "LarderConfiguration"],
      "Sources/LarderTool/Log/": ["Larder", "LarderTool"],
      "Sources/LarderTool/Support/": ["Larder", "LarderTool"],
    ]
    let servers = [
      "LarderLogging", "LarderMetrics", "LarderLifecycle", "LarderConfiguration", "LarderTracing",
      "Logging", "Metrics", "ServiceLifecycle", "Configuration", "Tracing",
    ]
    for folder in ["LarderCore", "Larder", "LarderCompatibility", "LarderTool"] {
      expectNoLine(in: SourceTree.swift.filter { $0.path.hasPrefix("Sources/\(folder)/") }) {
        line in
        servers.contains { line.hasSuffix("import " + $0) }
      }
    }
    for (folder, modules) in above {
      expectNoLine(in: SourceTree.swift.filter { $0.path.hasPrefix(folder) }) { line in
        modules.contains { line.hasSuffix("import " + $0) }
      }
    }
  }

  @Test func theLibraryNeverTrapsOnPurpose() {
    let traps = ["fatalError(", "precondition(", "preconditionFailure(", "try! ", " as! "]
    let libraries = [
      "Sources/LarderCore/", "Sources/Larder/", "Sources/LarderCompatibility/",
      "Sources/LarderCompression/", "Sources/LarderEncryption/", "Sources/LarderLogging/",
      "Sources/LarderMetrics/", "Sources/LarderLifecycle/", "Sources/LarderConfiguration/",
      "Sources/LarderTracing/", "Sources/LarderRemote/",
    ]
    let files = SourceTree.swift.filter { file in
      libraries.contains { file.path.hasPrefix($0) }
    }
    let pattern = traps.map { NSRegularExpression.escapedPattern(for: $0) }.joined(separator: "|")
    expectNoLine(in: files, like: SourceTree.Pattern(pattern))
  }

  @Test func onlyOneFileKnowsWhichSystemSwiftIsOn() {
    let asked = SourceTree.Pattern(
      #"(import |canImport\()(Darwin|Glibc|Musl|Android|Bionic)\b|^ *#.*\bos\("#)
    expectNoLine(
      in: SourceTree.swift.filter { file in
        file.path.hasPrefix("Sources/") && file.path != "Sources/LarderCore/Platform.swift"
      }, like: asked)
    // Not even that one has the C library: its modules have other names on each system.
    let library = SourceTree.Pattern(#"import (Darwin|Glibc|Musl|Android|Bionic)\b"#)
    expectNoLine(in: SourceTree.swift.filter { $0.path.hasPrefix("Sources/") }, like: library)
  }

  @Test func theTopLevelOfMainMayMakeEveryCall() {
    // There it is asynchronous as soon as anything in the file is. A pointer alone belongs into a
    // closure, which is not.
    let sources = SourceTree.swift.filter { file in
      file.path.hasPrefix("Sources/")
        && file.path != "Sources/Larder/Entry/Editing/EntryWriter.swift"
    }
    expectNoLine(in: sources) { $0.contains("noasync") }
  }

  @Test func thePrivacyManifestNamesWhatTheSourcesCall() throws {
    let url = SourceTree.top.appendingPathComponent("Sources/LarderCore/PrivacyInfo.xcprivacy")
    let manifest = try PropertyListSerialization.propertyList(
      from: try Data(contentsOf: url), format: nil)
    let types = (manifest as? [String: Any])?["NSPrivacyAccessedAPITypes"] as? [[String: Any]]
    let reasons = Dictionary(
      uniqueKeysWithValues: try #require(types).map { type in
        (
          type["NSPrivacyAccessedAPIType"] as? String ?? "",
          type["NSPrivacyAccessedAPITypeReasons"] as? [String] ?? []
        )
      })
    // After Apple's list of required reason APIs, by the functions of C that are among them.
    let calls: [(category: String, pattern: String)] = [
      ("FileTimestamp", #"\b(fstat|lstat|stat|fstatat|getattrlist)\("#),
      ("DiskSpace", #"\b(statvfs|fstatvfs|statfs|fstatfs)\("#),
      ("SystemBootTime", #"\b(mach_absolute_time|clock_gettime)\("#),
    ]
    let sources = SourceTree.c.filter { $0.path.hasPrefix("Sources/") }
    for (category, pattern) in calls {
      let call = SourceTree.Pattern(pattern)
      #expect(sources.contains { call.isFound(in: $0.text) }, "\(category)")
      #expect(reasons["NSPrivacyAccessedAPICategory" + category]?.isEmpty == false, "\(category)")
    }
    #expect(reasons.count == calls.count)
  }

  @Test func noTestHasATimeLimitOfItsOwn() {
    // It would end no thread that is blocked, and on a busy machine what is merely slow: .ci/parts
    // finds what hangs.
    let tests = SourceTree.swift.filter { $0.path.hasPrefix("Tests/") }
    expectNoLine(in: tests, like: SourceTree.Pattern(#"\.timeLimit\("#))
  }

  @Test func thePackageStaysUsableAsADependency() {
    expectNoLine(in: SourceTree.swift.filter { $0.path.hasSuffix("Package.swift") }) { line in
      line.contains("unsafe" + "Flags")
    }
  }

  // MARK: - Helpers

  /// The first folder of a path.
  private func floor(of path: Substring) -> String { String(path.prefix { $0 != "/" }) }

  private func expectNoLine(
    in files: [SourceTree.File] = SourceTree.code, like pattern: SourceTree.Pattern? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    where isWrong: (Substring) -> Bool = { _ in true }
  ) {
    // Most files have no such line, which is found out by one search.
    for file in files where pattern?.isFound(in: file.text) != false {
      for (number, line) in file.lines.enumerated()
      where pattern?.isFound(in: line) != false && isWrong(line) {
        Issue.record("\(file.path):\(number + 1): \(line)", sourceLocation: sourceLocation)
      }
    }
  }

  /// What the program printed, on either stream.
  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.currentDirectoryURL = SourceTree.top
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
      + (process.terminationStatus == 0 ? "" : "\n\(program) gave \(process.terminationStatus)")
  }
}
