// SPDX-License-Identifier: MIT

import Foundation

/// Python's cbor2, which knows nothing of us.
///
/// Python is that of the environment variable `LARDER_TEST_PYTHON`, or else `python3` on the path.
enum CBORPeer {
  /// The Python that has cbor2; nil if there is none.
  static let python: [String]? = {
    let wanted = ProcessInfo.processInfo.environment["LARDER_TEST_PYTHON"] ?? ""
    let command = wanted.isEmpty ? ["/usr/bin/env", "python3"] : [wanted]
    // A Python that cannot be started is one that is not there.
    let answer = try? run(command + ["-c", "import cbor2; print('ready')"], input: Data())
    return answer.map { String(decoding: $0, as: UTF8.self).contains("ready") } == true
      ? command : nil
  }()

  static let absence: String =
    "Python with the package cbor2 is not there: install it, or set LARDER_TEST_PYTHON to one."

  /// Something for Python to do.
  enum Job {
    /// Read bytes, and compare them with the value of an expression.
    case compare(Data, String)
    /// Write the value of an expression, with these arguments for `cbor2.dumps`.
    case dump(String, String)
    /// Read bytes and write them again in canonical form.
    case canonical(Data)

    fileprivate var fields: [String] {
      switch self {
      case .compare(let bytes, let expression): ["compare", bytes.hex, expression]
      case .dump(let expression, let options): ["dump", expression, options]
      case .canonical(let bytes): ["canonical", bytes.hex]
      }
    }
  }

  /// Does all jobs in one process.
  ///
  /// - Returns: For each what Python answered: an empty string if a comparison holds and what it
  ///   has found otherwise, or bytes in hexadecimal digits.
  static func run(_ jobs: [Job]) throws -> [String] {
    guard let python else { throw CocoaError(.fileNoSuchFile) }
    let input = try JSONEncoder().encode(jobs.map(\.fields))
    let output = try run(python + ["-c", script], input: input)
    return try JSONDecoder().decode([String].self, from: output)
  }

  private static func run(_ command: [String], input: Data) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    let (inward, outward) = (Pipe(), Pipe())
    process.standardInput = inward
    process.standardOutput = outward
    process.standardError = FileHandle.nullDevice
    try process.run()
    // All of the input is read before there is any output, so neither waits for the other.
    try inward.fileHandleForWriting.write(contentsOf: input)
    try inward.fileHandleForWriting.close()
    let output = try outward.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return output
  }

  /// Numbers and booleans are equal in Python, and NaN equals nothing: types are compared too.
  private static let script = """
    import sys, json, math, cbor2
    from datetime import datetime, timedelta, timezone
    from decimal import Decimal
    from uuid import UUID
    from cbor2 import CBORTag, CBORSimpleValue, undefined

    utc = timezone.utc
    names = dict(globals())

    def same(a, b):
        if type(a) is not type(b):
            return False
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(map(same, a, b))
        if isinstance(a, dict):
            if len(a) != len(b):
                return False
            keys = {(type(k), k): (k, v) for k, v in a.items()}
            return all(
                (type(k), k) in keys and same(keys[(type(k), k)][1], v) for k, v in b.items())
        if isinstance(a, float):
            return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
        if isinstance(a, CBORTag):
            return a.tag == b.tag and same(a.value, b.value)
        return a == b

    def do(job):
        try:
            if job[0] == "compare":
                found = cbor2.loads(bytes.fromhex(job[1]))
                wanted = eval(job[2], names)
                return "" if same(found, wanted) else repr(found)
            if job[0] == "dump":
                return cbor2.dumps(
                    eval(job[1], names), **eval("dict(" + job[2] + ")", names)).hex()
            return cbor2.dumps(cbor2.loads(bytes.fromhex(job[1])), canonical=True).hex()
        except Exception as error:
            return "error: " + repr(error)

    json.dump([do(job) for job in json.load(sys.stdin)], sys.stdout)
    """
}
