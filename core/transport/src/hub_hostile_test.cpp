// SPDX-License-Identifier: Apache-2.0
// A raw client, and a raw listener, that keep no rules. Whatever they do ends their own connection with a clear diagnostic;
// the hub goes on with everybody else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/unix_socket.hpp"
#include "handshake.hpp"
#include "hub_test_support.hpp"

namespace baton::transport {
namespace {

using Bytes = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

/// Descriptors end on several threads, and the hub opens some for a moment: what counts is that there are no more than `most` at once.
bool descriptors_come_to(std::size_t most) {
  for (int i = 0; i < 6000; ++i) {
    if (open_descriptors() <= most) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

ProcessId id_of(std::uint64_t number) {
  ProcessId id{};
  for (std::size_t i = 0; i < 8; ++i) id[i] = static_cast<std::uint8_t>(number >> (8 * i));
  id[15] = 0xEE;
  return id;
}

Bytes hello_of(std::uint64_t number, std::uint16_t version = kProtocolVersion) {
  Hello hello;
  hello.version = version;
  hello.pid = 1;
  hello.process_id = id_of(number);
  hello.name = "hostile";
  return encode_hello(hello);
}

class RawClient {
 public:
  RawClient(const TemporaryDirectory& directory, const ProcessId& hub) {
    const std::string path = directory.path() + "/0";
    const auto opened = os::open_directory(-1, path);
    EXPECT_EQ(os::connect_at(opened.fd.get(), path, "p-" + os::hexadecimal(hub), socket_), os::IoStatus::kDone);
  }
  bool send(const Bytes& bytes, const std::vector<int>& fds = {}) {
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    return ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0;
  }
  /// The next packet, waiting for it; empty at the end of file.
  Bytes receive() {
    Bytes bytes(kMaxPacketBytes);
    const int flags = ::fcntl(socket_.get(), F_GETFL);
    ::fcntl(socket_.get(), F_SETFL, flags & ~O_NONBLOCK);
    ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == ECONNRESET) got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  /// The reason of the BYE that ends the connection; 0 if it ends without.
  std::uint16_t bye() {
    for (;;) {
      const Bytes packet = receive();
      if (packet.empty()) return 0;
      if (packet.size() >= 10 && packet[0] == kByeFrame) return packet[8];
    }
  }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  os::UniqueFd socket_;
};

class HostilePeer : public ::testing::Test {
 protected:
  HostilePeer() : victim_(directory_, "victim", 0, std::chrono::seconds(60)), friend_(directory_, "friend") {}
  void SetUp() override { ASSERT_TRUE(victim_.recorder.has_peers(1) && friend_.recorder.has_peers(1)); }
  // After every test: the old friend is still there and a new one can come.
  void TearDown() override {
    EXPECT_TRUE(friend_.recorder.eventually([](const Recorder& r) {
      for (const auto& [id, info] : r.up_) {
        if (info.name == "victim") return r.ups_ == r.downs_.size() + 1;
      }
      return false;
    }));
    TestHub newcomer(directory_, "newcomer");
    EXPECT_TRUE(newcomer.recorder.has_peers(2))
        << newcomer.recorder.all_diagnostics() << victim_.recorder.all_diagnostics();
  }
  RawClient connect() { return RawClient(directory_, victim_.hub->process_id()); }

  TemporaryDirectory directory_;
  TestHub victim_;
  TestHub friend_;
};

TEST_F(HostilePeer, GarbageInsteadOfHelloIsRefused) {
  const Bytes hello = hello_of(1);
  for (const Bytes& garbage : {Bytes{1}, Bytes(8, 0xFF), Bytes(4000, 'x'), Bytes(hello.begin(), hello.begin() + 20)}) {
    RawClient client = connect();
    client.send(garbage);
    EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kViolation));
  }
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::protocol_violation, "pid " + std::to_string(::getpid())));
}

TEST_F(HostilePeer, AnswersToPARKThatNobodySentAreViolations) {
  const Bytes keep{kKeepFrame, 0, 0, 0, 0, 0, 0, 0};
  std::uint64_t number = 1;
  for (const Bytes& unasked : {keep, encode_bye(Bye::kParked, "")}) {
    RawClient client = connect();
    client.send(hello_of(number++));
    EXPECT_FALSE(client.receive().empty());
    client.send(unasked);
    EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kViolation));
  }
}

