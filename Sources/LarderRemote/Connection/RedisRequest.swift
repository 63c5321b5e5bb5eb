// SPDX-License-Identifier: MIT

#if Remote
  import NIOCore

  /// Commands under way, and who waits for the replies. Belongs to the connection's event loop.
  final class RedisRequest {
    let id: UInt64
    let bytes: ByteBuffer
    private let count: Int
    private var replies: [RemoteReply] = []
    /// nil once it was called.
    private var completion: ((Result<[RemoteReply], any Error>) -> Void)?
    /// Before the server got it.
    let begun = NIODeadline.now()
    /// When the connection is given up.
    var deadline = NIODeadline.distantFuture
    /// When the caller is not to wait any longer.
    var patience: Scheduled<Void>?

    init(
      _ id: UInt64, _ count: Int, _ bytes: ByteBuffer,
      _ completion: @escaping (Result<[RemoteReply], any Error>) -> Void
    ) {
      self.id = id
      self.count = count
      self.bytes = bytes
      self.completion = completion
      replies.reserveCapacity(count)
    }

    /// Adds the next reply.
    ///
    /// - Returns: Whether it was the last.
    func receive(_ reply: RemoteReply) -> Bool {
      replies.append(reply)
      if replies.count < count { return false }
      end(.success(replies))
      return true
    }

    /// Tells who waits, the first time.
    func end(_ result: Result<[RemoteReply], any Error>) {
      let completion = completion.take()
      completion?(result)
    }
  }
#endif
