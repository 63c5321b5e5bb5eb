// SPDX-License-Identifier: MIT

public import LarderCore

/// The code of the `LarderError` that `body` throws; nil if it throws none or another error.
public func errorCode<R>(of body: () throws -> R) -> LarderError.Code? {
  error(of: body)?.code
}

/// The `LarderError` that `body` throws; nil if it throws none or another error.
public func error<R>(of body: () throws -> R) -> LarderError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? LarderError
  }
}
