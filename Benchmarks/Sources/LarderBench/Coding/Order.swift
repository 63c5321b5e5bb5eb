// SPDX-License-Identifier: MIT
import Foundation

/// A document as shops exchange them: five types, three levels, about 1.2 KB of JSON.
struct Order: Codable, Equatable, Sendable {
  var id: UUID
  var number: Int
  var placed: Date
  var shipped: Date?
  var paid: Bool
  var customer: Customer
  var billing: Address
  var delivery: Address?
  var lines: [Line]
  var tags: [String]
  var note: String?
  var discount: Double?

  struct Customer: Codable, Equatable, Sendable {
    var id: Int
    var name: String
    var email: String
    var phone: String?
    var since: Date
    var isBusiness: Bool
  }

  struct Address: Codable, Equatable, Sendable {
    var street: String
    var extra: String?
    var city: String
    var postcode: String
    var country: String
    var coordinate: Coordinate?
  }

  struct Coordinate: Codable, Equatable, Sendable {
    var latitude: Double
    var longitude: Double
  }

  struct Line: Codable, Equatable, Sendable {
    var sku: String
    var title: String
    var quantity: Int
    var cents: Int
    var weight: Double
    var options: [String: String]
  }
}

extension Order {
  static let sample = Order(
    id: UUID(
      uuid: (
        0x0f, 0x6e, 0x3c, 0x52, 0x9b, 0x14, 0x4d, 0x7a, 0x8e, 0x21, 0xc4, 0xd0, 0x5b, 0x97, 0xaa,
        0x13
      )),
    number: 2_026_118_305, placed: Date(timeIntervalSinceReferenceDate: 784_112_403.25),
    shipped: nil, paid: true,
    customer: Customer(
      id: 48_213, name: "Grete Müller-Łukasiewicz", email: "grete@shop.example", phone: nil,
      since: Date(timeIntervalSinceReferenceDate: 512_000_000), isBusiness: false),
    billing: Address(
      street: "Lange Straße 17", extra: "3. Stock", city: "Göttingen", postcode: "37073",
      country: "DE", coordinate: nil),
    delivery: Address(
      street: "Am Alten Bahnhof 4", extra: nil, city: "Freiburg im Breisgau", postcode: "79098",
      country: "DE", coordinate: Coordinate(latitude: 47.99609, longitude: 7.84142)),
    lines: [
      Line(
        sku: "JAR-0750-CL", title: "Preserving jar, clear glass, 750 ml", quantity: 12, cents: 349,
        weight: 0.412, options: ["lid": "swing top", "seal": "natural rubber"]),
      Line(
        sku: "LBL-A7-WHT", title: "Labels, white, washable", quantity: 2, cents: 495,
        weight: 0.065, options: [:]),
      Line(
        sku: "FUN-STEEL-11", title: "Wide-mouth funnel, stainless steel, 11 cm", quantity: 1,
        cents: 1_290, weight: 0.138, options: ["finish": "brushed"]),
      Line(
        sku: "BOOK-PICKLE", title: "The Quiet Art of Pickling", quantity: 1, cents: 2_400,
        weight: 0.87, options: ["language": "en", "binding": "hardcover", "gift": "wrapped"]),
    ],
    tags: ["web", "returning", "gift", "newsletter-2026-11"],
    note: "Please ring twice and leave the parcel with the neighbours if nobody answers.",
    discount: 0.05)
}
