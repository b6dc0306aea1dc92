// SPDX-License-Identifier: Apache-2.0
// What a program sends to a link with security. The first byte of the input chooses: (even) the rest comes in place of a handshake; (odd) a
// client with a certificate makes the handshake, and then sends the rest: as records of TLS, whose sizes and key updates the input chooses,
// and at last a raw piece that is no record of TLS.
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
  Client(int fd, SSL_CTX* context, const std::uint8_t* data, std::size_t size)
      : fd_(fd), data_(data), left_(size), ssl_(SSL_new(context)) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    SSL_set_fd(ssl_, fd);
    SSL_set_connect_state(ssl_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { SSL_free(ssl_); }
  void step() {
    ERR_clear_error();  // of the other end, which runs on the same thread
    if (ended_ || waits(SSL_do_handshake(ssl_))) return;
    while (!ended_ && !raw_ && SSL_is_init_finished(ssl_) == 1 && left_ > 1) {
      const std::uint8_t choice = data_[0];
      const std::size_t now = std::min<std::size_t>(left_ - 1, choice & 0x3F);
      if ((choice & 0xC0) == 0xC0) {  // no TLS any more
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
    while (raw_ && left_ > 0) {
      const ssize_t gone = ::send(fd_, data_, left_, MSG_NOSIGNAL);
      if (gone < 0 && errno == EAGAIN) return;
      if (gone < 0) break;
      data_ += gone;
      left_ -= static_cast<std::size_t>(gone);
    }
    ended_ = true;
    ::shutdown(fd_, SHUT_WR);
  }
  /// In records.
  const std::vector<std::uint8_t>& sent() const { return sent_; }

 private:
  bool waits(int result) const {
    if (result == 1) return false;
    const int why = SSL_get_error(ssl_, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
  }
  const int fd_;
  const std::uint8_t* data_;
  std::size_t left_;
  SSL* const ssl_;
  bool updated_ = false, raw_ = false, ended_ = false;
  std::vector<std::uint8_t> sent_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Ends ends;
  if (size == 0) return 0;
  size = std::min<std::size_t>(size, 16384);  // a socket takes so much without a reader
  int fds[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  const auto wire = ends.security->wire(std::make_shared<os::TcpSocket>(os::UniqueFd(fds[0]), 0), false);
  std::optional<Client> client;
  if (data[0] % 2 == 0) {
    ::send(fds[1], data + 1, size - 1, MSG_NOSIGNAL);
    ::shutdown(fds[1], SHUT_WR);
  } else {
    client.emplace(fds[1], ends.client, data + 1, size - 1);
  }
  // Without a time limit open() makes a step of the handshake.
  Result<void> opened = wire->open(milliseconds(client ? 0 : 10000));
  while (client && !opened && opened.error().code == Errc::timed_out) {
    client->step();
    opened = wire->open(milliseconds(0));
  }
  require(!opened || client);
  std::vector<std::uint8_t> got;
  std::array<std::uint8_t, 100> bytes;
  while (opened) {
    client->step();
    if (!wire->wait_readable(milliseconds(0))) continue;
    const os::IoPart parts[2] = {{bytes.data(), 7}, {bytes.data() + 7, bytes.size() - 7}};
    const Result<std::size_t> read = wire->read(parts, 2);
    if (!read) break;
    got.insert(got.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*read));
  }
  static_cast<void>(wire->objection());
  wire->shut_down();
  require(!opened || got == client->sent());
  client.reset();
  ::close(fds[1]);
  return 0;
}
