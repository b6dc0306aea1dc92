// SPDX-License-Identifier: Apache-2.0
// A connection as bytes: read and written by the socket itself, or by TLS above the socket (security.hpp).
// Thread rules: open() comes first, by one thread. Then one thread reads and one writes at the same time; shut_down(), objection() and
// measured() from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "baton/os/tcp_socket.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link::stream {

class Wire {
 public:
  virtual ~Wire() = default;
  /// The handshake before the first byte, if there is one. Errors: timed_out, system (the other side has closed the connection),
  /// protocol_violation (the text says why the other side is refused, and follows "it is not connected:").
  virtual Result<void> open(std::chrono::milliseconds timeout) = 0;
  /// True once read() would return at once.
  virtual bool wait_readable(std::chrono::milliseconds timeout) = 0;
  /// Bytes that came, into the parts in their order; at least one. Error system: the connection is broken or closed.
  virtual Result<std::size_t> read(const os::IoPart* parts, std::size_t count) = 0;
  /// Writes all parts, at most os::TcpSocket::kMaxParts. Waits while the other side reads nothing.
  virtual Result<void> write(const os::IoPart* parts, std::size_t count) = 0;
  /// Limits how many of the written bytes the kernel keeps unsent. By the writing thread.
  virtual void keep_unsent(std::size_t bytes) = 0;
  /// As os::TcpSocket::mark().
  virtual void mark(std::uint8_t code_point) = 0;
  /// Ends the connection, and the calls that wait in it.
  virtual void shut_down() = 0;
  virtual const std::string& address() const = 0;
  virtual bool encrypted() const = 0;
  /// The subject of the other side's certificate, as RFC 2253 writes it. Empty: it has shown none. After open().
  virtual std::string certificate() const { return {}; }
  /// Whether the other side may say that it is the host `id`. Without a certificate everyone may. After open().
  virtual bool may_be(const transport::Gid& id) const {
    static_cast<void>(id);
    return true;
  }
  /// Why the other side would not be let in any more; empty: it would, or open() has not ended yet. Any thread, at any time.
  virtual std::string objection() const { return {}; }
  virtual os::TcpSocket::Measured measured() const = 0;
};

/// Bytes as they are.
class PlainWire : public Wire {
 public:
  explicit PlainWire(std::shared_ptr<os::TcpSocket> socket) : socket_(std::move(socket)) {}
  Result<void> open(std::chrono::milliseconds) override { return {}; }
  bool wait_readable(std::chrono::milliseconds timeout) override { return socket_->wait_readable(timeout); }
  Result<std::size_t> read(const os::IoPart* parts, std::size_t count) override {
    Result<std::size_t> got = socket_->read(parts, count);
    if (got && *got == 0) return Error{Errc::system, "the other end has closed the connection"};
    return got;
  }
  Result<void> write(const os::IoPart* parts, std::size_t count) override { return socket_->write(parts, count); }
  void keep_unsent(std::size_t bytes) override { socket_->keep_unsent(bytes); }
  void mark(std::uint8_t code_point) override { socket_->mark(code_point); }
  void shut_down() override { socket_->shut_down(); }
  const std::string& address() const override { return socket_->address(); }
  bool encrypted() const override { return false; }
  os::TcpSocket::Measured measured() const override { return socket_->measured(); }

 private:
  const std::shared_ptr<os::TcpSocket> socket_;
};

/// Unsent bytes that the kernel keeps of a connection at most: a part, so that a small chunk waits for one part of a big one.
inline constexpr std::size_t kUnsentBytes = std::size_t{256} << 10;

}  // namespace baton::link::stream
