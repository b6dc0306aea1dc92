// SPDX-License-Identifier: Apache-2.0
// Several hubs in one process: discovery, frames, timers, orderly ends. Hostile peers: hub_hostile_test.cpp; real processes:
// hub_processes_test.cpp.
#include "hub.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/unix_socket.hpp"
#include "handshake.hpp"
#include "hub_test_support.hpp"

namespace baton::transport {
namespace {

os::SharedFd memory() {
  return std::make_shared<os::UniqueFd>(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

TEST(Hub, TwoMeetInEitherOrderAndKnowEachOther) {
  const TemporaryDirectory directory;
  TestHub a(directory, "first");
  TestHub b(directory, "second");
  ASSERT_TRUE(a.recorder.has_peers(1));
  ASSERT_TRUE(b.recorder.has_peers(1));
  EXPECT_TRUE(a.recorder.eventually([&](const Recorder& r) {
    const PeerInfo& info = r.up_.begin()->second;
    return info.name == "second" && info.pid == ::getpid() && info.uid == ::geteuid() &&
           info.process_id == b.hub->process_id() && info.version == kProtocolVersion;
  }));
  EXPECT_EQ(a.hub->peer_count(), 1U);
  EXPECT_EQ(directory.names().size(), 2U);
}

TEST(Hub, ManyThatStartAtOnceMeetExactlyOnceEach) {
  const TemporaryDirectory directory;
  constexpr std::size_t kHubs = 24;
  std::vector<std::unique_ptr<TestHub>> hubs(kHubs);
  std::vector<std::thread> starters;
  for (auto& hub : hubs) starters.emplace_back([&hub, &directory] { hub = std::make_unique<TestHub>(directory); });
  for (std::thread& starter : starters) starter.join();
  for (auto& hub : hubs) EXPECT_TRUE(hub->recorder.has_peers(kHubs - 1)) << hub->hub->peer_count();
  for (auto& hub : hubs) {
    EXPECT_TRUE(hub->recorder.eventually([](const Recorder& r) { return r.ups_ == kHubs - 1 && r.downs_.empty(); }))
        << hub->recorder.all_diagnostics();
  }
}

// As many announce dozens of endpoints when they start.
TEST(Hub, WhatAllAreToldWaitsForMoreAndArrivesInOrder) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  TestHub b(directory);
  ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  const PeerId to_b = a.recorder.only_peer();
  std::promise<void> began, go_on;
  a.hub->post([&] {  // nothing is sent by a timer meanwhile
    began.set_value();
    go_on.get_future().wait();
  });
  began.get_future().wait();
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint8_t i = 0; i < 20; ++i) a.hub->send_soon(to_b, 0x100, {i}, 8);
  a.hub->send(to_b, 0x101, {20});
  // A frame waits for 1 ms at least: if this thread stood still for longer, some went alone.
  const bool in_time = std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1);
  ASSERT_TRUE(
      b.recorder.eventually([](const Recorder& r) { return !r.frames_.empty() && r.frames_.back().type == 0x101; }));
  const auto sends = [&](std::uint8_t last, auto send) {
    const std::size_t before = b.recorder.frames_.size();
    a.hub->send_soon(to_b, 0x100, {0}, 8);  // at once, or it waits
    a.hub->send_soon(to_b, 0x100, {last}, 8);
    send();
    EXPECT_TRUE(b.recorder.eventually([&](const Recorder& r) { return r.frames_.back().payload.back() == last; }));
    EXPECT_LE(b.recorder.frames_.size(), before + 2);
  };
  sends(21, [&] { a.hub->send_waiting(to_b); });
  sends(22, [&] { go_on.set_value(); });
  std::vector<std::size_t> sizes;
  std::vector<std::uint8_t> bytes;
  for (const Frame& frame : b.recorder.frames_) {
    sizes.push_back(frame.payload.size());
    bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  }
  if (in_time) {
    sizes.resize(5);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 8, 8, 3, 1}));
  }
  for (std::uint8_t i = 0; i < 21; ++i) EXPECT_EQ(bytes[i], i);
  EXPECT_EQ(bytes.size(), 25U);
}

