// SPDX-License-Identifier: Apache-2.0
// Which of two processes connects, and when. The hubs have no threads: the test takes each step of theirs.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/os/directory.hpp"
#include "baton/os/unix_socket.hpp"
#include "hub_impl.hpp"
#include "hub_test_support.hpp"

namespace baton::transport {

struct HubInside {
  using Impl = Hub::Impl;
};

namespace {

/// A hub that is visible, and reads the directory when the test says so.
struct StillHub {
  explicit StillHub(const TemporaryDirectory& directory) {
    HubOptions options;
    options.domain = 0;
    options.runtime_directory = directory.path();
    options.idle_time = std::chrono::hours(1);
    impl = std::make_shared<HubInside::Impl>(options, recorder);
    impl->prepare().or_throw();
    const os::Lock lock(impl->mutex());
    impl->publish_name().or_throw();
    EXPECT_TRUE(impl->poller.add(impl->listener.get(), kListenerToken));
  }
  /// Handles what has come. False: nothing had.
  bool step() {
    std::vector<os::Poller::Event> events;
    impl->poller.wait(Clock::now(), events).or_throw();
    for (const os::Poller::Event& event : events) {
      if (event.token == kListenerToken) {
        impl->on_listener();
      } else {
        impl->on_readable(event.token / 4);
      }
    }
    return !events.empty();
  }
  std::set<ProcessId> connected_to() const {
    std::set<ProcessId> found;
    const os::Lock lock(impl->mutex());
    for (const auto& [id, link] : impl->links)
      if (link->initiator) found.insert(link->process);
    return found;
  }

  Recorder recorder;
  std::shared_ptr<HubInside::Impl> impl;
};

TEST(HubDiscovery, EachPairOfThirtyThatReadAllNamesConnectsOnce) {
  constexpr std::size_t kHubs = 30;
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<StillHub>> hubs;
  while (hubs.size() < kHubs) hubs.push_back(std::make_unique<StillHub>(directory));
  for (const auto& hub : hubs) hub->impl->scan(false);
  std::set<std::pair<ProcessId, ProcessId>> pairs;
  std::size_t connects = 0;
  for (const auto& hub : hubs) {
    for (const ProcessId& other : hub->connected_to()) {
      ++connects;
      pairs.insert(std::minmax(hub->impl->self, other));
    }
  }
  EXPECT_EQ(pairs.size(), kHubs * (kHubs - 1) / 2);
  EXPECT_EQ(connects, pairs.size());
  for (bool busy = true; busy;) {
    busy = false;
    for (const auto& hub : hubs) busy = hub->step() || busy;
  }
  for (const auto& hub : hubs) {
    EXPECT_EQ(hub->recorder.ups_, kHubs - 1) << hub->recorder.all_diagnostics();
    EXPECT_EQ(hub->impl->next_link, kHubs) << "more links than other processes, which began with 1";
    for (const auto& [process, route] : hub->impl->routes) EXPECT_EQ(route.retry, 0U) << "it would connect again";
  }
}

TEST(HubDiscovery, AProcessThatDoesNotComeByItselfIsConnectedToAfterItsTurn) {
  const TemporaryDirectory directory;
  { const StillHub makes_the_directory(directory); }
  const std::string path = directory.path() + "/0";
  const auto opened = os::open_directory(-1, path);
  const auto listen = [&](const ProcessId& process) {
    os::UniqueFd listener;
    EXPECT_EQ(os::listen_at(opened.fd.get(), path, name_of(process), 0600, ~0U, listener), os::IoStatus::kDone);
    return listener;
  };
  const auto is_called = [](const os::UniqueFd& listener) {
    os::UniqueFd socket;
    return os::accept_one(listener.get(), socket) == os::IoStatus::kDone;
  };
  // The ids decide if the kernel's clock has not moved between two names.
  ProcessId low{}, lower{}, high{};
  low.fill(1);
  lower.back() = 1;
  high.fill(0xff);
  const os::UniqueFd older = listen(high);
  StillHub hub(directory);
  const os::UniqueFd younger = listen(low), youngest = listen(lower);
  hub.impl->scan(false);
  hub.impl->scan(false);  // as after a lack of memory
  EXPECT_TRUE(is_called(older));
  EXPECT_FALSE(is_called(younger) || is_called(youngest)) << "it connects by itself, when it has read the directory";
  EXPECT_EQ(hub.connected_to(), std::set<ProcessId>{high});

  hub.impl->connect_to(lower);  // by another cause: the timer goes
  EXPECT_TRUE(is_called(youngest));
  EXPECT_EQ(hub.impl->routes[lower].retry, 0U);

  hub.impl->run_timers(Clock::now() + std::chrono::milliseconds(2001));
  EXPECT_TRUE(is_called(younger));
  EXPECT_FALSE(is_called(younger) || is_called(youngest) || is_called(older)) << "once is enough";
  EXPECT_EQ(hub.connected_to(), (std::set<ProcessId>{high, low, lower}));
}

TEST(HubDiscovery, NobodyWaitsForAProcessWhoseNameIsOfTheFutureOrWithoutATime) {
  const TemporaryDirectory directory;
  StillHub hub(directory);
  const ProcessId other{};
  const std::int64_t now = os::realtime_ns();
  EXPECT_FALSE(hub.impl->comes_by_itself(other, now + 60'000'000'000, now));
  EXPECT_FALSE(hub.impl->comes_by_itself(other, now, 0));
  EXPECT_TRUE(hub.impl->timers.empty());
  EXPECT_TRUE(hub.impl->comes_by_itself(other, now, now)) << "of two names of one time the greater id waits";
  EXPECT_EQ(hub.impl->timers.size(), 1U);
}

}  // namespace
}  // namespace baton::transport
