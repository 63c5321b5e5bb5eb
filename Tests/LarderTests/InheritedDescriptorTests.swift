// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport
import Testing

/// A program that is started while stores are open gets none of their files.
@Suite(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")))
struct InheritedDescriptorTests {
  @Test func aProgramThatIsStartedHasNoFileOfAStore() throws {
    let directory = try TemporaryDirectory()
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 64.kilobytes, whenFull: .overwriteOldest,
      coder: .string)
    try log.append("message", durability: .power)
    let cache = try DiskCache<String, Data>(at: .path(directory.file("cache").path))
    try cache.set(Data(count: 100_000), forKey: "key")
    try cache.checkpoint()
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.isReadOnly = true
    let reader = try DiskCache<String, Data>(
      at: .path(directory.file("cache").path), configuration: configuration)
    let value = try reader.value(forKey: "key")
    let held = directory.file("held")
    try Data().write(to: held)
    let inherited = open(held.path, O_RDONLY)
    defer { close(inherited) }

    let listing = try Self.descriptorsOfAProgram(writingTo: directory.file("listing"))
    #expect(listing.contains(held.path), "what is inherited is seen: \(listing)")
    let folder = directory.url.path
    #expect(
      !listing.contains(folder + "/log") && !listing.contains(folder + "/cache"), "\(listing)")
    #expect(value?.count == 100_000)
    try reader.close()
    try cache.close()
    try log.close()
  }

  /// What the descriptors of a program lead to that is started as C programs do it; Foundation
  /// closes all that it does not pass on.
  private static func descriptorsOfAProgram(writingTo file: URL) throws -> String {
    var process = pid_t()
    let words: [String] = ["/bin/sh", "-c", "ls -l /proc/$$/fd > \"$0\"", file.path]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawn(&process, "/bin/sh", nil, nil, &arguments, nil)
    guard code == 0 else { throw CocoaError(.executableLoad) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return try String(contentsOf: file, encoding: .utf8)
  }
}
