// SPDX-License-Identifier: Apache-2.0
// What a program sends to a link with security. The first byte of the input chooses: (even) the rest comes in place of a handshake; (odd) a
// client with a certificate sends the rest: as records of TLS, whose sizes and key updates the input chooses, and at last a raw piece that is
// no record of TLS. A handshake costs more than all the rest, so the next client goes on with a connection that has seen no raw piece; the
// second bit of the input asks for a handshake.
//
// Checked besides memory safety: (1) calls return; (2) what comes out is what the client has sent in records, in order and whole, before
// anything that is none.
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stream/certificates_test_support.hpp"
#include "stream/security.hpp"

namespace {

using namespace baton;
using namespace baton::link::stream;
using std::chrono::milliseconds;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Ends {
  const Authority authority{"fuzz"};
  const Enclave own{authority, "own"}, other{authority, "other"};
  std::unique_ptr<Security> security;
  SSL_CTX* const client = SSL_CTX_new(TLS_client_method());
  Ends() {
    auto made = make_security(own.directory(), [](bool, const std::string&) {});
    require(static_cast<bool>(made));
    security = std::move(*made);
    SSL_CTX_use_certificate_file(client, (other.directory() + "/cert.pem").c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(client, (other.directory() + "/key.pem").c_str(), SSL_FILETYPE_PEM);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
};

/// The client, which never waits: a step goes as far as the connection lets it.
class Client {
 public:
  Client(int fd, SSL_CTX* context) : fd_(fd), ssl_(SSL_new(context)) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    SSL_set_fd(ssl_, fd);
    SSL_set_connect_state(ssl_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    SSL_free(ssl_);
    ::close(fd_);
  }
  /// What the next steps send. The bytes must live until then.
  void give(const std::uint8_t* data, std::size_t size) {
    data_ = data;
    left_ = size;
    updated_ = false;
    sent_.clear();
  }
  void step() {
    ERR_clear_error();  // of the other end, which runs on the same thread
    if (ended_ || waits(SSL_do_handshake(ssl_))) return;
    for (std::uint8_t answer = 0; SSL_read(ssl_, &answer, 1) == 1;) {
    }
    while (!raw_ && SSL_is_init_finished(ssl_) == 1 && left_ > 1) {
      const std::uint8_t choice = data_[0];
      const std::size_t now = std::min<std::size_t>(left_ - 1, choice & 0x3F);
      if (choice >= 0xFC) {  // no TLS any more
        raw_ = true;
        ++data_;
        --left_;
        break;
      }
      if ((choice & 0x40) != 0 && !std::exchange(updated_, true))
        SSL_key_update(ssl_, (choice & 0x80) != 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
      if (now > 0) {
        const int written = SSL_write(ssl_, data_ + 1, static_cast<int>(now));
        if (waits(written)) return;
        if (written == static_cast<int>(now)) sent_.insert(sent_.end(), data_ + 1, data_ + 1 + now);
      }
      updated_ = false;
      data_ += 1 + now;
      left_ -= 1 + now;
    }
    if (!raw_) {
      left_ = 0;
      return;
    }
    while (left_ > 0) {
      const ssize_t gone = ::send(fd_, data_, left_, MSG_NOSIGNAL);
      if (gone < 0 && errno == EAGAIN) return;
      if (gone < 0) break;
      data_ += gone;
      left_ -= static_cast<std::size_t>(gone);
    }
    ended_ = true;
    ::shutdown(fd_, SHUT_WR);
  }
  /// All that was given is sent, and another input may follow.
  bool idle() const { return left_ == 0 && !raw_; }
  /// In records, of what was given last.
  const std::vector<std::uint8_t>& sent() const { return sent_; }

 private:
  bool waits(int result) const {
    if (result == 1) return false;
    const int why = SSL_get_error(ssl_, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
  }
  const int fd_;
  const std::uint8_t* data_ = nullptr;
  std::size_t left_ = 0;
  SSL* const ssl_;
  bool updated_ = false, raw_ = false, ended_ = false;
  std::vector<std::uint8_t> sent_;
};

/// Both ends after a handshake.
struct Connection {
  std::unique_ptr<Wire> wire;
  Client client;
  Connection(const Ends& ends, const int (&fds)[2])
      : wire(ends.security->wire(std::make_shared<os::TcpSocket>(os::UniqueFd(fds[0]), 0), false)),
        client(fds[1], ends.client) {
    // Without a time limit open() makes a step of the handshake.
    Result<void> opened = wire->open(milliseconds(0));
    while (!opened && opened.error().code == Errc::timed_out) {
      client.step();
      opened = wire->open(milliseconds(0));
    }
    require(static_cast<bool>(opened));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Ends ends;
  static std::optional<Connection> kept;
  if (size == 0) return 0;
  size = std::min<std::size_t>(size, 16384);  // a socket takes so much without a reader
  const bool handshake = data[0] % 2 != 0;
  int fds[2];
  if (!handshake || data[0] % 4 == 3 || !kept) require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  if (!handshake) {
    const auto wire = ends.security->wire(std::make_shared<os::TcpSocket>(os::UniqueFd(fds[0]), 0), false);
    ::send(fds[1], data + 1, size - 1, MSG_NOSIGNAL);
    ::shutdown(fds[1], SHUT_WR);
    require(!wire->open(milliseconds(10000)));
    static_cast<void>(wire->objection());
    wire->shut_down();
    ::close(fds[1]);
    return 0;
  }
  if (data[0] % 4 == 3 || !kept) {
    kept.reset();
    kept.emplace(ends, fds);
  }
  auto& [wire, client] = *kept;
  client.give(data + 1, size - 1);
  std::vector<std::uint8_t> got;
  std::array<std::uint8_t, 100> bytes;
  bool open = true;
  while (open) {
    client.step();
    if (!wire->wait_readable(milliseconds(0))) {
      if (client.idle()) break;
      continue;
    }
    const os::IoPart parts[2] = {{bytes.data(), 7}, {bytes.data() + 7, bytes.size() - 7}};
    const Result<std::size_t> read = wire->read(parts, 2);
    open = static_cast<bool>(read);
    if (open) got.insert(got.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*read));
  }
  require(got == client.sent());
  std::byte answer{};  // takes answers to key updates along
  const os::IoPart part{&answer, 1};
  if (!open || !wire->write(&part, 1)) {
    static_cast<void>(wire->objection());
    wire->shut_down();
    kept.reset();
  }
  return 0;
}
