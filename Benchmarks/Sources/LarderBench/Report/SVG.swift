// SPDX-License-Identifier: MIT
import Foundation

/// What the charts are drawn with.
enum SVG {
  static let ink = "#1f2328"
  static let grey = "#59636e"
  static let line = "#e4e7eb"
  static let ourColor = "#0b7a75"
  static let rivalColor = "#c3cad2"
  /// Darker than bars, for lines and the text beside them.
  static let rivalLineColor = "#7a8591"
  static let goalColor = "#d1570a"

  /// The first elements; "</svg>" is the last.
  static func head(_ title: String, width: Double, height: Double) -> [String] {
    [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(plain(width))\" "
        + "height=\"\(plain(height))\" viewBox=\"0 0 \(plain(width)) \(plain(height))\" "
        + "role=\"img\" font-family=\"-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, "
        + "sans-serif\" font-size=\"13\">",
      "<title>\(escape(title))</title>",
      "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#ffffff\"/>",
      text(title, x: 20, y: 34, size: 19, weight: 600),
    ]
  }

  static func text(
    _ text: String, x: Double, y: Double, size: Int = 13, weight: Int = 400, fill: String = ink,
    anchor: String = "start"
  ) -> String {
    "<text x=\"\(coordinate(x))\" y=\"\(coordinate(y))\" font-size=\"\(size)\" "
      + "font-weight=\"\(weight)\" fill=\"\(fill)\" text-anchor=\"\(anchor)\">"
      + "\(escape(text))</text>"
  }

  static func mark(_ met: Bool, x: Double, y: Double) -> String {
    text(
      met ? "✓" : "✗", x: x, y: y, size: 16, weight: 700, fill: met ? "#1a7f37" : "#c6262e",
      anchor: "middle")
  }

  /// Tenths of a pixel.
  static func coordinate(_ value: Double) -> Double { (value * 10).rounded() / 10 }

  private static func escape(_ text: String) -> String {
    text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;")
  }
}