TEST_F(HostilePeer, AnsweredToEveryPARKTheLinkStays) {
  RawClient client = connect();
  client.send(hello_of(1));
  EXPECT_FALSE(client.receive().empty());
  for (std::uint8_t received = 0; received < 200; ++received) {  // the victim needs the link, or counts other frames
    client.send({kParkFrame, 0, 0, 0, 8, 0, 0, 0, received, 0, 0, 0, 0, 0, 0, 0});
    const Bytes answer = client.receive();
    ASSERT_FALSE(answer.empty());
    ASSERT_EQ(answer[0], kKeepFrame);
  }
}

TEST_F(HostilePeer, APARKBeforeTheLastOneIsAnsweredEndsTheLinkAndFillsNothing) {
  RawClient client = connect();
  client.send(hello_of(1));
  EXPECT_FALSE(client.receive().empty());
  ::fcntl(client.fd(), F_SETFL, O_NONBLOCK);
  const std::string said = "PARK before the last one was answered";
  while (victim_.recorder.all_diagnostics().find(said) == std::string::npos)  // without a look at the answers
    client.send({kParkFrame, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0});
}

TEST_F(HostilePeer, AProbeThatConnectsAndGoesIsIgnored) {
  for (int i = 0; i < 100; ++i) connect().close();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(victim_.recorder.all_diagnostics(), "");
}

TEST_F(HostilePeer, SilenceIsEndedAfterTheTimeout) {
  TestHub impatient(directory_, "impatient", 0, std::chrono::milliseconds(300));
  RawClient client(directory_, impatient.hub->process_id());
  EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kTimeout));
  EXPECT_TRUE(impatient.recorder.has_diagnostic(Errc::timed_out, "said nothing"));
}

TEST_F(HostilePeer, ManySilentConnectionsCannotKeepOthersOut) {
  std::vector<RawClient> clients;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) clients.push_back(connect());
  TestHub newcomer(directory_, "in between");
  EXPECT_TRUE(newcomer.recorder.has_peers(2));
  const std::size_t most = before + 200 + 3 * 64 + 40;
  EXPECT_TRUE(descriptors_come_to(most - 1)) << "at most 64 silent ones are kept";
}

TEST_F(HostilePeer, APacketLargerThanAllowedIsRefused) {
  RawClient client = connect();
  client.send(hello_of(1));
  client.send(Bytes(kMaxPacketBytes + 1, 0x11));
  EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kViolation));
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::protocol_violation, "larger than"));
}

#ifndef BATON_EMULATED  // qemu-user itself keeps what the kernel would have closed
TEST_F(HostilePeer, AFloodOfDescriptorsLeavesNoneBehind) {
  const std::size_t before = open_descriptors();
  const std::vector<int> many(200, STDERR_FILENO);
  for (std::uint64_t i = 0; i < 20; ++i) {
    RawClient client = connect();
    client.send(hello_of(100 + i), i % 2 == 0 ? many : std::vector<int>{});
    Bytes frame(kPacketHeaderBytes);
    frame[1] = 1;
    frame[3] = 200;
    client.send(frame, many);
    (void)client.bye();
  }
  EXPECT_TRUE(victim_.recorder.has_peers(1));
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::protocol_violation, "descriptors"));
  EXPECT_TRUE(descriptors_come_to(before)) << open_descriptors() << " are open, there were " << before;
}
#endif

TEST_F(HostilePeer, AFrameThatIsNeverFinishedIsForgottenWithItsDescriptors) {
  const std::size_t before = open_descriptors();
  {
    RawClient client = connect();
    client.send(hello_of(1));
    Bytes part{0x00, 0x02, kMoreFollows, 2, 1, 0, 0, 0, 0xAA};
    const os::UniqueFd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    client.send(part, {memory.get(), memory.get()});
    EXPECT_TRUE(victim_.recorder.has_peers(2));
  }
  EXPECT_TRUE(victim_.recorder.has_peers(1));
  EXPECT_TRUE(descriptors_come_to(before)) << open_descriptors() << " are open, there were " << before;
  EXPECT_TRUE(victim_.recorder.frames_.empty());
}

