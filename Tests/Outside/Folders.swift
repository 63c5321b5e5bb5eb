// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// What killed programs left, copied, under another boot, with a byte flipped: what is read was
/// written, or an error says why not, and what is lost is told.
enum Folders {
  static let program = Program(
    name: "folders", summary: "what the others left: copied, after a reboot, with flipped bytes",
    run: run, child: child)

  static let idCount = 300

  /// What each id has in the end, 0 for nothing, and what it ever had.
  static func versions(_ id: Int) -> (last: Int, all: [Int]) {
    let all = [1] + (id % 2 == 0 ? [2] : []) + (id % 3 == 0 ? [3] : [])
    return id % 10 == 9 ? (0, all) : (all.last ?? 0, all)
  }

  private static func run(_ session: Session) throws {
    let launcher = try anotherBoot(session)
    if launcher == nil { say("folders: no other boot: this system lets nobody mount") }
    let deadline = session.deadline(share: 1)
    var round = 0
    repeat {
      for (number, kind) in Remains.all.enumerated() {
        let writer = try session.start(["leave", "\(number)"])
        expect(writer.line() == "written", "A store can be written", kind.name)
        writer.kill()
        writer.wait()
        for other in [false, true] where !other || launcher != nil {
          let child = try session.start(
            ["read", "\(number)", "\(round)", other ? "another boot" : "same boot"],
            by: other ? launcher ?? [] : [])
          child.finish("folders")
        }
        try FileManager.default.removeItem(atPath: session.path(kind.name))
      }
      round += 1
    } while session.isLong && !deadline.isOver
  }

  /// What starts a program so that it sees the id of another boot; nil where nothing can.
  private static func anotherBoot(_ session: Session) throws -> [String]? {
    let file = session.path("boot_id")
    try Data("\(UUID().uuidString.lowercased())\n".utf8).write(to: URL(fileURLWithPath: file))
    let mount = "mount --bind '\(file)' /proc/sys/kernel/random/boot_id 2>/dev/null"
    let launcher = ["/usr/bin/env", "unshare", "-m", "sh", "-c", "\(mount) && exec \"$@\"", "sh"]
    let probe = Process()
    probe.executableURL = URL(fileURLWithPath: launcher[0])
    probe.arguments = Array(launcher.dropFirst()) + ["true"]
    probe.standardError = FileHandle.nullDevice
    try probe.run()
    probe.waitUntilExit()
    return probe.terminationStatus == 0 ? launcher : nil
  }

  private static func child(_ session: Session) throws {
    let kind = Remains.all[Int(session.child[1]) ?? 0]
    let folder = session.path(kind.name)
    if session.child[0] == "leave" {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      // Whoever holds it keeps it open until the kill.
      let store = try kind.leave(folder + "/store")
      say("written")
      withExtendedLifetime(store) { _ = Child.order(milliseconds: -1) }
      return
    }
    let boot = session.child[3]
    var dice = session.dice("\(kind.name) \(boot) \(session.child[2])")
    try damage(kind, folder, boot, &dice, flips: session.isLong ? 400 : 72)
  }

  private static func damage(
    _ kind: Remains, _ folder: String, _ boot: String, _ dice: inout Dice, flips: Int
  ) throws {
    let manager = FileManager.default
    let copy = folder + "/copy"
    func copied(_ body: (String) throws -> Void) throws {
      try manager.copyItem(atPath: folder + "/store", toPath: copy)
      defer { try? manager.removeItem(atPath: copy) }
      try body(copy)
    }
    try copied { copy in
      let finding = Finding(kind, copy)
      finding.judge("\(kind.name), \(boot): a copy", isWhole: true)
    }
    let files = manager.enumerator(atPath: folder + "/store")?.compactMap { $0 as? String } ?? []
    var (flipped, refused, told) = (0, 0, 0)
    for name in (files.isEmpty ? [""] : files.sorted()) {
      for _ in 0..<flips / max(1, files.count) {
        try copied { copy in
          let path = name.isEmpty ? copy : copy + "/" + name
          guard let place = try flip(path, &dice) else { return }
          let finding = Finding(kind, copy)
          finding.judge("\(kind.name), \(boot): \(name) at \(place)", isWhole: false)
          flipped += 1
          if finding.refusal != nil { refused += 1 } else if finding.isTold { told += 1 }
        }
      }
    }
    say(
      "\(kind.name), \(boot): \(flipped) bytes flipped, \(refused) openings refused, "
        + "\(told) told")
  }

  /// Changes one byte, if it can one that is not zero.
  private static func flip(_ path: String, _ dice: inout Dice) throws -> Int? {
    guard var data = FileManager.default.contents(atPath: path), !data.isEmpty else { return nil }
    var place = 0
    for _ in 0..<100 {
      place = dice.below(data.count)
      if data[place] != 0 { break }
    }
    data[place] ^= UInt8(dice.between(1, 255))
    // In place, so that the file keeps its inode.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(place))
    try file.write(contentsOf: data[place...place])
    try file.close()
    return place
  }
}

/// What a reader found in a folder.
final class Finding {
  /// The version under each id.
  private var found: [Int: Int] = [:]
  private var wrong: [String] = []
  /// Whether something said that there is damage.
  private(set) var isTold = false
  private(set) var refusal: LarderError?

  init(_ kind: Remains, _ path: String) {
    do {
      try kind.read(path, self)
    } catch let error as LarderError {
      refusal = error
    } catch {
      wrong.append("an error that is none of the library: \(error)")
    }
  }

  func take(_ id: Int, _ stamp: Stamp?) {
    guard let stamp, stamp.id == id, id >= 0, Folders.versions(id).all.contains(stamp.version)
    else {
      return wrong.append("under \(id) is what was never stored: \(stamp.map { "\($0)" } ?? "-")")
    }
    found[id] = stamp.version
  }

  func remove(_ id: Int) { found[id] = nil }

  /// Runs what may say that its entry is damaged.
  func reading(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch let error as LarderError where error.code == .damaged || error.code == .decoding {
      isTold = true
    }
  }

  func tell(if isDamaged: Bool) { isTold = isTold || isDamaged }

  func judge(_ what: String, isWhole: Bool) {
    for text in wrong {
      broken("Nothing is returned but what was stored", "\(what): \(text)")
    }
    if let refusal {
      expect(!isWhole, "What was killed or copied can be opened", "\(what): \(refusal)")
      return expect(!refusal.message.isEmpty, "An error says what is wrong", what)
    }
    let others = (0..<Folders.idCount).filter { found[$0, default: 0] != Folders.versions($0).last }
    if isWhole {
      expect(others.isEmpty, "A copy has what was stored", "\(what): \(others.count) have not")
      return expect(!isTold, "Nothing is said to be damaged that is not", what)
    }
    expect(
      others.isEmpty || isTold, "What is lost is told",
      "\(what): \(others.count) of \(Folders.idCount) have not what was stored last")
  }
}
