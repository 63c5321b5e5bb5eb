// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// A store or a log, wherever it lies.
final class Place {
  let kind: Kind
  /// From the root on; nil if it was deleted.
  var path: String?

  init(_ kind: Kind, _ path: String) {
    self.kind = kind
    self.path = path
  }

  /// Notes whether it is still there.
  func look() {
    guard let path else { return }
    // The last file of a store that is deleted is its lock.
    let sign = kind == .log ? path : path + "/lock"
    if access(sign, F_OK) != 0 { self.path = nil }
  }
}

/// An open handle of one.
final class Holder {
  var place: Place
  /// Where the place lay when it was opened.
  let home: String
  let tenant: any Tenant
  let isReader: Bool
  var isClosed = false
  var isSuspended = false
  var hasDeleted = false

  init(_ place: Place, _ home: String, _ tenant: any Tenant, isReader: Bool) {
    self.place = place
    self.home = home
    self.tenant = tenant
    self.isReader = isReader
  }

  /// Whether nothing is in the way of any call.
  var isUsable: Bool { place.path == home && !isClosed && !isSuspended }
  var keepsOthersOut: Bool { !isClosed && !isSuspended && !isReader }
}

/// Folders in which several stores and logs have one name, and handles of them.
final class NamesWorld {
  static let yards = ["here", "there", "empty"]

  let root: String
  private let plant: Plant?
  private(set) var places: [Place] = []
  private(set) var holders: [Holder] = []
  private var yard = yards[0]

  init(_ folder: String, _ plant: Plant?) throws {
    // As the system calls it: the process goes there, and asks where it is.
    guard let root = realpath(folder, nil) else { throw Broken("\(folder) has no path") }
    self.root = String(cString: root)
    free(root)
    self.plant = plant
    for name in Self.yards + ["aside"] {
      try FileManager.default.createDirectory(
        atPath: self.root + "/" + name, withIntermediateDirectories: true)
    }
    try go(to: yard)
  }

  private var scratch: String { root + "/copy" }

  func path(of kind: Kind, in yard: String) -> String { "\(root)/\(yard)/\(kind.rawValue)" }

  func place(at path: String) -> Place? { places.first { $0.path == path } }

  // MARK: - What is done to names

  func go(to yard: String) throws {
    self.yard = yard
    guard chdir(root + "/" + yard) == 0 else { throw Broken("cannot go to \(yard)") }
  }

  /// Moves a place to where nothing is.
  func move(_ place: Place, to path: String) throws {
    guard let from = place.path, rename(from, path) == 0 else { throw Broken("cannot rename") }
    place.path = path
  }

  func moveAside(_ place: Place) throws {
    try move(place, to: "\(root)/aside/\(place.kind.rawValue)-\(places.count)-\(UUID())")
  }

  func remove(_ place: Place) throws {
    if let path = place.path { try FileManager.default.removeItem(atPath: path) }
    place.path = nil
  }

  // MARK: - What handles do

  /// Opens what lies in a yard, by one of the ways to say so.
  ///
  /// - Parameter way: 0: from the root on; 1: relative; 2: relative, in a roundabout way.
  @discardableResult
  func open(_ kind: Kind, in yard: String, way: Int, isReader: Bool = false) throws -> Holder? {
    let target = path(of: kind, in: yard)
    let near = yard == self.yard
    let given =
      switch way {
      case 0: target
      case 1: near ? kind.rawValue : "../\(yard)/\(kind.rawValue)"
      default: (near ? "./" : "../here/../\(yard)/") + kind.rawValue + (kind == .log ? "" : "/")
      }
    let known = place(at: target)
    let before = try Prints(of: root, without: [target, scratch])
    var tenant: (any Tenant)?
    var failure: (any Error)?
    do {
      tenant = try kind.open(given, isReader: isReader, scratch: scratch, plant)
    } catch {
      failure = error
    }
    try compare(before, without: [target], "opening \(given)")
    if let failure {
      let isHeld = holders.contains { $0.place === known && $0.keepsOthersOut }
      let isMissing = known == nil
      try expect(isReader ? isMissing : isHeld, "opening \(given): \(failure)")
      return nil
    }
    let place = known ?? Place(kind, target)
    if known == nil { places.append(place) }
    let holder = tenant.map { Holder(place, target, $0, isReader: isReader) }
    if let holder { holders.append(holder) }
    return holder
  }

  /// Asks a handle for something: nothing may change but what is its own.
  func perform(_ call: Call, _ holder: Holder) throws {
    // What is gone is created when it is resumed.
    let creates = call.effect == .resume && holder.isSuspended && access(holder.home, F_OK) != 0
    let own = creates ? holder.home : holder.place.path
    let before = try Prints(of: root, without: [own, scratch].compactMap { $0 })
    let ownBefore = try own.map { try Prints(of: $0, without: [$0 + "/log"]) }
    let wasUsable = holder.isUsable
    var failure: (any Error)?
    do { try call.body() } catch { failure = error }
    let what = "\(call.name) of \(holder.place.kind) opened at \(holder.home)"
    try compare(before, without: [own].compactMap { $0 }, what)
    if let failure, wasUsable { throw Broken("\(what): \(failure)") }
    let isDone = failure == nil
    switch call.effect {
    case .use: break
    case .close: if isDone || !holder.isSuspended { holder.isClosed = true }
    // Also if what waited could not be flushed.
    case .suspend: if !holder.isClosed { holder.isSuspended = true }
    case .resume:
      if isDone { holder.isSuspended = false }
      if isDone && creates {
        holder.place = Place(holder.place.kind, holder.home)
        places.append(holder.place)
      }
    case .delete:
      let isElsewhere = own != nil && own != holder.home
      if let own, isDone, !holder.hasDeleted {
        try expect(access(own + "/lock", F_OK) != 0, "\(what): its own files are there")
      }
      if isElsewhere && !holder.hasDeleted {
        try expect(
          (failure as? LarderError)?.code == .replaced,
          "\(what), which was moved: \(failure.map { "\($0)" } ?? "no error")")
        if let own, let ownBefore {
          let changes = try Prints(of: own, without: [own + "/log"])
            .differences(from: ownBefore)
          try expect(changes.isEmpty, "\(what) was refused: \(changes.joined(separator: ", "))")
        }
      }
      if isDone { holder.hasDeleted = true }
      if isDone { holder.isClosed = true }
    }
    holder.place.look()
  }

  /// Closes all that are open.
  func end() throws {
    for holder in holders where !holder.isClosed {
      for call in holder.tenant.calls where call.effect == .close { try perform(call, holder) }
    }
  }

  private func compare(_ before: Prints, without own: [String], _ what: String) throws {
    let after = try Prints(of: root, without: own + [scratch])
    if after == before { return }
    // A store that is open makes a segment ready for the next large value, a cache reads what was
    // hot, and a log that was synced says in its header that it is open, on threads of their own.
    let busy = holders.filter { !$0.isClosed && !$0.isSuspended }.flatMap { holder in
      guard let path = holder.place.path else { return [String]() }
      if holder.place.kind == .log { return holder.isReader ? [] : [path] }
      return [path + "/log", path + "/lock.mdb"]
    }
    let changes = after.differences(from: before).filter { change in
      !busy.contains { change.hasPrefix($0) }
    }
    if changes.isEmpty { return }
    let list = changes.map { $0.replacing(root + "/", with: "") }.joined(separator: ", ")
    throw Broken("\(what), in \(yard): \(list)")
  }
}