TEST_F(HostilePeer, AnotherVersionIsRefusedNamingBothVersionsAndProcesses) {
  RawClient client = connect();
  client.send(hello_of(1, 9));
  const Bytes answer = client.receive();
  ASSERT_GT(answer.size(), 18U);
  EXPECT_EQ(answer[0], kHelloFrame) << "so that the other side can name both, too";
  EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kVersion));
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::version_mismatch, "process 'victim' speaks version " +
                                                                          std::to_string(kProtocolVersion) +
                                                                          " of Baton's protocol, process 'hostile'"))
      << victim_.recorder.all_diagnostics();
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::version_mismatch, "version 9"));
  RawClient again = connect();
  again.send(hello_of(1, 9));
  EXPECT_EQ(again.bye(), static_cast<std::uint16_t>(Bye::kVersion));
  const auto refusals = [](const Recorder& r) {
    return std::count_if(r.diagnostics_.begin(), r.diagnostics_.end(),
                         [](const Diagnostic& diagnostic) { return diagnostic.code == Errc::version_mismatch; });
  };
  EXPECT_TRUE(victim_.recorder.eventually([&](const Recorder& r) { return refusals(r) == 1; })) << "told once";
}

TEST_F(HostilePeer, TheHubsOwnIdentityIsNotForOthers) {
  RawClient client = connect();
  Hello hello;
  hello.process_id = victim_.hub->process_id();
  client.send(encode_hello(hello));
  EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kViolation));
}

TEST_F(HostilePeer, TheIdentityOfAConnectedProcessCannotBeTaken) {
  RawClient client = connect();
  Hello hello;
  hello.process_id = friend_.hub->process_id();
  client.send(encode_hello(hello));
  EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kDuplicate));
}

#ifndef BATON_EMULATED  // qemu-user has no pidfds
/// Another process, which is judged by what it does and not by its names. Forked while this process has one thread. `body` gets
/// the victim's process id and returns 0 if all is well.
class Attacker {
 public:
  explicit Attacker(const std::function<int(const ProcessId&)>& body) {
    EXPECT_EQ(::pipe(pipe_), 0);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);
    ProcessId victim{};
    if (::read(pipe_[0], victim.data(), victim.size()) != static_cast<ssize_t>(victim.size())) ::_exit(100);
    ::_exit(body(victim));
  }
  ~Attacker() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  int attack(const Hub& victim) {
    const ProcessId id = victim.process_id();
    EXPECT_EQ(::write(pipe_[1], id.data(), id.size()), static_cast<ssize_t>(id.size()));
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int pipe_[2]{};
  pid_t pid_ = -1;
};

