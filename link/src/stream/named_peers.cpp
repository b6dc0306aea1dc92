// SPDX-License-Identifier: Apache-2.0
#include "named_peers.hpp"

#include <algorithm>
#include <utility>

#include "baton/os/clock.hpp"

namespace baton::link::stream {

Result<NamedPeer> parse_peer(const std::string& text, std::uint16_t port) {
  const Error wrong{Errc::invalid_argument, "peer '" + text + "' is no HOST or HOST:PORT ([ADDRESS]:PORT for IPv6)"};
  NamedPeer out{text, text, port};
  std::string tail;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) return wrong;
    out.host = text.substr(1, end - 1);
    tail = text.substr(end + 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    out.host = text.substr(0, text.find(':'));
    tail = text.substr(text.find(':'));
  }
  if (!tail.empty()) {
    const std::string digits = tail.substr(1);
    if (tail[0] != ':' || digits.empty() || digits.size() > 5 ||
        digits.find_first_not_of("0123456789") != std::string::npos || std::stoul(digits) == 0 ||
        std::stoul(digits) > 65535)
      return wrong;
    out.port = static_cast<std::uint16_t>(std::stoul(digits));
  }
  if (out.host.empty() || out.host.find_first_of(" /\t\n") != std::string::npos) return wrong;
  return out;
}

void NamedPeers::add(NamedPeer peer) {
  const os::Lock lock(mutex_);
  Calls& calls = calls_.emplace_back();
  calls.state = {peer.text, os::monotonic_ns(), {}};
  calls.peer = std::move(peer);
}

std::size_t NamedPeers::size() const {
  const os::Lock lock(mutex_);
  return calls_.size();
}

NamedPeer NamedPeers::peer(std::size_t index) const {
  const os::Lock lock(mutex_);
  return calls_[index].peer;
}

void NamedPeers::note(std::size_t index, bool reached, const std::string& why, const Gid& host) {
  const os::Lock lock(mutex_);
  Calls& calls = calls_[index];
  if (calls.reached && !reached) calls.state.since_ns = os::monotonic_ns();
  calls.reached = reached;
  calls.state.why = why;
  calls.host = host;
}

void NamedPeers::set_addresses(std::size_t index, std::vector<std::string> addresses) {
  const os::Lock lock(mutex_);
  calls_[index].addresses = std::move(addresses);
}

std::set<ListenAddress> NamedPeers::places() const {
  std::set<ListenAddress> out;
  const os::Lock lock(mutex_);
  for (const Calls& calls : calls_)
    for (const std::string& address : calls.addresses) out.emplace(address, calls.peer.port);
  return out;
}

bool NamedPeers::is_at(const std::string& address) const {
  const os::Lock lock(mutex_);
  return std::any_of(calls_.begin(), calls_.end(), [&](const Calls& each) {
    return std::count(each.addresses.begin(), each.addresses.end(), address) != 0;
  });
}

std::vector<NamedPeers::Calls> NamedPeers::all() const {
  const os::Lock lock(mutex_);
  return calls_;
}

}  // namespace baton::link::stream