TEST(Hub, OneOfTwoThatReadEachOthersNamesConnectsFirst) {
  const ProcessId low{1}, high{2};
  for (const std::int64_t later : {5, 6, 7}) {  // before, in and after the tick of the other
    EXPECT_NE(connects_first(low, later, high, 6), connects_first(high, 6, low, later)) << later;
    EXPECT_EQ(connects_first(low, later, high, 6),
              later >= 6);  // the younger one: the older one may not have read its name
  }
}

TEST(Hub, OnesOfDifferentDomainsDoNotMeet) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a", 1);
  TestHub b(directory, "b", 2);
  TestHub c(directory, "c", 2);
  ASSERT_TRUE(b.recorder.has_peers(1));
  ASSERT_TRUE(c.recorder.has_peers(1));
  EXPECT_EQ(a.hub->peer_count(), 0U);
  EXPECT_EQ(a.hub->domain(), 1);
}

TEST(Hub, FramesArriveInOrderWithTheirDescriptors) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  TestHub b(directory);
  ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  const PeerId to_b = a.recorder.only_peer();
  constexpr std::size_t kFrames = 500;
  for (std::size_t i = 0; i < kFrames; ++i) {
    std::vector<os::SharedFd> fds;
    for (std::size_t n = 0; n < i % (kMaxFrameFds + 1); ++n) fds.push_back(memory());
    a.hub->send(to_b, static_cast<std::uint16_t>(kFirstUserFrame + i),
                std::vector<std::uint8_t>(i, static_cast<std::uint8_t>(i)), std::move(fds));
  }
  ASSERT_TRUE(b.recorder.has_frames(kFrames)) << b.recorder.all_diagnostics();
  EXPECT_TRUE(b.recorder.eventually([&](const Recorder& r) {
    for (std::size_t i = 0; i < kFrames; ++i) {
      const Frame& frame = r.frames_[i];
      if (frame.type != kFirstUserFrame + i || frame.payload.size() != i || frame.fds.size() != i % (kMaxFrameFds + 1))
        return false;
      for (const os::ReceivedFd& fd : frame.fds) {
        struct stat status {};
        if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
      }
    }
    return r.frames_.size() == kFrames;
  }));
}

TEST(Hub, TheLargestFrameTravelsInParts) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  TestHub b(directory);
  ASSERT_TRUE(a.recorder.has_peers(1));
  std::vector<std::uint8_t> payload(kMaxPayloadBytes);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  for (int i = 0; i < 3; ++i) a.hub->send(a.recorder.only_peer(), 0x200, payload, {memory()});
  ASSERT_TRUE(b.recorder.has_frames(3));
  EXPECT_TRUE(b.recorder.eventually(
      [&](const Recorder& r) { return r.frames_[2].payload == payload && r.frames_[2].fds.size() == 1; }));
}

