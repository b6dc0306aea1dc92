// SPDX-License-Identifier: Apache-2.0
// What a program sends to the port of a link without security: the whole input, over a socket, to the greeter and the table of sessions. The
// program then closes its half of the connection.
//
// Checked besides memory safety: (1) the greeter returns; (2) it gets a session only by two hellos with the same id; (3) a hello that the
// program gets is one, and one without a session says why or is that of another version, domain or of this host.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "stream/host_greeter.hpp"

namespace {

using namespace baton;
using namespace baton::link;
using namespace baton::link::stream;

constexpr Gid kOwn{1};

void require(bool condition) {
  if (!condition) std::abort();
}

struct Listener final : HostListener {
  void joined(const Gid&) override { ++joins; }
  void connected(const Gid&, bool) override {}
  void gone(const Gid&) override {}
  int joins = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  size = std::min<std::size_t>(size, 16384);  // a socket takes so much without a reader
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  require(::send(ends[1], data, size, 0) == static_cast<ssize_t>(size));
  ::shutdown(ends[1], SHUT_WR);
  const auto listener = std::make_shared<Listener>();
  StopSignal stop;
  NamedPeers peers;
  Refusals refusals;
  const SayLine say = [](About, transport::Diagnostic::Level, Errc, const std::string& text) {
    require(!text.empty());
  };
  const auto no_call = [](const std::shared_ptr<Session>&, const ListenAddress&, std::uint64_t) {
    require(false);
    return std::string();
  };
  SessionTable table({}, std::chrono::seconds(1), listener, std::make_shared<ReceiverTable>(), say, no_call, peers,
                     stop);
  HostHello own;
  own.host = kOwn;
  own.name = "fuzzed";
  HostGreeter greeter(own, "", nullptr, say, table, refusals);
  std::string why;
  bool greeted = false;
  greeter.serve(
      std::make_shared<os::TcpSocket>(os::UniqueFd(ends[0]), 0), ConnectionOrigin::kTaken, "a program",
      [&] { greeted = true; }, why);
  require(greeted == (listener->joins == 1));
  const bool two = size >= 2 * kHelloBytes && std::memcmp(data, data + kHelloBytes, 32) == 0;
  require(!greeted || two);
  std::array<std::byte, kHelloBytes> answer;
  if (::recv(ends[1], answer.data(), answer.size(), MSG_DONTWAIT) == static_cast<ssize_t>(answer.size())) {
    const Result<HostHello> read = decode_hello(answer.data());
    require(read && read->host == kOwn);
    require(!greeted || read->session != 0);
  }
  ::close(ends[1]);
  stop.stop();
  greeter.shut_down();
  table.end();
  return 0;
}
