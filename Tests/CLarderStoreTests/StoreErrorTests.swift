// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// What a call tells when it cannot do its work.
@Suite("Store: errors")
struct StoreErrorTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  @Test func aSecondWriterIsToldWhoHoldsTheStore() throws {
    let store = try Store(url)
    var detail = larder_store_detail()
    #expect(status { try Store(url, detail: &detail) } == Int(LARDER_EBUSY))
    #expect(detail.holder_pid == Int64(ProcessInfo.processInfo.processIdentifier))
    store.close()
    #expect(status { try Store(url) } == Int(LARDER_OK))
  }

  @Test func aReaderCannotWriteAndSeesWhatIsWritten() throws {
    let store = try Store(url)
    try store.put([1], [1])
    let reader = try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
    #expect(try reader.get([1])?.value == [1])
    try store.put([1], [2])
    #expect(try reader.get([1])?.value == [2])
    try store.flush()
    try store.put([2], [3])
    #expect(try reader.keys() == [[1], [2]])
    let readOnly = Int(LARDER_EREADONLY)
    #expect(status { try reader.put([1], [3]) } == readOnly)
    #expect(status { try reader.remove([1]) } == readOnly)
    #expect(status { try reader.flush() } == readOnly)
    #expect(status { try check(larder_store_remove_all(reader.pointer, nil, nil)) } == readOnly)
    var batch: OpaquePointer?
    #expect(larder_store_batch_create(reader.pointer, &batch) == LARDER_EREADONLY)
    #expect(batch == nil)
    let statistics = try reader.figures
    #expect(statistics.read_only == 1)
    #expect(statistics.writer_pid == Int64(ProcessInfo.processInfo.processIdentifier))
  }

  @Test func aStoreThatWasShutDownSaysSo() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try check(larder_store_shutdown(store.pointer))
    let closed = Int(LARDER_ECLOSED)
    #expect(status { try store.put([1], [1]) } == closed)
    #expect(status { try store.get([1]) } == closed)
    #expect(status { try store.keys() } == closed)
    #expect(status { try store.totals } == closed)
    #expect(status { try store.flush() } == closed)
    try check(larder_store_shutdown(store.pointer))
    #expect(try Store(url).get([1])?.value == [1])
  }

  @Test func aBatchWhoseRequirementDoesNotHoldDoesNothing() throws {
    let store = try Store(url)
    let version = try store.put([1], [1])
    var batch: OpaquePointer?
    try check(larder_store_batch_create(store.pointer, &batch))
    defer { larder_store_batch_destroy(batch) }
    for (required, wanted) in [(version + 1, LARDER_ECONFLICT), (0, LARDER_ECONFLICT)] {
      withBytes([1]) { key in
        #expect(larder_store_batch_require(batch!, key, required) == LARDER_OK)
        #expect(larder_store_batch_remove(batch!, key) == LARDER_OK)
      }
      #expect(larder_store_batch_commit(batch!, 0, nil) == larder_status(wanted))
      #expect(try store.get([1])?.sequence == version)
    }
    withBytes([1]) { key in
      #expect(larder_store_batch_require(batch!, key, version) == LARDER_OK)
      #expect(larder_store_batch_remove(batch!, key) == LARDER_OK)
    }
    #expect(larder_store_batch_commit(batch!, 0, nil) == LARDER_OK)
    #expect(try store.get([1]) == nil)
  }

  @Test func otherContentIsRefused() throws {
    try Store(url) { $0.content_format = 5 }.close()
    var detail = larder_store_detail()
    #expect(
      status { try Store(url, detail: &detail) { $0.content_format = 6 } } == Int(LARDER_EMISMATCH))
    #expect(detail.content_format == 5)
    #expect(status { try Store(url) { $0.content_format = 0 } } == Int(LARDER_OK))
  }

  @Test func pagesOfAnotherDataVersionAreRefusedAndNamed() throws {
    try Store(url).close()
    let file = url.appendingPathComponent("data.mdb")
    var bytes = try [UInt8](Data(contentsOf: file))
    // Where each of the two meta pages has it.
    for page in [0, 4096] {
      #expect(bytes[page + 20] == 1)
      bytes[page + 20] = 3
    }
    try Data(bytes).write(to: file)
    for flags in [0, UInt32(LARDER_STORE_READ_ONLY)] {
      var detail = larder_store_detail()
      let refused = status { try Store(url, detail: &detail) { $0.flags = flags } }
      #expect(refused == Int(LARDER_EVERSION))
      #expect(detail.part == LARDER_STORE_PART_DATA && detail.version == 3)
      #expect(detail.version_of == LARDER_STORE_VERSION_OF_DATA)
    }
    #expect(try [UInt8](Data(contentsOf: file)) == bytes)
  }

  @Test func whatIsMissingIsNotMadeByAReader() throws {
    for flag in [LARDER_STORE_READ_ONLY, LARDER_STORE_EXISTING] {
      #expect(status { try Store(url) { $0.flags = UInt32(flag) } } == Int(ENOENT))
      #expect(!FileManager.default.fileExists(atPath: url.path))
    }
    let deep = directory.file("missing/store")
    #expect(status { try Store(deep) } == Int(ENOENT))
  }

  @Test func aFolderThatHoldsSomethingElseIsLeftAlone() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    try Data("Dear".utf8).write(to: url.appendingPathComponent("letter"))
    #expect(status { try Store(url) } == Int(LARDER_EFOREIGN))
    #expect(try FileManager.default.contentsOfDirectory(atPath: url.path) == ["letter"])
  }

  @Test(arguments: [UInt64(0), 1, 63, 65_535])
  func aJournalThatIsTooSmallIsRefused(size: UInt64) {
    #expect(status { try Store(url) { $0.journal_bytes = size } } == Int(LARDER_EINVALID))
  }

  @Test(arguments: [false, true])
  func aValueThatWasChangedOnDiskIsNotGiven(isPending: Bool) throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 10 }
    try store.put([1], [UInt8](repeating: 9, count: 100))
    try store.put([2], [UInt8](repeating: 9, count: 10))
    if !isPending { try store.flush() }
    let flipped = try StoreLog(url).flip(Data(repeating: 9, count: 100), at: 50)
    #expect(flipped == 1)
    #expect(status { try store.get([1]) } == Int(LARDER_EDAMAGED))
    // One checksum covers all of it.
    let flags = Int(LARDER_STORE_WITHOUT_VALUE)
    #expect(status { try store.get([1], flags: flags) } == Int(LARDER_EDAMAGED))
    #expect(try store.get([2])?.value.count == 10)
    #expect(!store.isSound)
    #expect(try store.figures.damaged == 2)
  }

  /// Its row has it too, with a checksum of its own.
  @Test func aShortValueIsGivenAlthoughItsSegmentIsDamaged() throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 10 }
    try store.put([1], [UInt8](repeating: 9, count: 10))
    try store.flush()
    #expect(try StoreLog(url).flip(Data(repeating: 9, count: 10)) == 1)
    #expect(try store.get([1])?.value == [UInt8](repeating: 9, count: 10))
  }
}
