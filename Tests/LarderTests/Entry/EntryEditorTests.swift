// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Edits: seen by nobody before the commit, ended exactly once, one at a time for a key.
/// After SwiftyCache's testJournalWithEditAndPublish, testJournalWithEditAndPublishAndRead,
/// testOpenWithDirtyKeyDeletesAllFilesForThatKey (here an interrupted update keeps the old
/// values, which both of them lost); DiskLruCache's revertedNewFileIsRemoveInJournal,
/// unterminatedEditIsRevertedOnClose, journalDoesNotIncludeReadOfYetUnpublishedValue,
/// cannotOperateOnEditAfterPublish and AfterRevert, createNewEntryWithTooFewValuesFails,
/// revertWithTooFewValues, updateExistingEntryWithTooFewValuesReusesPreviousValues; and
/// SwiftyCache's aborted edit, which took the old values with it.
struct EntryEditorTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test func aCommitShowsAllValuesAtOnce() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    #expect(editor.valueCount == 2)
    try editor.set("A", at: 0)
    #expect(try cache.texts("a") == nil)
    #expect(try !cache.contains("a"))
    try editor.set(Data("B".utf8), at: 1)
    #expect(try cache.isEmpty)
    try editor.commit()
    #expect(try cache.texts("a") == ["A", "B"])
    #expect(try cache.size == 2)
  }

  @Test func nobodySeesWhatIsNotCommittedAndNoReadCounts() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    try editor.set("A", at: 0)
    #expect(try editor.data(at: 0) == nil)
    #expect(try cache.snapshot(forKey: "a") == nil)
    #expect(try cache.statistics.hits == 0)
    #expect(try cache.statistics.written == 0)
    try editor.abort()
    #expect(try cache.statistics.written == 0)
  }

  @Test func aNewEntryWantsAllItsValues() throws {
    let cache = try place.open()
    for index in 0..<2 {
      let editor = try cache.editor("a")
      try editor.set("A", at: index)
      let failure = error { try editor.commit() }
      #expect(failure?.code == .invalidArgument)
      #expect(failure?.message.contains("Value \(1 - index)") == true)
      #expect(try cache.texts("a") == nil)
      #expect(try cache.isEmpty)
      #expect(errorCode { try editor.commit() } == .conflict)
    }
    #expect(errorCode { try cache.editor("a").commit() } == .invalidArgument)
    try cache.editor("a").abort()
    try cache.set("a", "A", "B")
  }

  @Test func anEditOfAnEntryKeepsTheValuesThatAreNotSet() throws {
    let cache = try place.open(values: 3) { $0.inlineThreshold = 10 }
    try cache.setValues([entryBytes(100), Data("B".utf8), Data()], forKey: "a")
    for _ in 0..<2 {
      let editor = try cache.editor("a")
      try editor.set("new", at: 1)
      try editor.commit()
      let values = try #require(try cache.snapshot(forKey: "a")).values
      #expect(values == [entryBytes(100), Data("new".utf8), Data()])
      try cache.checkpoint()
    }
    try cache.editor("a").commit()
    #expect(try cache.snapshot(forKey: "a")?.data(at: 0) == entryBytes(100))
    #expect(try cache.size == 103)
  }

  @Test func anAbortedEditLeavesTheOldValues() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    let version = try cache.snapshot(forKey: "a")?.version
    for ending in 0..<4 {
      do {
        let editor = try cache.editor("a")
        try editor.set("C", at: 0)
        let writer = try editor.writer(at: 1)
        try writer.write("D")
        switch ending {
        case 0: try editor.abort()
        case 1: editor.abortUnlessCommitted()
        // The last reference to it goes.
        case 2: break
        default: try editor.set("D", at: 1)
        }
      }
      #expect(try cache.texts("a") == ["A", "B"])
      #expect(try cache.snapshot(forKey: "a")?.version == version)
    }
    #expect(try cache.size == 2)
  }

  @Test func anAbortedNewEntryLeavesNothing() throws {
    let cache = try place.open { $0.inlineThreshold = 0 }
    let editor = try cache.editor("a")
    try editor.set("A", at: 0)
    try editor.set("B", at: 1)
    try editor.abort()
    #expect(try cache.texts("a") == nil)
    #expect(try cache.isEmpty)
    #expect(try cache.statistics.appendedSize == 0)
    try cache.set("a", "C", "D")
    #expect(try cache.texts("a") == ["C", "D"])
  }

  @Test func anEditEndsExactlyOnce() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    for commits in [true, false] {
      let editor = try cache.editor("a")
      try editor.set("C", at: 0)
      let writer = try editor.writer(at: 1)
      try writer.write("D")
      if commits { try editor.commit() } else { try editor.abort() }
      let now = try cache.texts("a")
      #expect(errorCode { try editor.commit() } == .conflict)
      #expect(errorCode { try editor.abort() } == .conflict)
      #expect(errorCode { try editor.set("E", at: 0) } == .conflict)
      #expect(errorCode { try editor.set(Data(), at: 0) } == .conflict)
      #expect(errorCode { try editor.writer(at: 0) } == .conflict)
      #expect(errorCode { try writer.write("E") } == .conflict)
      #expect(errorCode { try editor.data(at: 0) } == .conflict)
      #expect(errorCode { try editor.string(at: 0) } == .conflict)
      #expect(errorCode { try editor.inputStream(at: 0) } == .conflict)
      editor.abortUnlessCommitted()
      #expect(try cache.texts("a") == now)
      #expect(now == ["C", "D"])
    }
  }

  @Test func aKeyHasOneEditorAtATime() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    do {
      let editor = try cache.editor("a")
      #expect(try cache.edit("a") == nil)
      let other = try #require(try cache.edit("b"))
      try other.abort()
      try editor.abort()
    }
    var editor: EntryEditor? = try cache.editor("a")
    #expect(try cache.edit("a") == nil)
    try editor?.commit()
    // One that has ended does not open the key to others a second time.
    let next = try cache.editor("a")
    editor = nil
    #expect(try cache.edit("a") == nil)
    try next.abort()
    #expect(try cache.edit("a") != nil)
  }

  @Test func nobodyElseStoresUnderAKeyThatIsEdited() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    let editor = try cache.editor("a")
    #expect(errorCode { try cache.set("a", "C", "D") } == .conflict)
    #expect(errorCode { try cache.update([0: Data()], forKey: "a") } == .conflict)
    #expect(try !cache.remove(forKey: "a"))
    #expect(try cache.texts("a") == ["A", "B"])
    try cache.set("b", "C", "D")
    try editor.set("E", at: 0)
    try editor.commit()
    #expect(try cache.texts("a") == ["E", "B"])
    try cache.set("a", "C", "D")
    #expect(try cache.remove(forKey: "a"))
  }

  @Test func anEditorReadsTheLastCommittedValues() throws {
    let cache = try place.open { $0.inlineThreshold = 10 }
    try cache.setValues([Data("größe".utf8), entryBytes(1000)], forKey: "a")
    let editor = try cache.editor("a")
    try editor.set("new", at: 0)
    #expect(try editor.string(at: 0) == "größe")
    #expect(try editor.data(at: 1) == entryBytes(1000))
    #expect(try editor.inputStream(at: 1).map { drain($0) } == entryBytes(1000))
    for index in [-1, 2] {
      #expect(errorCode { try editor.data(at: index) } == .invalidArgument)
      #expect(errorCode { try editor.set("x", at: index) } == .invalidArgument)
      #expect(errorCode { try editor.writer(at: index) } == .invalidArgument)
    }
    try editor.commit()
    #expect(try cache.texts("a")?[0] == "new")
    let fresh = try cache.editor("none")
    #expect(try fresh.data(at: 0) == nil)
    #expect(try fresh.string(at: 0) == nil)
    #expect(try fresh.inputStream(at: 0) == nil)
  }

  @Test func closingAbortsWhatIsOpen() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    let editor = try cache.editor("a")
    try editor.set("C", at: 0)
    let fresh = try cache.editor("b")
    try fresh.set("C", at: 0)
    try fresh.set("D", at: 1)
    try cache.close()
    #expect(errorCode { try editor.set("D", at: 1) } == .closed)
    #expect(errorCode { try editor.commit() } == .closed)
    #expect(errorCode { try fresh.commit() } == .closed)
    let next = try place.open()
    #expect(try next.texts("a") == ["A", "B"])
    #expect(try next.keys() == ["a"])
    try next.editor("a").abort()
  }

  @Test func aKilledEditKeepsTheOldValues() throws {
    let cache = try place.open {
      $0.inlineThreshold = 10
      // No checkpoint comes while the files are copied.
      $0.journalCapacity = 16 << 20
    }
    try cache.setValues([entryBytes(100), Data("B".utf8)], forKey: "a")
    let editor = try cache.editor("a")
    try editor.set("C", at: 0)
    let writer = try editor.writer(at: 1)
    try writer.write(entryBytes(1 << 20))
    let fresh = try cache.editor("b")
    try fresh.set("D", at: 0)
    let other = try place.open(at: place.afterKill())
    #expect(try other.snapshot(forKey: "a")?.values == [entryBytes(100), Data("B".utf8)])
    #expect(try other.keys() == ["a"])
    #expect(try other.verify().isIntact)
    try editor.commit()
    let after = try place.open(at: place.afterKill("after-commit"))
    #expect(try after.snapshot(forKey: "a")?.values == [Data("C".utf8), entryBytes(1 << 20)])
  }

  @Test func removingAllDuringAnEdit() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    try cache.set("b", "A", "B")
    let some = try cache.editor("a")
    try some.set("C", at: 0)
    let all = try cache.editor("b")
    try all.set("C", at: 0)
    try all.set("D", at: 1)
    try cache.removeAll()
    #expect(errorCode { try some.commit() } == .invalidArgument)
    try all.commit()
    #expect(try cache.keys() == ["b"])
    #expect(try cache.texts("b") == ["C", "D"])
  }

  @Test func evictionDuringAnEditTakesNothingFromItButTheOldValues() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    try cache.set("b", "A", "B")
    let some = try cache.editor("a")
    try some.set("C", at: 0)
    let all = try cache.editor("b")
    try all.set("C", at: 0)
    try all.set("D", at: 1)
    cache.countLimit = 0
    try cache.checkpoint()
    cache.countLimit = .max
    #expect(try some.data(at: 1) == nil)
    #expect(errorCode { try some.commit() } == .invalidArgument)
    try all.commit()
    #expect(try cache.keys() == ["b"])
  }

  @Test func theLifeOfAnEntryBeginsAnewWithACommit() throws {
    let cache = try place.open { $0.expiration = .seconds(60) }
    try cache.set("a", "A", "B")
    place.clock.advance(59)
    let editor = try cache.editor("a")
    try editor.set("C", at: 0)
    try editor.commit()
    place.clock.advance(59)
    #expect(try cache.texts("a") == ["C", "B"])
    place.clock.advance(1)
    #expect(try cache.texts("a") == nil)
    let again = try cache.editor("a")
    try again.set("D", at: 0)
    #expect(errorCode { try again.commit() } == .invalidArgument)
    try cache.setValues([Data(), Data()], forKey: "b", expiration: .seconds(5))
    place.clock.advance(5)
    #expect(try !cache.contains("b"))
    let last = try cache.editor("c")
    try last.set("E", at: 0)
    try last.set("F", at: 1)
    try last.commit(expiration: .never, durability: .power)
    place.clock.advance(1e6)
    #expect(try cache.texts("c") == ["E", "F"])
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
  }
}
