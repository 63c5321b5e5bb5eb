// SPDX-License-Identifier: MIT

import CZlib
import LarderCore

/// zlib counts the bytes of one call in 32 bits; a value may have more.
private let largestChunk = 1 << 30

/// Compresses one value.
enum DeflateStream {
  /// Makes a zlib stream of all bytes.
  ///
  /// - Returns: The length of the stream; nil if `target` is not longer than that.
  ///   One byte has to be left, without which zlib may not say that it is done.
  static func deflate(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer,
    level: CompressionLevel, chunk: Int = largestChunk
  ) throws(LarderError) -> Int? {
    var stream = z_stream()
    // Tables that are larger than the value would only cost the time to clear them.
    let bits = Int32(Int.bitWidth - (source.count + 262).leadingZeroBitCount)
    let window = min(15, max(9, bits))
    let memory = min(8, max(1, bits - 6))
    let status = deflateInit2_(
      &stream, level.rawValue, Z_DEFLATED, window, memory, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      throw LarderError(.encoding, "zlib could not begin to compress; its status is \(status).")
    }
    defer { deflateEnd(&stream) }
    let result = run(&stream, source, target, chunk) { CZlib.deflate($0, $1) }
    if result.written == target.count { return nil }
    if result.status == Z_STREAM_END { return result.written }
    throw LarderError(.encoding, "zlib could not compress; its status is \(result.status).")
  }
}

/// Restores one value.
enum InflateStream {
  /// Fills `target` from a zlib stream that has to end where `source` ends.
  static func inflate(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer,
    chunk: Int = largestChunk
  ) throws(LarderError) {
    var stream = z_stream()
    let status = inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      throw LarderError(.decoding, "zlib could not begin to decompress; its status is \(status).")
    }
    defer { inflateEnd(&stream) }
    let result = run(&stream, source, target, chunk) { CZlib.inflate($0, $1) }
    switch result.status {
    case Z_STREAM_END where result.written < target.count:
      throw Compression.damaged("they hold \(result.written) and claim \(target.count)")
    case Z_STREAM_END where result.read < source.count:
      throw Compression.damaged("\(source.count - result.read) follow behind their end")
    case Z_STREAM_END:
      return
    case Z_OK, Z_BUF_ERROR:
      throw result.read == source.count
        ? Compression.damaged("they are cut off")
        : Compression.damaged("they hold more than the \(target.count) that they claim")
    case Z_MEM_ERROR:
      throw LarderError(.decoding, "There is not enough memory to decompress.")
    default:
      throw Compression.damaged("zlib refuses them with \(result.status)")
    }
  }
}

/// Calls `step` until the stream ends, a buffer does, or it fails.
private func run(
  _ stream: inout z_stream, _ source: UnsafeRawBufferPointer,
  _ target: UnsafeMutableRawBufferPointer, _ chunk: Int,
  _ step: (UnsafeMutablePointer<z_stream>, Int32) -> Int32
) -> (status: Int32, read: Int, written: Int) {
  // zlib refuses a null pointer even where there is nothing to read or to write.
  var nothing: UInt8 = 0
  return withUnsafeMutablePointer(to: &nothing) { nothing in
    let input = UnsafeMutablePointer(
      mutating: source.bindMemory(to: UInt8.self).baseAddress ?? UnsafePointer(nothing))
    let output = target.bindMemory(to: UInt8.self).baseAddress ?? nothing
    var read = 0
    var written = 0
    while true {
      let inputs = min(chunk, source.count - read)
      let outputs = min(chunk, target.count - written)
      stream.next_in = input + read
      stream.avail_in = UInt32(inputs)
      stream.next_out = output + written
      stream.avail_out = UInt32(outputs)
      let isLast = read + inputs == source.count
      let status = step(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
      read += inputs - Int(stream.avail_in)
      written += outputs - Int(stream.avail_out)
      let isStuck = Int(stream.avail_in) == inputs && Int(stream.avail_out) == outputs
      guard status == Z_OK || status == Z_BUF_ERROR, !isStuck else {
        return (status, read, written)
      }
    }
  }
}