TEST(Hub, SendersOnManyThreadsDoNotMixTheirFrames) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  TestHub b(directory);
  ASSERT_TRUE(a.recorder.has_peers(1));
  const PeerId peer = a.recorder.only_peer();
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 4;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kEach; ++i) {
        a.hub->send(peer, static_cast<std::uint16_t>(kFirstUserFrame + t),
                    std::vector<std::uint8_t>(40000, static_cast<std::uint8_t>(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(b.recorder.has_frames(kThreads * kEach)) << a.recorder.all_diagnostics();
  EXPECT_TRUE(b.recorder.eventually([&](const Recorder& r) {
    std::map<std::uint16_t, std::uint8_t> next;
    for (const Frame& frame : r.frames_) {
      if (frame.payload != std::vector<std::uint8_t>(40000, next[frame.type]++)) return false;
    }
    return true;
  }));
}

TEST(Hub, AnOrderlyEndIsToldAndLeavesNothingBehind) {
  const TemporaryDirectory directory;
  TestHub a(directory, "stays");
  {
    TestHub b(directory, "leaves");
    ASSERT_TRUE(a.recorder.has_peers(1));
    ASSERT_TRUE(b.recorder.has_peers(1));
  }
  ASSERT_TRUE(a.recorder.has_peers(0));
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) {
    return r.downs_.at(0).code == Errc::disconnected && r.downs_.at(0).message.find("'leaves'") != std::string::npos &&
           r.downs_.at(0).message.find("left") != std::string::npos;
  }));
  EXPECT_EQ(directory.names().size(), 1U);
  a.hub.reset();
  EXPECT_TRUE(directory.names().empty());
  EXPECT_EQ(a.recorder.all_diagnostics(), "");
}

TEST(Hub, WhatWasSentBeforeTheEndStillArrives) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  auto b = std::make_unique<TestHub>(directory);
  ASSERT_TRUE(a.recorder.has_peers(1) && b->recorder.has_peers(1));
  for (int i = 0; i < 10; ++i) b->hub->send(b->recorder.only_peer(), 0x100, {1, 2, 3});
  b.reset();
  ASSERT_TRUE(a.recorder.has_peers(0));
  EXPECT_TRUE(a.recorder.has_frames(10));
}

TEST(Hub, AnErrorOfTheHandlerEndsThatConnectionOnly) {
  const TemporaryDirectory directory;
  TestHub a(directory, "victim");
  TestHub b(directory, "good");
  TestHub c(directory, "bad");
  ASSERT_TRUE(a.recorder.has_peers(2) && b.recorder.has_peers(2) && c.recorder.has_peers(2));
  PeerId victim = 0;
  ASSERT_TRUE(c.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) {
      if (info.name == "victim") victim = id;
    }
    return victim != 0;
  }));
  c.hub->send(victim, Recorder::kRejected, {});
  EXPECT_TRUE(a.recorder.has_peers(1));
  EXPECT_TRUE(a.recorder.has_diagnostic(Errc::protocol_violation, "process 'bad'"));
  EXPECT_TRUE(a.recorder.has_diagnostic(Errc::protocol_violation, "nobody likes")) << a.recorder.all_diagnostics();
  EXPECT_TRUE(c.recorder.has_diagnostic(Errc::protocol_violation, "refuses this process"))
      << c.recorder.all_diagnostics();
  EXPECT_TRUE(b.recorder.has_peers(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(a.hub->peer_count(), 1U) << "a violator does not come back";
}

TEST(Hub, ADisconnectedPeerStaysAway) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  TestHub b(directory, "b");
  ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  a.hub->disconnect(a.recorder.only_peer(), {Errc::malformed_message, "its message is broken"});
  ASSERT_TRUE(a.recorder.has_peers(0) && b.recorder.has_peers(0));
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.downs_.at(0).code == Errc::malformed_message; }));
  EXPECT_TRUE(b.recorder.has_diagnostic(Errc::protocol_violation, "its message is broken"));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(a.hub->peer_count(), 0U);
  EXPECT_EQ(b.hub->peer_count(), 0U);
}

TEST(Hub, PostedFunctionsAndTimersRunInOrderOnTheBackgroundThread) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  std::promise<std::vector<int>> done;
  auto order = std::make_shared<std::vector<int>>();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(a.hub->on_background_thread());
  a.hub->post([&] {  // which schedules, so that it comes first however late it is
    order->push_back(a.hub->on_background_thread() ? 1 : -1);
    const auto now = std::chrono::steady_clock::now();
    a.hub->schedule(now + std::chrono::milliseconds(60), [&] {
      order->push_back(3);
      done.set_value(*order);
    });
    const TimerId cancelled = a.hub->schedule(now + std::chrono::milliseconds(30), [&] { order->push_back(99); });
    a.hub->schedule(now + std::chrono::milliseconds(20), [&, cancelled] {
      order->push_back(a.hub->on_background_thread() ? 2 : -1);
      a.hub->cancel(cancelled);
    });
  });
  EXPECT_EQ(done.get_future().get(), (std::vector<int>{1, 2, 3}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(60));
  a.hub->cancel(12345);
}

