// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A query, and what a plain loop over all elements says of it.
struct Question {
  private typealias Track = Library.Track

  private let name: String
  private let query: (Archive<Library.Track>) -> ArchiveQuery<Library.Track>
  private let matches: (Library.Track) -> Bool
  /// Before another one in the result; nil where the order is that of whatever index is used.
  private var precedes: ((Library.Track, Library.Track) -> Bool)?
  private var limit = Int.max

  init(_ dice: inout Dice) {
    let sample = Library.Track(dice.below(30_000), 0)
    let (year, rating, genre) = (sample.year, sample.rating, sample.genre)
    let plays = dice.below(5000)
    switch dice.below(7) {
    case 0:
      name = "title"
      query = { $0.where { $0.title == sample.title } }
      matches = { $0.title == sample.title }
    case 1:
      name = "year and rating"
      query = { $0.where { $0.year.within(year...year + 1) && $0.rating > rating } }
      matches = { $0.year >= year && $0.year <= year + 1 && $0.rating > rating }
    case 2:
      name = "rating"
      query = { $0.where { $0.rating.within(rating..<rating + 0.03) } }
      matches = { $0.rating >= rating && $0.rating < rating + 0.03 }
    case 3:
      name = "genre and year"
      query = { $0.where { $0.genre == genre && $0.year == year } }
      matches = { $0.genre == genre && $0.year == year }
    case 4:
      name = "first by year"
      query = { $0.where { $0.year >= year }.sorted(by: \.year) }
      matches = { $0.year >= year }
      precedes = { ($0.year, $0.id) < ($1.year, $1.id) }
      limit = dice.between(1, 50)
    case 5:
      name = "predicate"
      query = { $0.where(#Predicate<Library.Track> { $0.year == year && $0.plays > plays }) }
      matches = { $0.year == year && $0.plays > plays }
    default:
      name = "best of a year"
      query = { archive in
        archive.where { $0.year == year }
          .sorted(by: \.rating, .reverse)
      }
      matches = { $0.year == year }
      precedes = { $0.rating != $1.rating ? $0.rating > $1.rating : $0.id < $1.id }
      limit = dice.between(1, 50)
    }
  }

  func ask(_ archive: Archive<Library.Track>) throws -> [Library.Track] {
    let query = query(archive)
    return try (limit == .max ? query : query.limit(limit)).results()
  }

  /// Compares a result with what was recorded before it was asked for and by when it was there.
  func check(
    _ found: [Library.Track], _ before: TrackModel.State, _ after: TrackModel.State,
    onlySettled: Bool = false
  ) {
    for track in found {
      expect(
        track == Track(track.id, track.version), "An element is read as it was recorded",
        "\(name): \(track)")
      expect(matches(track), "A query returns what its filters say", "\(name): \(track)")
      if onlySettled && !Library.isSettled(track.id) { continue }
      expect(
        (before.done[track.id]...after.begun[track.id]).contains(track.version),
        "A query sees everything that was written before it began", "\(name): \(track)")
    }
    for (one, next) in zip(found, found.dropFirst()) where precedes?(one, next) == false {
      broken("Results are sorted", "\(name): \(one) comes before \(next)")
    }
    expect(found.count <= limit, "A limit is one", "\(name): \(found.count) of \(limit)")
    let last = found.count < limit ? nil : found.last
    let ids = Set(found.map(\.id))
    expect(ids.count == found.count, "A result comes once", name)
    for case let track? in before.tracks where matches(track) {
      // Changed meanwhile, it may be there or not; and so may what comes after the last.
      let id = track.id
      if after.begun[id] != before.done[id] || ids.contains(id) { continue }
      if let last, precedes?(last, track) == true { continue }
      broken("A query returns all that its filters say", "\(name): \(track) is missing")
    }
  }
}
