// SPDX-License-Identifier: Apache-2.0
// What a program sends to a link with security. The first byte of the input chooses: (even) the rest comes in place of a handshake; (odd) a
// client with a certificate makes the handshake, and then sends the rest: as records of TLS, whose sizes and key updates the input chooses,
// and at last a raw piece that is no record of TLS.
//
// Checked besides memory safety: (1) calls return; (2) what comes out is what the client has sent in records, in order and whole, before
// anything that is none.
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
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

/// The client. Returns what it has sent in records.
std::vector<std::uint8_t> attack(int fd, SSL_CTX* context, const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> sent;
  SSL* const ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  if (SSL_connect(ssl) == 1) {
    while (size > 1) {
      const std::uint8_t choice = data[0];
      const std::size_t now = std::min<std::size_t>(size - 1, choice & 0x3F);
      if ((choice & 0xC0) == 0xC0) {  // no TLS any more
        ::send(fd, data + 1, size - 1, MSG_NOSIGNAL);
        break;
      }
      if ((choice & 0x40) != 0)
        SSL_key_update(ssl, (choice & 0x80) != 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
      if (now > 0 && SSL_write(ssl, data + 1, static_cast<int>(now)) == static_cast<int>(now))
        sent.insert(sent.end(), data + 1, data + 1 + now);
      data += 1 + now;
      size -= 1 + now;
    }
  }
  SSL_free(ssl);
  ::shutdown(fd, SHUT_WR);
  return sent;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Ends ends;
  if (size == 0) return 0;
  size = std::min<std::size_t>(size, 16384);  // a socket takes so much without a reader
  int fds[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  const auto wire = ends.security->wire(std::make_shared<os::TcpSocket>(os::UniqueFd(fds[0]), 0), false);
  std::vector<std::uint8_t> sent, got;
  std::thread client;
  if (data[0] % 2 == 0) {
    ::send(fds[1], data + 1, size - 1, MSG_NOSIGNAL);
    ::shutdown(fds[1], SHUT_WR);
  } else {
    client = std::thread([&] { sent = attack(fds[1], ends.client, data + 1, size - 1); });
  }
  const Result<void> opened = wire->open(milliseconds(10000));
  require(!opened || data[0] % 2 == 1);
  std::array<std::uint8_t, 100> bytes;
  for (;;) {
    const os::IoPart parts[2] = {{bytes.data(), 7}, {bytes.data() + 7, bytes.size() - 7}};
    const Result<std::size_t> read = opened ? wire->read(parts, 2) : Result<std::size_t>(opened.error());
    if (!read) break;
    got.insert(got.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(*read));
  }
  static_cast<void>(wire->objection());
  wire->shut_down();
  if (client.joinable()) client.join();
  require(!opened || got == sent);
  ::close(fds[1]);
  return 0;
}