TEST(HostileProcess, CannotHaveConnectionsWithoutEnd) {
  const TemporaryDirectory directory;
  Attacker attacker([&](const ProcessId& victim) {
    std::vector<RawClient> clients;
    for (std::uint64_t i = 0; i < kMaxLinksPerProcess; ++i) {
      clients.emplace_back(directory, victim);
      if (!clients.back().send(hello_of(1000 + i))) return 1;
      if (clients.back().receive()[0] != kHelloFrame) return 2;
    }
    RawClient one_more(directory, victim);
    one_more.send(hello_of(1));
    if (one_more.bye() != static_cast<std::uint16_t>(Bye::kTimeout)) return 3;
    clients.clear();
    for (std::uint64_t i = 0; i < 300; ++i) {  // there is room again once the ends were seen
      RawClient again(directory, victim);
      again.send(hello_of(2 + i));
      if (again.receive()[0] == kHelloFrame) return 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return 4;
  });
  TestHub victim(directory, "victim");
  EXPECT_EQ(attacker.attack(*victim.hub), 0);
  EXPECT_TRUE(victim.recorder.has_diagnostic(Errc::protocol_violation, "too many connections"));
  EXPECT_TRUE(victim.recorder.has_peers(0));
}

TEST(HostileProcess, ThatBeginsConnectionsWithoutEndIsTurnedAway) {
  const TemporaryDirectory directory;
  Attacker attacker([&](const ProcessId& victim) {
    for (std::uint64_t i = 0; i < 20 * kMaxArrivals;
         ++i) {  // that many in 10 s: a busy machine may begin to count anew
      RawClient client(directory, victim);
      client.send(hello_of(1000 + i));
      if (client.receive()[0] == kByeFrame) return i < kMaxArrivals ? 1 : 0;
    }
    return 2;
  });
  TestHub victim(directory, "victim");
  EXPECT_EQ(attacker.attack(*victim.hub), 0);
  TestHub newcomer(directory, "newcomer");
  EXPECT_TRUE(newcomer.recorder.has_peers(1));
}

TEST(HostileProcess, ThatKeepsBreakingTheProtocolIsTurnedAwayUnderEveryName) {
  const TemporaryDirectory directory;
  Attacker attacker([&](const ProcessId& victim) {
    for (unsigned i = 0; i < kMaxViolations; ++i) {
      RawClient client(directory, victim);
      client.send(hello_of(1000 + i));
      client.send(Bytes(8, 0xFF));
      if (client.bye() != static_cast<std::uint16_t>(Bye::kViolation)) return 1;
    }
    RawClient reformed(directory, victim);
    reformed.send(hello_of(1));
    return reformed.bye() == static_cast<std::uint16_t>(Bye::kViolation) ? 0 : 2;
  });
  TestHub victim(directory, "victim");
  EXPECT_EQ(attacker.attack(*victim.hub), 0);
  EXPECT_TRUE(victim.recorder.has_diagnostic(Errc::protocol_violation, "broke the protocol too often"));
}
#endif

TEST_F(HostilePeer, ADescriptorWhoseCloseBlocksHoldsNobodyUp) {
  // TCP sockets with unsent bytes that SO_LINGER waits for: sent in a frame, and left unread behind it.
  os::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 16), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::vector<os::UniqueFd> kept;  // this thread must not be the last to close one either
  {
    RawClient client = connect();
    client.send(hello_of(1));
    ASSERT_EQ(client.receive()[0], kHelloFrame);
    for (int i = 0; i < 6; ++i) {
      os::UniqueFd blocking(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::connect(blocking.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
      const linger wait{1, 3600};
      ASSERT_EQ(::setsockopt(blocking.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
      const Bytes bytes(65536);
      while (::send(blocking.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
      }
      const Bytes frame{0x00, 0x02, 0, 1, 0, 0, 0, 0};
      client.send(frame, {blocking.get()});
      kept.push_back(std::move(blocking));
    }
    EXPECT_EQ(client.bye(), static_cast<std::uint16_t>(Bye::kViolation));
  }
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::protocol_violation, "neither a memfd nor a Unix stream socket"));
  TestHub newcomer(directory_, "in between");
  EXPECT_TRUE(newcomer.recorder.has_peers(2)) << "the victim's thread goes on while the closes wait";
  listener.reset();  // resets the connections: the closes end
}

TEST_F(HostilePeer, OneThatDoesNotReadIsDisconnectedAndMayComeBack) {
  RawClient client = connect();
  client.send(hello_of(1));
  ASSERT_TRUE(victim_.recorder.has_peers(2));
  PeerId stalled = 0;
  PeerId attentive = 0;
  ASSERT_TRUE(victim_.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) (info.name == "hostile" ? stalled : attentive) = id;
    return stalled != 0 && attentive != 0;
  }));
  const Bytes payload(10000, 5);
  std::size_t sent = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (; sent < 160; ++sent) {  // above the first bound, below the second: not yet
    victim_.hub->send(stalled, 0x100, payload);
    if (sent % 10 == 0) victim_.hub->send(attentive, 0x101, {1});
  }
  std::this_thread::sleep_for(kStallTime / 5);
  victim_.hub->send(stalled, 0x100, payload);
  const std::size_t peers = victim_.hub->peer_count();
  if (std::chrono::steady_clock::now() - begin < kStallTime) {
    EXPECT_EQ(peers, 2U);
  }
  std::this_thread::sleep_for(kStallTime);
  victim_.hub->send(stalled, 0x100, payload);
  ASSERT_TRUE(victim_.recorder.has_peers(1));
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::disconnected, "has not read for too long"))
      << victim_.recorder.all_diagnostics();
  EXPECT_TRUE(friend_.recorder.has_frames((sent + 9) / 10));
  // It wakes up: reads what was there, finds the end, comes back under the same identity.
  while (!client.receive().empty()) {
  }
  RawClient again = connect();
  again.send(hello_of(1));
  EXPECT_TRUE(victim_.recorder.has_peers(2));
}

