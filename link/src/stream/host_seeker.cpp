// SPDX-License-Identifier: Apache-2.0
#include "host_seeker.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "baton/os/process.hpp"
#include "host_limits.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Level = transport::Diagnostic::Level;

constexpr milliseconds kTurn{200};
constexpr milliseconds kAnswer{1000};
/// The pause between two checks whether the host of an id is at another address than the host that is connected with this id.
constexpr std::chrono::seconds kLookAgain{5};
/// An administratively scoped address (RFC 2365): routers keep it inside a site. Hosts announce themselves with this period.
constexpr const char* kGroup = "239.255.66.84";
constexpr milliseconds kPresence{1000};
constexpr int kRefreshEvery = 5;  // of these
/// Hosts that are called at the same time because they announced themselves.
constexpr std::size_t kMostCalls = 32;
constexpr std::size_t kMostCallsOfAddress = 4;

}  // namespace

Result<void> HostSeeker::start() {
  Result<os::Multicast> multicast =
      os::Multicast::open(kGroup, default_port(static_cast<int>(greeter_.own().domain)), interface_);
  if (!multicast) return multicast.error();
  multicast_.emplace(std::move(*multicast));
  Result<pthread_t> thread = os::start_thread("baton-link-seek", kNetworkStackBytes, [this] { seek(); });
  if (!thread) return thread.error();
  seeking_ = *thread;
  return {};
}

void HostSeeker::join() {
  if (seeking_) pthread_join(*seeking_, nullptr);
  for (Call& each : calling_) each.thread.join();
  calling_.clear();
}

void HostSeeker::seek() {
  const std::array<std::byte, kHelloBytes> presence = encode(greeter_.own());
  auto next = steady_clock::now(), next_look = next;
  std::size_t before = 1;
  for (int said = 0; !stop_.stopped();) {
    if (steady_clock::now() >= next) {
      const std::size_t interfaces = said++ % kRefreshEvery == 0 ? multicast_->refresh() : before;
      if (std::exchange(before, interfaces) != 0 && interfaces == 0) {
        say_(About::kNetwork, Level::kInfo, Errc{},
             "no network interface can multicast now: other hosts are found by --peer alone");
      }
      multicast_->send(presence.data(), presence.size());
      next = steady_clock::now() + kPresence;
    }
    calling_.remove_if([](Call& each) {
      if (!each.thread.done()) return false;
      each.thread.join();
      return true;
    });
    std::array<std::byte, kHelloBytes> bytes;
    const std::optional<os::Multicast::Packet> packet = multicast_->receive(bytes.data(), bytes.size(), kTurn);
    if (!packet || packet->size != bytes.size()) continue;
    const Result<HostHello> hello = decode_hello(bytes.data());
    // A host of another version or domain is ignored.
    if (!hello || !greeter_.objection(*hello).empty() || hello->host == greeter_.own().host || hello->port == 0)
      continue;
    const SessionTable::Reach reach = table_.reach_of(hello->host, packet->address);
    if (reach == SessionTable::Reach::kThere) continue;
    if (reach == SessionTable::Reach::
                     kElsewhere) {  // or another host has come with its id, and keeps this host from being called
      if (steady_clock::now() < next_look) continue;
      next_look = steady_clock::now() + kLookAgain;
    }
    const bool called = std::any_of(calling_.begin(), calling_.end(), [&](const Call& each) {
      return each.host == hello->host && each.address == packet->address;
    });
    // A thread that has received a hello serves its connection.
    std::size_t strangers = 0, of_address = 0;
    for (const Call& each : calling_) {
      if (each.greeted->load(std::memory_order_relaxed)) continue;
      ++strangers;
      if (each.address == packet->address) ++of_address;
    }
    if (!called && strangers < kMostCalls && of_address < kMostCallsOfAddress && calling_.size() < kMostHosts)
      call_once(*hello, packet->address,
                reach == SessionTable::Reach::kElsewhere ? ConnectionOrigin::kLook : ConnectionOrigin::kCalled);
  }
}

void HostSeeker::call_once(const HostHello& hello, const std::string& address, ConnectionOrigin way) {
  auto greeted = std::make_shared<std::atomic<bool>>(false);
  Result<ServingThread> thread =
      ServingThread::start("baton-link-call", [this, greeted, address, way, port = hello.port, name = hello.name] {
        os::TcpPlace from;
        from.interface = interface_;
        Result<std::unique_ptr<os::TcpSocket>> socket =
            os::tcp_connect(address, port, from, kAnswer, kUnsentBytes, StopSignal::stopped_of, &stop_);
        if (socket) {
          std::string why;
          greeter_.serve(
              std::move(*socket), way, "host '" + name + "'", [&] { greeted->store(true, std::memory_order_relaxed); },
              why);
        } else if (!stop_.stopped()) {
          say_(About::kPeers, Level::kWarning, socket.error().code,
               "host '" + name + "' says that it is there, and is not reached: " + socket.error().message +
                   "; trying again (is its TCP port " + std::to_string(port) + " open?)");
        }
      });
  if (thread) calling_.push_back({std::move(*thread), hello.host, address, std::move(greeted)});
}

}  // namespace baton::link::stream
