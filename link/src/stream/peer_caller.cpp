// SPDX-License-Identifier: Apache-2.0
#include "peer_caller.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "baton/os/process.hpp"
#include "serving_thread.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using Level = transport::Diagnostic::Level;

constexpr milliseconds kCallPause{500};    // between two calls of a peer
constexpr milliseconds kAnswer{1000};      // a line that was down may have lost the call's first packet
constexpr milliseconds kLongAnswer{5000};  // every fourth call, for lines with a long delay
constexpr milliseconds kSelfPause{10000};

}  // namespace

Result<void> PeerCaller::start() {
  for (std::size_t index = 0; index < peers_.size(); ++index) {
    Result<pthread_t> thread = os::start_thread("baton-link-call", kNetworkStackBytes, [this, index] { call(index); });
    if (!thread) return thread.error();
    threads_.push_back(*thread);
  }
  return {};
}

void PeerCaller::join() {
  for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void PeerCaller::call(std::size_t index) {
  const NamedPeer peer = peers_.peer(index);
  Gid known{};
  bool warned = false;
  os::TcpPlace from;
  from.interface = interface_;
  for (int tries = 0; !stop_.stopped();) {
    if (known == greeter_.own().host) {
      stop_.pause(kSelfPause);  // a name of this host, which may later name another host
      known = {};
      continue;
    }
    const std::shared_ptr<Session> session = table_.find(known);
    if (session && !session->disconnected_since()) {
      peers_.note(index, true, {}, known);
      stop_.pause(kCallPause);
      continue;
    }
    std::vector<std::string> addresses;
    Result<std::unique_ptr<os::TcpSocket>> socket =
        os::tcp_connect(peer.host, peer.port, from, ++tries % 4 == 0 ? kLongAnswer : kAnswer, kUnsentBytes,
                        StopSignal::stopped_of, &stop_, &addresses);
    const auto is_public = std::find_if_not(addresses.begin(), addresses.end(), os::is_local_range);
    if (!greeter_.secured() && !warned && is_public != addresses.end()) {
      warned = true;
      say_(About::kSecurity, Level::kWarning, Errc{},
           "peer '" + peer.host + "' has the public address " + *is_public +
               ", and this link has no --security: whoever is on the way can read and change what travels");
    }
    peers_.set_addresses(index, std::move(addresses));
    if (socket) {
      std::string why;
      known = greeter_.serve(
          std::move(*socket), ConnectionOrigin::kCalled, "peer '" + peer.host + "'",
          [&] { peers_.note(index, true, {}, known); }, why);
      peers_.note(index, known == greeter_.own().host, why.empty() ? "the connection has ended" : why, known);
    } else if (!stop_.stopped()) {
      peers_.note(index, false, socket.error().message, known);
      say_(About::kPeers, Level::kInfo, socket.error().code,
           "peer '" + peer.host + ":" + std::to_string(peer.port) + "' is not reached: " + socket.error().message +
               "; trying again");
    }
    stop_.pause(kCallPause);
  }
}

}  // namespace baton::link::stream