TEST_F(HostilePeer, OneThatDoesNotReadIsDisconnectedAtOnceWhenTooMuchWaits) {
  RawClient client = connect();
  client.send(hello_of(1));
  ASSERT_TRUE(victim_.recorder.has_peers(2));
  PeerId stalled = 0;
  ASSERT_TRUE(victim_.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) {
      if (info.name == "hostile") stalled = id;
    }
    return stalled != 0;
  }));
  for (int i = 0; i < 40; ++i) victim_.hub->send(stalled, 0x100, Bytes(kMaxPayloadBytes, 1));
  EXPECT_TRUE(victim_.recorder.has_peers(1));
  EXPECT_TRUE(victim_.recorder.has_diagnostic(Errc::disconnected, "has not read for too long"));
}

TEST_F(HostilePeer, QueuedFramesArriveCompleteOnceASlowPeerReads) {
  RawClient client = connect();
  client.send(hello_of(1));
  ASSERT_TRUE(victim_.recorder.has_peers(2));
  PeerId slow = 0;
  ASSERT_TRUE(victim_.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) {
      if (info.name == "hostile") slow = id;
    }
    return slow != 0;
  }));
  constexpr std::size_t kFrames = 60;
  for (std::size_t i = 0; i < kFrames; ++i) victim_.hub->send(slow, 0x100, Bytes(10000, static_cast<std::uint8_t>(i)));
  EXPECT_EQ(client.receive()[0], kHelloFrame);
  for (std::size_t i = 0; i < kFrames; ++i) {
    const Bytes packet = client.receive();
    ASSERT_EQ(packet.size(), kPacketHeaderBytes + 10000);
    EXPECT_EQ(packet.back(), static_cast<std::uint8_t>(i));
  }
}

TEST_F(HostilePeer, AnEmptyPacketIsNoEndOfFile) {
  victim_.recorder.holding_ = true;
  RawClient client = connect();
  client.send(hello_of(1));
  ASSERT_TRUE(victim_.recorder.has_peers(2));
  client.send({});
  ASSERT_TRUE(victim_.recorder.has_peers(1));
  while (!client.receive().empty()) {  // until the victim's end of file: what it does about the packet is done
  }
  EXPECT_TRUE(victim_.recorder.eventually([](const Recorder& r) { return r.disconnected_.size() == 1; }));
  client.close();
  EXPECT_TRUE(victim_.recorder.eventually([](const Recorder& r) { return r.disconnected_.empty(); }));
}