/// Whether the thread of this process that `id` will name comes to sleep (proc_pid_stat(5)).
bool eventually_asleep(const std::atomic<pid_t>& id) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
    std::string stat;
    if (id != 0 && std::getline(file, stat) && stat.compare(stat.rfind(')') + 1, 2, " S") == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Hub, StopWaitsForTheRunningCallbackWhichMayUseTheHubAndDropsTheRest) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  std::promise<void> inside;
  std::promise<void> go_on;
  std::atomic<bool> finished{false};
  std::atomic<bool> late{false};
  const auto run_late = [&] { late = true; };
  a.hub->post([&] {
    inside.set_value();
    go_on.get_future().get();
    a.hub->post(run_late);
    a.hub->schedule(std::chrono::steady_clock::now(), run_late);
    a.hub->send(7, 0x100, {1});
    finished = true;
  });
  inside.get_future().get();
  std::atomic<pid_t> stopping{0};
  std::thread stopper([&] {
    stopping = ::gettid();
    a.hub->stop();
  });
  EXPECT_TRUE(eventually_asleep(stopping)) << "stop() waits";
  EXPECT_FALSE(finished);
  go_on.set_value();
  stopper.join();
  EXPECT_TRUE(finished);
  a.hub->post(run_late);
  a.hub->stop();
  EXPECT_TRUE(directory.names().empty());
  a.hub.reset();
  EXPECT_FALSE(late);
}

TEST(Hub, MayBeDestroyedOnItsOwnThread) {
  const TemporaryDirectory directory;
  TestHub a(directory);
  TestHub b(directory);
  ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  std::promise<void> gone;
  a.hub->post([&] {
    a.hub.reset();
    gone.set_value();
  });
  gone.get_future().get();
  EXPECT_TRUE(b.recorder.has_peers(0));
  for (int i = 0; i < 6000 && directory.names().size() != 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(directory.names().size(), 1U);
}

TEST(Hub, ThatWasNeverStartedLeavesNothing) {
  const TemporaryDirectory directory;
  Recorder recorder;
  HubOptions options;
  options.domain = 0;
  options.runtime_directory = directory.path();
  auto hub = Hub::create(options, recorder);
  ASSERT_TRUE(hub) << hub.error().message;
  (*hub)->post([] { ADD_FAILURE(); });
  (*hub)->send(1, 0x100, {});
  hub->reset();
  EXPECT_TRUE(directory.names().empty());
}

TEST(Hub, WorksInADirectoryWhosePathIsLongerThanASocketAddress) {
  const TemporaryDirectory directory;
  std::string deep = directory.path();
  for (int i = 0; i < 10; ++i) deep += "/a-directory-with-a-long-name";
  std::filesystem::create_directories(deep);
  ASSERT_GT(deep.size(), 200U);
  Recorder ra;
  Recorder rb;
  HubOptions options;
  options.domain = 0;
  options.runtime_directory = deep;
  auto a = Hub::create(options, ra);
  auto b = Hub::create(options, rb);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE((*a)->start().ok() && (*b)->start().ok());
  EXPECT_TRUE(ra.has_peers(1) && rb.has_peers(1));
}

TEST(Hub, SweepsTheNamesOfTheDeadAndLeavesStrangersFilesAlone) {
  const TemporaryDirectory directory;
  const std::string domain = directory.path() + "/0";
  { TestHub a(directory); }
  // A dead process's socket: bound, listened on, closed.
  const std::string dead = domain + "/p-000102030405060708090a0b0c0d0e0f";
  const std::string file = domain + "/p-ff0102030405060708090a0b0c0d0e0f";
  {
    os::UniqueFd listener;
    const auto opened = os::open_directory(-1, domain);
    ASSERT_EQ(os::listen_at(opened.fd.get(), domain, "p-000102030405060708090a0b0c0d0e0f", 0600, ~0U, listener),
              os::IoStatus::kDone);
  }
  ASSERT_TRUE(std::filesystem::exists(dead));
  std::fclose(std::fopen(file.c_str(), "w"));
  std::fclose(std::fopen((domain + "/notes.txt").c_str(), "w"));
  TestHub b(directory);
  TestHub c(directory);
  ASSERT_TRUE(b.recorder.has_peers(1) && c.recorder.has_peers(1));
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(std::filesystem::exists(domain + "/notes.txt"));
  EXPECT_EQ(b.recorder.all_diagnostics(), "");
}

// The life line. Both hubs live in this process, so nobody dies here: hub_processes_test.cpp and disconnected_test.cpp kill.

TEST(LifeLine, APeerThatLeavesIsGoneAtOnceIfItClaimsNothing) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  a.recorder.holding_ = true;
  {
    TestHub b(directory, "b");
    ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  }
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.downs_.size() == 1 && r.disconnected_.empty(); }));
}

