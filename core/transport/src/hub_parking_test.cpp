// SPDX-License-Identifier: Apache-2.0
// Links that are parked and opened again, among hubs of one process. With real processes: hub_processes_test.cpp.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/unix_socket.hpp"
#include "handshake.hpp"
#include "hub_test_support.hpp"
#include "parking.hpp"

namespace baton::transport {
namespace {

using namespace std::chrono_literals;

struct Domain {
  explicit Domain(std::size_t count, std::chrono::milliseconds idle_time = 5ms) {
    for (std::size_t i = 0; i < count; ++i)
      hubs.push_back(std::make_unique<TestHub>(directory, "hub" + std::to_string(i), 0, 5s, true, idle_time));
  }
  std::size_t parked(const TestHub& hub) {
    std::size_t found = 0;
    for (const PeerId peer : peers(hub)) found += hub.hub->is_parked(peer) ? 1 : 0;
    return found;
  }
  static std::vector<PeerId> peers(const TestHub& hub) {
    std::vector<PeerId> found;
    const_cast<Recorder&>(hub.recorder).eventually([&](const Recorder& r) {
      for (const auto& [peer, info] : r.up_) found.push_back(peer);
      return true;
    });
    return found;
  }
  template <class Condition>
  bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
  /// All have met, and each has links to its neighbours only.
  ::testing::AssertionResult rests() {
    const bool all = eventually([&] {
      return std::all_of(hubs.begin(), hubs.end(), [&](const auto& hub) {
        const std::size_t others = hubs.size() - 1;
        return hub->hub->peer_count() == others && parked(*hub) == others - std::min(others, 2 * kNeighbours);
      });
    });
    if (all) return ::testing::AssertionSuccess();
    ::testing::AssertionResult failed = ::testing::AssertionFailure();
    for (const auto& hub : hubs) failed << parked(*hub) << " of " << hub->hub->peer_count() << " parked; ";
    return failed << diagnostics();
  }
  std::string diagnostics() {
    std::string all;
    for (const auto& hub : hubs) all += hub->recorder.all_diagnostics();
    return all;
  }

  TemporaryDirectory directory;
  std::vector<std::unique_ptr<TestHub>> hubs;
};

TEST(HubParking, IdleProcessesKeepTheLinksOfTheirNeighboursOnly) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  for (const auto& hub : domain.hubs) {
    EXPECT_EQ(hub->recorder.ups_, 8U);
    EXPECT_TRUE(hub->recorder.downs_.empty());
  }
  EXPECT_EQ(domain.diagnostics(), "");
}

TEST(HubParking, AFrameToAParkedPeerOpensTheLinkAndTheLinkIsParkedAgain) {
  Domain domain(8);
  ASSERT_TRUE(domain.rests());
  TestHub& first = *domain.hubs[0];
  for (int round = 1; round <= 3; ++round) {
    for (const PeerId peer : Domain::peers(first)) first.hub->send(peer, 0x100, std::vector<std::uint8_t>(100000, 7));
    for (std::size_t i = 1; i < domain.hubs.size(); ++i)
      ASSERT_TRUE(domain.hubs[i]->recorder.has_frames(static_cast<std::size_t>(round)));
    ASSERT_TRUE(domain.rests());
  }
  for (const auto& hub : domain.hubs) EXPECT_TRUE(hub->recorder.downs_.empty());
  EXPECT_EQ(domain.diagnostics(), "");
}

// Frames of both sides at any moment of asking, parking and connecting again: each arrives, in order, and nobody is met twice.
TEST(HubParking, NoFrameIsLostOrRepeatedWhileLinksAreParkedAndOpened) {
  Domain domain(7);
  ASSERT_TRUE(domain.rests());
  constexpr std::uint32_t kFrames = 300;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < domain.hubs.size(); ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      TestHub& hub = *domain.hubs[i];
      const std::vector<PeerId> peers = Domain::peers(hub);
      for (std::uint32_t n = 0; n < kFrames; ++n) {
        for (const PeerId peer : peers) {
          hub.hub->send(
              peer, 0x100,
              {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(n), static_cast<std::uint8_t>(n >> 8)});
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 14000));  // about idle_time
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& hub : domain.hubs) {
    ASSERT_TRUE(hub->recorder.has_frames(kFrames * 6)) << domain.diagnostics();
    std::map<int, std::uint32_t> next;
    for (const Frame& frame : hub->recorder.frames_) {
      ASSERT_EQ(frame.payload.size(), 3U);
      EXPECT_EQ(frame.payload[1] + 256U * frame.payload[2], next[frame.payload[0]]++);
    }
    EXPECT_EQ(hub->recorder.frames_.size(), kFrames * 6);
    EXPECT_EQ(hub->recorder.ups_, 6U);
  }
  EXPECT_EQ(domain.diagnostics(), "");
}