TEST_F(HostilePeer, OneThatReceivesNothingMoreIsNotWrittenToForEver) {
  const PeerId before = victim_.recorder.only_peer();
  RawClient client = connect();
  client.send(hello_of(1));
  ASSERT_TRUE(victim_.recorder.has_peers(2));
  PeerId peer = 0;
  victim_.recorder.eventually([&](const Recorder& r) {
    for (const auto& [id, info] : r.up_) peer = id == before ? peer : id;
    return true;
  });
  std::shared_ptr<const void> claim = victim_.hub->claim(peer);  // as a held sample has it
  for (int i = 0; i < 200; ++i) victim_.hub->send(peer, kFirstUserFrame, Bytes(60'000));
  ASSERT_TRUE(victim_.recorder.has_peers(1)) << "it reads nothing and is given up; its socket takes no BYE";
  EXPECT_GT(claim.use_count(), 1);
  ::shutdown(client.fd(), SHUT_RD);
  Bytes bytes(kMaxPacketBytes);
  while (::recv(client.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
  for (int i = 0; i < 60'000 && claim.use_count() > 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(claim.use_count(), 1) << "the hub tries to write the BYE without end";
}

/// A process with a large graph: each peer gets 10 MB at first.
struct Greeter final : HubHandler {
  static constexpr std::size_t kFrames = 50, kFrameBytes = 200'000;
  explicit Greeter(const TemporaryDirectory& directory) {
    HubOptions options;
    options.domain = 0;
    options.runtime_directory = directory.path();
    hub = std::move(Hub::create(options, *this)).or_throw();
    hub->start().or_throw();
  }
  ~Greeter() override { hub.reset(); }
  void on_peer_up(PeerId peer, const PeerInfo&) override {
    for (std::size_t i = 0; i < kFrames; ++i) hub->send(peer, 0x100, Bytes(kFrameBytes, 1));
  }
  void on_peer_down(PeerId, const Error&) override {}
  Result<void> on_frame(PeerId, Frame&&) override { return {}; }
  std::unique_ptr<Hub> hub;
};

TEST(HostilePeers, ThatDoNotReadWhatALargeProcessAnnouncesKeepABoundedPartOfItsMemory) {
  const TemporaryDirectory directory;
  Greeter victim(directory);
  const std::size_t most = kMaxQueuedBytesPerUser / (Greeter::kFrames * Greeter::kFrameBytes) + 1;
  std::vector<std::unique_ptr<RawClient>> silent;
  for (std::uint64_t i = 1; i <= 3 * most; ++i) {
    silent.push_back(std::make_unique<RawClient>(directory, victim.hub->process_id()));
    silent.back()->send(hello_of(i << 40));
  }
  const auto up = [&] {
    return std::count_if(silent.begin(), silent.end(), [](const auto& each) {
      ::pollfd entry{each->fd(), POLLRDHUP, 0};
      return ::poll(&entry, 1, 0) == 0;
    });
  };
  for (int i = 0; i < 6000 && up() > static_cast<std::ptrdiff_t>(most); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(up(), static_cast<std::ptrdiff_t>(most));
  // And those that read get all of it, since the others have taken nothing for so long.
  std::this_thread::sleep_for(kStallTime);
  TestHub honest(directory);
  EXPECT_TRUE(honest.recorder.has_frames(Greeter::kFrames)) << honest.recorder.all_diagnostics();
}

TEST_F(HostilePeer, OtherNamesOfAProcessesSocketKeepNobodyFromMeetingIt) {
  const fs::path path = directory_.path() + "/0";
  const std::string socket = "p-" + os::hexadecimal(victim_.hub->process_id());
  for (std::uint64_t i = 0; i < 20; ++i) {
    fs::create_hard_link(path / socket, path / ("p-" + os::hexadecimal(id_of(1000 + i))));
    fs::create_symlink(socket, path / ("p-" + os::hexadecimal(id_of(2000 + i))));
  }
  // More than the violations that are forgiven. TearDown(): a newcomer meets both.
}

// The other direction: names in the directory behind which somebody misbehaves.
class HostileListener : public ::testing::Test {
 protected:
  void SetUp() override {
    { TestHub makes_the_directory(directory_); }
    path_ = directory_.path() + "/0";
    opened_ = os::open_directory(-1, path_);
    name_ = "p-" + os::hexadecimal(id_of(7));
    ASSERT_EQ(os::listen_at(opened_.fd.get(), path_, name_, 0600, ~0U, listener_), os::IoStatus::kDone);
  }
  os::UniqueFd accept() {
    os::UniqueFd socket;
    for (int i = 0; i < 12000 && os::accept_one(listener_.get(), socket) != os::IoStatus::kDone; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return socket;
  }
  TemporaryDirectory directory_;
  std::string path_, name_;
  os::OpenedDirectory opened_;
  os::UniqueFd listener_;
};

TEST_F(HostileListener, WhoHasANameAndDoesNotAnswerIsUnmetAndWhoIsUpIsNot) {
  std::fclose(std::fopen((path_ + "/plain-notes").c_str(), "w"));  // nobody's name
  TestHub a(directory_);
  EXPECT_EQ(a.hub->unmet_count(), 1U);
  const std::vector<std::int32_t> pids{::getpid()};
  for (int i = 0; i < 12000 && a.hub->unmet_pids() != pids; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  TestHub b(directory_);
  ASSERT_TRUE(a.recorder.has_peers(1));
  EXPECT_EQ(a.hub->unmet_count(), 1U);
  EXPECT_EQ(a.hub->unmet_pids(), pids);
  ASSERT_EQ(os::remove_name(opened_.fd.get(), name_), 0);
  EXPECT_EQ(a.hub->unmet_count(), 0U);
}

TEST_F(HostileListener, WhoAnswersUnderAnotherIdentityIsRefusedForGood) {
  TestHub a(directory_);
  TestHub b(directory_);
  os::UniqueFd socket = accept();
  const Bytes hello = hello_of(8);
  ASSERT_EQ(os::send_packet(socket.get(), hello.data(), hello.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  EXPECT_TRUE(
      a.recorder.eventually([&](const Recorder& r) { return r.find_diagnostic(Errc::protocol_violation, "identity"); },
                            std::chrono::seconds(10)) ||
      b.recorder.has_diagnostic(Errc::protocol_violation, "identity"));
  EXPECT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  EXPECT_TRUE(fs::exists(path_ + "/" + name_)) << "it listens: its name is not swept";
}

TEST_F(HostileListener, SymbolicLinksLeadNobodyAnywhere) {
  ASSERT_EQ(os::rename_name(opened_.fd.get(), name_, "elsewhere"), 0);
  for (std::uint64_t i = 0; i < 100; ++i)
    fs::create_symlink("elsewhere", path_ + "/p-" + os::hexadecimal(id_of(1000 + i)));
  TestHub a(directory_);
  TestHub b(directory_);
  EXPECT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  os::UniqueFd socket;
  EXPECT_NE(os::accept_one(listener_.get(), socket), os::IoStatus::kDone) << "both have scanned the directory";
}

TEST_F(HostileListener, WhoNeverAnswersIsReportedAndAnsweredWhenItDoes) {
  TestHub a(directory_, "a", 0, std::chrono::milliseconds(200));
  EXPECT_TRUE(a.recorder.has_diagnostic(Errc::timed_out, "has not answered")) << a.recorder.all_diagnostics();
  TestHub b(directory_, "b");
  EXPECT_TRUE(a.recorder.has_peers(1) && b.recorder.has_peers(1));
  os::UniqueFd socket = accept();
  const Bytes hello = hello_of(7);
  ASSERT_EQ(os::send_packet(socket.get(), hello.data(), hello.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  EXPECT_TRUE(a.recorder.has_peers(2)) << "a stopped process that goes on";
}

TEST_F(HostileListener, WhoAcceptsAndHangsUpIsTriedAgainEverMoreRarely) {
  TestHub a(directory_);
  for (int i = 0; i < 5; ++i) {
    os::UniqueFd socket = accept();
    ASSERT_TRUE(socket);
  }
  os::UniqueFd last = accept();
  const Bytes hello = hello_of(7);
  ASSERT_EQ(os::send_packet(last.get(), hello.data(), hello.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  EXPECT_TRUE(a.recorder.has_peers(1));
}

TEST_F(HostileListener, AFullBacklogIsTriedAgainUntilThereIsRoom) {
  // The smallest backlog: two connections wait, the third is told to try again.
  ASSERT_EQ(::listen(listener_.get(), 0), 0);
  std::vector<os::UniqueFd> filling;
  for (;;) {
    os::UniqueFd socket;
    if (os::connect_at(opened_.fd.get(), path_, name_, socket) != os::IoStatus::kDone) break;
    filling.push_back(std::move(socket));
    ASSERT_LT(filling.size(), 100U);
  }
  TestHub a(directory_);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (std::size_t i = 0; i < filling.size(); ++i) accept();
  os::UniqueFd socket = accept();
  const Bytes hello = hello_of(7);
  ASSERT_EQ(os::send_packet(socket.get(), hello.data(), hello.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
  EXPECT_TRUE(a.recorder.has_peers(1));
}

}  // namespace
}  // namespace baton::transport
