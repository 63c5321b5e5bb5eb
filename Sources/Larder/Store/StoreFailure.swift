// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore

/// Words for what `larder_store_detail` knows, and for statuses that mean something
/// else of a store than of a log.
enum StoreFailure {
  /// Why opening failed, with numbers and advice; nil where the status says it all.
  static func reason(
    _ status: Int32, detail: larder_store_detail, asked: larder_store_options
  ) -> String? {
    switch Int(status) {
    case LARDER_EBUSY: busy(detail)
    case LARDER_EVERSION: version(detail)
    case LARDER_EMISMATCH: mismatch(detail, asked: asked)
    case LARDER_EDAMAGED where detail.segment != 0: mismatched(detail)
    case LARDER_EDAMAGED where detail.offset == .max:
      """
      its \(part(detail)) is missing; everything was left as it is; put it back, or let rebuild \
      make a new index, or salvage copy what is intact
      """
    case LARDER_EDAMAGED:
      """
      its \(part(detail)) is damaged at offset \(detail.offset); everything was left as it is; \
      rebuild makes a new index, and salvage copies what is intact
      """
    case LARDER_EFOREIGN:
      "there is something else in that folder; it was left as it is"
    case LARDER_EINVALID: invalid(asked)
    case LARDER_EOWNER, LARDER_EWRITABLE, LARDER_ELINKED: refused(status, detail)
    case LARDER_ELOCKED: locked(detail)
    default: nil
    }
  }

  /// Why a store is not written to that could be.
  private static func refused(_ status: Int32, _ detail: larder_store_detail) -> String {
    let found =
      detail.segment != 0 ? "its file \(segmentFile(detail.segment))" : "its \(part(detail))"
    return switch Int(status) {
    case LARDER_EOWNER:
      """
      \(found) belongs to another user, who could read and change what is stored there; use \
      another folder, or set trustsOtherUsers
      """
    case LARDER_EWRITABLE:
      """
      anybody may write to \(found); take that permission away (chmod o-w), or set \
      trustsOtherUsers
      """
    default:
      """
      \(found) has another hard link, which would be written to as well; make copies with cp -a \
      instead of cp -al
      """
    }
  }

  private static func segmentFile(_ segment: UInt32) -> String {
    let number = String(segment, radix: 16)
    return "log/" + String(repeating: "0", count: 8 - number.count) + number + ".seg"
  }

  /// Why a call failed; nil where the status says it all.
  static func reason(_ status: Int32) -> String? {
    switch Int(status) {
    case LARDER_ETOOLARGE:
      """
      a key and extended data have at most 65536 bytes each, and a batch or transaction half \
      of journalCapacity
      """
    case LARDER_EDAMAGED:
      """
      the data is damaged; nothing was deleted; rebuild makes a new index of the log, and salvage \
      copies what is intact
      """
    case LARDER_EFOREIGN:
      """
      there is no store in that folder, or something that is not Larder's is in the way, in it or \
      in place of its folder index.new, or log has segments of several stores; it was left as it is
      """
    case LARDER_ENOSLOT:
      """
      as many lists, entries or named cursors are open as there may be; end some, or processes \
      that read it
      """
    case LARDER_EFORKED: "it was opened before fork; open it in the child process itself"
    case LARDER_ECONFLICT: "an entry has been written meanwhile"
    case LARDER_EINVALID: "an argument is out of range"
    default: nil
    }
  }

  /// The part of the store, as the documentation calls it.
  private static func part(_ detail: larder_store_detail) -> String {
    switch detail.part {
    case LARDER_STORE_PART_LOCK: "lock file"
    case LARDER_STORE_PART_JOURNAL: "log"
    case LARDER_STORE_PART_DATA: "file data.mdb"
    case LARDER_STORE_PART_READERS: "file lock.mdb"
    default: "folder"
    }
  }

  /// Files of a store that do not belong together.
  private static func mismatched(_ detail: larder_store_detail) -> String {
    let file = segmentFile(detail.segment)
    let found =
      detail.part == LARDER_STORE_PART_DATA
      ? "its file data.mdb is older than its file \(file)"
      : "its file \(file) is missing, or is another one under this name"
    return """
      \(found); everything was left as it is; put the right file back, or let rebuild make a new \
      index of what is there, or salvage copy it
      """
  }

  private static func version(_ detail: larder_store_detail) -> String {
    let found = detail.version
    return switch detail.version_of {
    case LARDER_STORE_VERSION_OF_LMDB:
      """
      the LMDB library found here is version \(found >> 24).\(found >> 16 & 0xff).\
      \(found & 0xffff), and Larder works with LMDB 0.9; install that one
      """
    case LARDER_STORE_VERSION_OF_DATA:
      """
      its \(part(detail)) has LMDB's data version \(found), and Larder works with version 1, that \
      of LMDB 0.9; it was left as it is
      """
    case _ where found == 1:
      """
      it was made by Larder 0.1, whose format this version of Larder does not read; copy what is \
      needed with Larder 0.1, and delete the folder
      """
    default:
      """
      its \(part(detail)) has format version \(found), and this version of Larder does not know \
      it; use a newer one
      """
    }
  }

  private static func locked(_ detail: larder_store_detail) -> String {
    let reader = detail.holder_pid > 0 ? "process \(detail.holder_pid)" : "another process"
    return """
      \(reader) has locked its \(part(detail)), which it has open for reading; nothing of \
      Larder's does that; end it, or let it close the file
      """
  }

  private static func busy(_ detail: larder_store_detail) -> String {
    let holder =
      detail.holder_pid > 0 ? "process \(detail.holder_pid)" : "another process or handle"
    return """
      \(holder) has it open for writing; close it there, or open it here for reading, which any \
      number of readers can do meanwhile
      """
  }

  private static func mismatch(
    _ detail: larder_store_detail, asked: larder_store_options
  ) -> String {
    let isOfContent =
      asked.content_format != 0 && detail.content_format != 0
      && asked.content_format != detail.content_format
    let (there, here) =
      isOfContent
      ? (content(detail.content_format), content(asked.content_format))
      : (keys(detail.key_form), keys(asked.key_form))
    return "it holds \(there), and it was opened for \(here); it was left as it is"
  }

  private static func keys(_ form: UInt32) -> String {
    KeyForm(rawValue: UInt16(truncatingIfNeeded: form)).description
  }

  /// What a store of a content format holds.
  static func content(_ number: UInt64) -> String {
    if ArchiveFormat(number: number) != nil { return "elements of an archive" }
    if let entries = EntryFormat(number: number) {
      let count = entries.valueCount
      return "entries of \(count) value\(count == 1 ? "" : "s")"
    }
    return "values in the format \(RingOptions.description(ofFormat: number))"
  }

  private static func invalid(_ asked: larder_store_options) -> String {
    let least: UInt64 = 64 << 10
    if asked.journal_bytes < least {
      return """
        a journal capacity of \(asked.journal_bytes) bytes is too small; the least is \(least)
        """
    }
    return "an option is out of range"
  }
}
