// SPDX-License-Identifier: MIT

/// Defects that a tier over a server could have. They are planted between the tier and its
/// connection, which behaves as if the tier had them, to show that they are found.
enum RemotePlant: String, CaseIterable, Sendable {
  /// What a machine writes it does not have tracked: `NOLOOP` ends that.
  case untrackedWrites = "noloop"
  /// What a server forgets or evicts to make room for a machine's own command it does not tell that
  /// machine: `NOLOOP` is on all the time.
  case untoldForgetting = "noloop-always"
  /// The end of a connection is not heard of.
  case deafToLoss = "no-flush"
  /// From some time on invalidations are lost, as with `REDIRECT`, while replies go on.
  case halfOfPair = "lost-half"
  /// What was loaded is stored whatever has become of the marker.
  case staleLoad = "stale-load"
  /// That a key is absent is remembered although it was written before that was heard.
  case staleAbsence = "stale-absence"
  /// What the next owner of a slot answers after `ASK`, which is not tracked, is kept.
  case keptAsk = "ask-kept"
  /// What is known of a slot's keys is kept when the slot moves, that they are absent above all.
  case movedAbsence = "moved-absence"
  /// Who owns a slot is compared, and not the epochs: it may have moved away and back.
  case slotThereAndBack = "slot-there-and-back"
  /// The server has nothing in place of a value that is too large.
  case noStandIn = "no-stand-in"
  /// Copies live for as long as if the entry did for ever.
  case immortalCopies = "immortal"
  /// Calls wait for as long as it takes.
  case endlessPatience = "no-timeout"

  /// Whether only a cluster shows it.
  var needsCluster: Bool {
    switch self {
    case .keptAsk, .movedAbsence, .slotThereAndBack: true
    case .untrackedWrites, .untoldForgetting, .deafToLoss, .halfOfPair, .staleLoad, .staleAbsence,
      .noStandIn, .immortalCopies, .endlessPatience:
      false
    }
  }
}
