// SPDX-License-Identifier: Apache-2.0
// The process that crash_matrix_test.cpp kills: it plays every role (publisher and subscription towards other processes and
// towards itself, late joiner, waiter, polled reader, short of memory, newcomer and host of a newcomer), so that it passes
// every crash point. BATON_CRASH_AT says where it ends. Exit status 0: it got through, the point was not passed often enough.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/os/crash_point.hpp"
#include "crash_test_support.hpp"
#include "hub.hpp"

namespace {

using namespace baton;             // NOLINT: a test program
using namespace baton::transport;  // NOLINT
using namespace baton::crash;      // NOLINT

struct Silent final : HubHandler {
  std::atomic<bool> met_own_process{false};  // seq_cst, as nothing here is hot
  void on_peer_up(PeerId, const PeerInfo& peer) override {
    if (peer.pid == ::getpid()) met_own_process = true;
  }
  void on_peer_down(PeerId, const Error&) override {}
  Result<void> on_frame(PeerId, Frame&&) override { return {}; }
};

/// The samples that it still holds when everything else of it has ended.
std::vector<TakenSample> run(const std::string& directory) {
  const auto participant = join(directory);
  const auto writer = make_writer(*participant, "from_victim", QoS(3).transient_local());
  const auto reader = make_reader(*participant, "to_victim", QoS(4).hold(3));
  WaitSet wait_set;
  wait_set.add(reader).or_throw();

  Silent silent;
  std::unique_ptr<Hub> second;
  std::vector<TakenSample> held;
  for (std::uint64_t i = 1; i <= 60; ++i) {
    static_cast<void>(publish(*writer, i));
    wait_set.wait(std::chrono::milliseconds(1)).or_throw();
    while (true) {
      Result<TakenSample> sample = reader->take();
      if (!sample || !*sample) break;
      held.push_back(std::move(*sample));
      if (held.size() > 2) held.erase(held.begin());
    }
    if (i == 20) {
      // A pair of its own that comes late and goes early, and a polled one.
      const auto own = make_reader(*participant, "from_victim", QoS(2).transient_local());
      static_cast<void>(own->pollable_fd());
      for (int round = 0; round < 20; ++round) {
        static_cast<void>(publish(*writer, i));
        ::usleep(500);
        static_cast<void>(own->take());
      }
    }
    if (i == 30) {
      // This publisher's subscription takes nothing, so its pool runs short and evicts.
      memory::PoolOptions pool;
      pool.slot_count = 8;
      pool.max_message_bytes = 1 << 20;
      const auto short_of_memory = make_writer(*participant, "unread", QoS(), pool);
      wait_for([&] { return short_of_memory->matched() > 0; }, std::chrono::seconds(2));
      for (int round = 0; round < 20; ++round) static_cast<void>(publish_growing(*short_of_memory, i, 100'000));
    }
    if (i == 40) {
      HubOptions options;
      options.domain = 0;
      options.runtime_directory = directory;
      second = std::move(Hub::create(options, silent)).or_throw();
      second->start().or_throw();
      // One of the two hubs of this process accepts the other, whoever of the survivors was faster.
      wait_for([&] { return silent.met_own_process.load(); });
    }
    if (i == 50) second.reset();
  }
  return held;
}

/// Once more as another participant, while the samples of the first keep its connections' claims; then they end.
void run_again(const std::string& directory, std::vector<TakenSample> held) {
  const auto participant = join(directory);
  const auto reader = make_reader(*participant, "to_victim", QoS(4).hold(3));
  wait_for([&] { return reader->matched() > 0; }, std::chrono::seconds(2));
  for (int round = 0; round < 3; ++round) {
    wait_for([&] { return reader->has_data(); }, std::chrono::seconds(2));
    static_cast<void>(reader->take());
    if (!held.empty()) held.pop_back();
  }
}

}  // namespace

int main(int, char** arguments) {
  ::alarm(40);
  run_again(arguments[1], run(arguments[1]));
  return 0;
}