TEST(LifeLine, APeerThatLeavesWithAClaimIsGoneOnceTheClaimEnds) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  a.recorder.holding_ = true;
  std::shared_ptr<const void> claim;
  {
    TestHub b(directory, "b");
    ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
    claim = b.hub->claim(b.recorder.only_peer());
    ASSERT_TRUE(claim);
  }
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.downs_.size() == 1; }));
  std::shared_ptr<const void> copy = claim;
  claim.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.disconnected_.size() == 1; }));
  copy.reset();
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.disconnected_.empty(); }));
}

TEST(LifeLine, NobodyWaitsForTheEndOfAPeerThatHoldsNothing) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  std::shared_ptr<const void> claim;
  {
    TestHub b(directory, "b");
    ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
    claim = b.hub->claim(b.recorder.only_peer());
  }
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.downs_.size() == 1 && r.disconnected_.empty(); }));
}

TEST(LifeLine, OfAPeerThatIsNotConnectedThereIsNoClaim) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  EXPECT_FALSE(a.hub->claim(1));
  EXPECT_FALSE(a.hub->claim(12345));
}

TEST(LifeLine, BothSidesOfAnEndedConnectionMayClaimAndTheyComeUpAgainMeanwhile) {
  const TemporaryDirectory directory;
  TestHub a(directory, "a");
  TestHub b(directory, "b");
  a.recorder.holding_ = b.recorder.holding_ = true;
  ASSERT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  std::shared_ptr<const void> of_a = a.hub->claim(a.recorder.only_peer());
  std::shared_ptr<const void> of_b = b.hub->claim(b.recorder.only_peer());
  // More than may wait for a peer at once: the connection ends, and begins anew.
  const std::vector<std::uint8_t> payload(kMaxPayloadBytes);
  const PeerId before = a.recorder.only_peer();
  for (int i = 0; i < 1000 && a.recorder.only_peer() == before; ++i) a.hub->send(before, 0x100, payload);
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.downs_.size() == 1 && r.up_.size() == 1; }));
  EXPECT_TRUE(b.recorder.eventually([](const Recorder& r) { return r.downs_.size() == 1 && r.up_.size() == 1; }));
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.disconnected_.size() == 1; }));
  of_a.reset();
  EXPECT_TRUE(b.recorder.eventually([](const Recorder& r) { return r.disconnected_.empty(); }));
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.disconnected_.size() == 1; }));
  of_b.reset();
  EXPECT_TRUE(a.recorder.eventually([](const Recorder& r) { return r.disconnected_.empty(); }));
}

}  // namespace
}  // namespace baton::transport