TEST(HubParking, WhoLeavesIsForgottenByThoseWithAParkedLinkToo) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  for (std::size_t left = 8; left > 3; --left) {
    domain.hubs.erase(domain.hubs.begin() + 1);
    ASSERT_TRUE(domain.rests()) << left;
  }
}

TEST(HubParking, WhoJoinsMeetsAll) {
  Domain domain(7);
  ASSERT_TRUE(domain.rests());
  for (int i = 0; i < 3; ++i) {
    domain.hubs.push_back(std::make_unique<TestHub>(domain.directory, "late", 0, 5s, true));
    ASSERT_TRUE(domain.rests());
  }
  EXPECT_EQ(domain.diagnostics(), "");
}

// While processes announce much no link is parked, but some do so without end.
TEST(HubParking, ChangesWithoutEndPutParkingOffForAWhileOnly) {
  Domain domain(7);
  std::atomic<bool> over{false};
  std::thread changes([&] {
    for (; !over; std::this_thread::sleep_for(100us))
      for (const auto& hub : domain.hubs) hub->hub->note_change();
  });
  EXPECT_TRUE(domain.rests());
  over = true;
  changes.join();
}

TEST(HubParking, ChangesPutParkingOff) {
  Domain domain(7, 500ms);
  for (const auto& hub : domain.hubs) ASSERT_TRUE(hub->recorder.has_peers(6));
  auto last = std::chrono::steady_clock::now();
  const auto end = last + 2s;
  for (auto now = last; now < end; now = std::chrono::steady_clock::now()) {
    if (now - last > 500ms) GTEST_SKIP() << "this machine stood still";
    last = now;
    for (const auto& hub : domain.hubs) hub->hub->note_change();
    for (const auto& hub : domain.hubs) ASSERT_EQ(domain.parked(*hub), 0U);
    std::this_thread::sleep_for(1ms);
  }
}

/// A link to `hub` that keeps no rules.
os::UniqueFd connect_to(const Domain& domain, const TestHub& hub) {
  const std::string path = domain.directory.path() + "/0";
  const auto opened = os::open_directory(-1, path);
  os::UniqueFd socket;
  EXPECT_EQ(os::connect_at(opened.fd.get(), path, "p-" + os::hexadecimal(hub.hub->process_id()), socket),
            os::IoStatus::kDone);
  return socket;
}

TEST(HubParking, WhoCallsTheLivingGoneCostsABoundedNumberOfLinks) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  std::vector<ProcessId> all;
  for (const auto& hub : domain.hubs) all.push_back(hub->hub->process_id());
  const std::vector<std::uint8_t> lie = encode_gone(all);
  for (int i = 0; i < 30; ++i) {  // four of them are parked
    const os::UniqueFd liar = connect_to(domain, victim);
    EXPECT_EQ(os::send_packet(liar.get(), lie.data(), lie.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
    EXPECT_TRUE(os::readable_now(liar.get()) || domain.eventually([&] { return os::readable_now(liar.get()); }));
    ASSERT_TRUE(domain.rests());
  }
  EXPECT_TRUE(victim.recorder.eventually([](const Recorder& r) { return r.opens_ >= kMaxFalseAlarms - 3; }));
  // A few more: both sides may open a link at the same time. Without a bound 120 are opened.
  EXPECT_LE(victim.recorder.opens_, kMaxFalseAlarms + 8);
  for (const auto& hub : domain.hubs) EXPECT_TRUE(hub->recorder.downs_.empty()) << "nobody that lives is forgotten";
  EXPECT_EQ(domain.diagnostics(), "");
}

// A lie about a link that is not parked yet is looked into when it is parked.
TEST(HubParking, WhoCallsThoseWithALinkGoneCostsNoMoreLinks) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  std::vector<ProcessId> all;
  for (const auto& hub : domain.hubs) all.push_back(hub->hub->process_id());
  const std::vector<std::uint8_t> lie = encode_gone(all);
  std::size_t opened = 0;
  for (int i = 0; i < 30; ++i) {
    std::size_t before = 0;
    victim.recorder.eventually([&](const Recorder& r) { return before = r.opens_, true; });
    for (const PeerId peer : Domain::peers(victim)) victim.hub->send(peer, 0x100, {1});
    ASSERT_TRUE(victim.recorder.eventually([&](const Recorder& r) { return r.opens_ == before + 4; }));
    opened += 4;
    const os::UniqueFd liar = connect_to(domain, victim);
    EXPECT_EQ(os::send_packet(liar.get(), lie.data(), lie.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
    ASSERT_TRUE(domain.eventually([&] { return os::readable_now(liar.get()); }));
    ASSERT_TRUE(domain.rests());
  }
  // A few more: both sides may open a link at the same time. Without a bound for these lies 240 are opened.
  EXPECT_LE(victim.recorder.opens_, opened + kMaxFalseAlarms + kMostDoubtful + 8);
  for (const auto& hub : domain.hubs) EXPECT_TRUE(hub->recorder.downs_.empty());
}

/// HELLO of a process on the other side of the ring, whose link to `hub` is parked.
Hello hello_to(const Domain& domain, const TestHub& hub) {
  std::vector<ProcessId> ring;
  for (const auto& each : domain.hubs) ring.push_back(each->hub->process_id());
  std::sort(ring.begin(), ring.end());
  const auto place = std::find(ring.begin(), ring.end(), hub.hub->process_id()) - ring.begin();
  Hello hello;
  hello.process_id = ring[static_cast<std::size_t>(place + 4) % ring.size()];
  hello.process_id[8] ^= 1;
  hello.name = "raw";
  return hello;
}

/// The raw process that has said HELLO, as the hub knows it.
PeerId raw_peer(TestHub& hub, const os::UniqueFd& socket, const Hello& hello) {
  const std::vector<std::uint8_t> packet = encode_hello(hello);
  EXPECT_EQ(os::send_packet(socket.get(), packet.data(), packet.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  PeerId peer = 0;
  EXPECT_TRUE(hub.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) peer = info.name == hello.name ? id : peer;
    return peer != 0;
  }));
  return peer;
}

/// Reads packets until there is PARK.
bool park_comes(Domain& domain, const os::UniqueFd& socket) {
  std::vector<std::uint8_t> read(kMaxPacketBytes);
  return domain.eventually(
      [&] { return ::recv(socket.get(), read.data(), read.size(), MSG_DONTWAIT) > 0 && read[0] == kParkFrame; });
}

// The liar says it first, and has said too much else by the time at which the link is parked.
TEST(HubParking, ADeathThatALiarHasToldAsWellIsFound) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  const Hello hello = hello_to(domain, victim);
  const os::UniqueFd socket = connect_to(domain, victim);
  const PeerId dead = raw_peer(victim, socket, hello);
  ASSERT_TRUE(park_comes(domain, socket));
  const auto tell = [&](const std::vector<ProcessId>& called_gone) {
    const os::UniqueFd teller = connect_to(domain, victim);
    const std::vector<std::uint8_t> packet = encode_gone(called_gone);
    EXPECT_EQ(os::send_packet(teller.get(), packet.data(), packet.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
    EXPECT_TRUE(domain.eventually([&] { return os::readable_now(teller.get()); })) << "it has been read";
  };
  tell({hello.process_id});
  const pid_t honest = ::fork();
  if (honest == 0) {
    tell({hello.process_id});
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ::waitpid(honest, &status, 0);
  ASSERT_EQ(status, 0);
  std::vector<ProcessId> living;
  for (const auto& hub : domain.hubs) living.push_back(hub->hub->process_id());
  const auto all_alarms = [](const Recorder& r) { return r.opens_ >= kMaxFalseAlarms; };
  for (int i = 0; i < 1000 && !victim.recorder.eventually(all_alarms, 0s); ++i) {
    ASSERT_TRUE(domain.eventually([&] { return domain.parked(victim) == 4; }));
    tell(living);
  }
  ASSERT_TRUE(victim.recorder.eventually(all_alarms)) << "the liar's word counts no more";
  const std::vector<std::uint8_t> agreed = encode_bye(Bye::kParked, "");
  ASSERT_EQ(os::send_packet(socket.get(), agreed.data(), agreed.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  EXPECT_TRUE(victim.recorder.eventually([&](const Recorder& r) { return r.up_.count(dead) == 0; }));
}

// It may have parked the link meanwhile, and would not come back by itself.
TEST(HubParking, APeerThatIsGivenUpWhileItsAnswerToPARKIsOnItsWayIsMetAgain) {
  Domain domain(8);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  const Hello hello = hello_to(domain, victim);
  const std::string path = domain.directory.path() + "/0";
  const auto opened = os::open_directory(-1, path);
  os::UniqueFd listener, again;
  ASSERT_EQ(os::listen_at(opened.fd.get(), path, "raw", 0600, ~0U, listener), os::IoStatus::kDone);
  ASSERT_EQ(os::rename_name(opened.fd.get(), "raw", "p-" + os::hexadecimal(hello.process_id)), 0);
  const os::UniqueFd socket = connect_to(domain, victim);
  const PeerId peer = raw_peer(victim, socket, hello);
  ASSERT_TRUE(park_comes(domain, socket));
  while (victim.recorder.eventually([](const Recorder& r) { return r.downs_.empty(); }, 0s))
    victim.hub->send(peer, 0x100, std::vector<std::uint8_t>(200'000));
  EXPECT_TRUE(domain.eventually([&] { return os::accept_one(listener.get(), again) == os::IoStatus::kDone; }));
}

// Its PARK had no room among the frames that it had not read yet.
TEST(HubParking, APeerThatDidNotReadIsAskedToParkWhenItHasRead) {
  Domain domain(8);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  victim.recorder.set_need(HubHandler::Need::kConnections);
  const os::UniqueFd socket = connect_to(domain, victim);
  const PeerId peer = raw_peer(victim, socket, hello_to(domain, victim));
  for (int i = 0; i < 6; ++i) victim.hub->send(peer, 0x100, std::vector<std::uint8_t>(100'000));  // more than fits
  victim.recorder.set_need(HubHandler::Need::kNone);
  std::size_t before = 0;
  victim.recorder.eventually([&](const Recorder& r) { return before = r.looks_, true; });
  victim.hub->send(peer, 0x100, {1});
  // It has looked at the idle link, and the next look is after the one whose PARK had no room.
  ASSERT_TRUE(victim.recorder.eventually([&](const Recorder& r) { return r.looks_ >= before + 2; }));
  EXPECT_TRUE(park_comes(domain, socket));
}

/// For as long as it lives, this process can open no descriptor.
struct NoFreeDescriptor {
  NoFreeDescriptor() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int lowest = ::dup(2);
    ::close(lowest);
    const rlimit low{static_cast<rlim_t>(lowest), before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
  }
  ~NoFreeDescriptor() { ::setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

TEST(HubParking, AShortageOfDescriptorsParksTheLinksThatAreIdleNow) {
  Domain domain(9, std::chrono::hours(1));
  const auto all_met = [&] {
    return std::all_of(domain.hubs.begin(), domain.hubs.end(),
                       [](const auto& hub) { return hub->hub->peer_count() == 8; });
  };
  ASSERT_TRUE(domain.eventually(all_met));
  TestHub& victim = *domain.hubs[0];
  EXPECT_EQ(domain.parked(victim), 0U) << "none is idle for an hour";
  const std::string path = domain.directory.path() + "/0/p-" + os::hexadecimal(victim.hub->process_id());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  EXPECT_TRUE(domain.eventually([&] {  // until they have been idle for a moment
    const os::UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const NoFreeDescriptor shortage;
    (void)::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd answer{client.get(), POLLIN, 0};
    (void)::poll(&answer, 1, 50);  // it is told that there is no descriptor, unless a link has just ended
    return domain.parked(victim) == 4;
  }));
  for (const auto& hub : domain.hubs) EXPECT_TRUE(hub->recorder.downs_.empty());
  EXPECT_TRUE(victim.recorder.has_diagnostic(Errc::out_of_descriptors));
}

TEST(HubParking, AnotherProcessThatTakesTheIdOfAParkedOneIsRefused) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  ProcessId taken{};
  victim.recorder.eventually([&](const Recorder& r) {
    for (const auto& [peer, info] : r.up_)
      if (victim.hub->is_parked(peer)) taken = info.process_id;
    return true;
  });
  const pid_t thief = ::fork();
  if (thief == 0) {
    Hello hello;
    hello.process_id = taken;
    hello.name = "thief";
    const std::vector<std::uint8_t> packet = encode_hello(hello);
    const os::UniqueFd socket = connect_to(domain, victim);
    (void)os::send_packet(socket.get(), packet.data(), packet.size(), nullptr, 0, nullptr, 0);
    std::array<std::uint8_t, 256> answer{};
    for (int i = 0; i < 6000 && !os::readable_now(socket.get()); ++i) std::this_thread::sleep_for(10ms);
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
    ::_exit(got > 8 && answer[0] == kByeFrame && answer[8] == static_cast<std::uint8_t>(Bye::kDuplicate) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(thief, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(domain.rests());
  for (const auto& hub : domain.hubs) EXPECT_TRUE(hub->recorder.downs_.empty());
}

PeerId some_parked(TestHub& hub, ProcessId& process) {
  PeerId found = 0;
  hub.recorder.eventually([&](const Recorder& r) {
    for (const auto& [peer, info] : r.up_) {
      if (!hub.hub->is_parked(peer)) continue;
      found = peer;
      process = info.process_id;
    }
    return true;
  });
  return found;
}

TEST(HubParking, AStoppedPeerThatIsGivenUpWhileItsLinkIsParkedIsMetAnewByBoth) {
  std::mutex gate;  // outlives the hub that waits for it
  Domain domain(8);
  ASSERT_TRUE(domain.rests());
  TestHub& giver = *domain.hubs[0];
  ProcessId stopped{};
  const PeerId peer = some_parked(giver, stopped);
  TestHub* const other = std::find_if(domain.hubs.begin(), domain.hubs.end(), [&](const auto& each) {
                           return each->hub->process_id() == stopped;
                         })->get();
  {
    const std::lock_guard<std::mutex> closed(gate);
    other->hub->post([&gate] { const std::lock_guard<std::mutex> passed(gate); });  // as if it were stopped
    while (giver.recorder.eventually([](const Recorder& r) { return r.downs_.empty(); }, 0s)) {
      giver.hub->send(peer, 0x100, std::vector<std::uint8_t>(200000));
      std::this_thread::sleep_for(100ms);
    }
  }
  for (TestHub* each : {&giver, other})
    EXPECT_TRUE(each->recorder.eventually([](const Recorder& r) { return r.ups_ == 8 && r.downs_.size() == 1; }))
        << each->recorder.ups_ << " ups, " << each->recorder.downs_.size() << " downs; " << domain.diagnostics();
  EXPECT_TRUE(domain.rests());
}

// Each holds samples of the other, so neither sees the end of the socket.
TEST(HubParking, TwoProcessesThatGiveEachOtherUpAtOnceMeetAgain) {
  std::mutex gate;  // outlives the hubs that wait for it
  Domain domain(8);
  ASSERT_TRUE(domain.rests());
  TestHub& one = *domain.hubs[0];
  ProcessId id{};
  const PeerId two_at_one = some_parked(one, id);
  TestHub& two = **std::find_if(domain.hubs.begin(), domain.hubs.end(),
                                [&](const auto& each) { return each->hub->process_id() == id; });
  PeerId one_at_two = 0;
  two.recorder.eventually([&](const Recorder& r) {
    for (const auto& [peer, info] : r.up_)
      if (info.process_id == one.hub->process_id()) one_at_two = peer;
    return true;
  });
  for (TestHub* each : {&one, &two}) each->recorder.set_need(HubHandler::Need::kConnections);
  one.hub->send(two_at_one, 0x100, {1});
  ASSERT_TRUE(two.recorder.has_frames(1));
  const std::shared_ptr<const void> of_two = one.hub->claim(two_at_one), of_one = two.hub->claim(one_at_two);
  {
    const std::lock_guard<std::mutex> closed(gate);
    for (TestHub* each : {&one, &two}) each->hub->post([&gate] { const std::lock_guard<std::mutex> passed(gate); });
    for (int i = 0; i < 30; ++i) {
      one.hub->send(two_at_one, 0x100, std::vector<std::uint8_t>(200'000));
      two.hub->send(one_at_two, 0x100, std::vector<std::uint8_t>(200'000));
    }
  }
  for (TestHub* each : {&one, &two})
    EXPECT_TRUE(each->recorder.eventually([](const Recorder& r) { return r.ups_ == 8 && r.downs_.size() == 1; }))
        << each->recorder.ups_ << " ups, " << each->recorder.downs_.size() << " downs; " << domain.diagnostics();
}

TEST(HubParking, AnotherProcessThatTakesTheNameOfAParkedOneGetsNothingOfIt) {
  Domain domain(9);
  ASSERT_TRUE(domain.rests());
  TestHub& victim = *domain.hubs[0];
  ProcessId taken{};
  const PeerId peer = some_parked(victim, taken);
  const std::string path = domain.directory.path() + "/0", name = "p-" + os::hexadecimal(taken);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t thief = ::fork();
  if (thief == 0) {
    const auto opened = os::open_directory(-1, path);
    os::UniqueFd listener, socket;
    if (os::listen_at(opened.fd.get(), path, "stolen", 0600, static_cast<std::uint32_t>(-1), listener) !=
        os::IoStatus::kDone)
      ::_exit(2);
    if (os::rename_name(opened.fd.get(), "stolen", name) != 0) ::_exit(3);
    (void)!::write(ready[1], "", 1);
    for (int i = 0; i < 6000 && os::accept_one(listener.get(), socket) != os::IoStatus::kDone; ++i)
      std::this_thread::sleep_for(10ms);
    std::array<std::uint8_t, 256> packet{};
    for (int i = 0; i < 6000 && !os::readable_now(socket.get()); ++i) std::this_thread::sleep_for(10ms);
    const ssize_t size = ::recv(socket.get(), packet.data(), packet.size(), 0);
    if (size < 16 || packet[0] != kHelloFrame) ::_exit(4);
    Hello hello;
    hello.process_id = taken;
    hello.name = "thief";
    std::memcpy(&hello.counts.received, &packet[static_cast<std::size_t>(size) - 16], 8);
    std::memcpy(&hello.counts.sent, &packet[static_cast<std::size_t>(size) - 8], 8);
    const std::vector<std::uint8_t> answer = encode_hello(hello);
    (void)os::send_packet(socket.get(), answer.data(), answer.size(), nullptr, 0, nullptr, 0);
    for (int i = 0; i < 6000 && !os::readable_now(socket.get()); ++i) std::this_thread::sleep_for(10ms);
    const ssize_t got = ::recv(socket.get(), packet.data(), packet.size(), 0);
    ::_exit(got > 8 && packet[0] == kByeFrame && packet[8] == static_cast<std::uint8_t>(Bye::kDuplicate) ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  victim.hub->send(peer, 0x100, {1, 2, 3});
  int status = 0;
  ::waitpid(thief, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(victim.recorder.has_diagnostic(Errc::protocol_violation, "has the name of another process"));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace baton::transport
