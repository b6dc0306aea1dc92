// SPDX-License-Identifier: Apache-2.0
// Real processes that meet, die, stop, fork and run out of things. Each is a hub_peer (hub_peer_main.cpp).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/unix_socket.hpp"
#include "handshake.hpp"
#include "hub_test_support.hpp"

extern char** environ;

namespace baton::transport {
namespace {

using Clock = std::chrono::steady_clock;

std::string peer_program() {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string self(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return self.substr(0, self.rfind('/')) + "/transport_hub_peer";
}

/// A hub_peer process; killed and reaped at the end.
class Peer {
 public:
  Peer(const TemporaryDirectory& directory, const std::string& name, const std::string& crash_at = "",
       bool quiet = false, const std::string& uid = "", const std::string& gid = "", const std::string& parks = "") {
    int in[2];
    int out[2];
    // Towards the peer a socket: writing to a dead one must not raise SIGPIPE, which here and in the peers keeps its default.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
      throw std::runtime_error("socketpair or pipe2");
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::vector<std::string> variables;
    for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
    if (!crash_at.empty()) variables.push_back("BATON_CRASH_AT=" + crash_at);
    std::vector<char*> environment;
    for (std::string& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string program = peer_program();
    std::string path = directory.path();
    std::string own_name = name;
    std::string mode = !parks.empty() ? parks : quiet ? "quiet" : "tell";
    std::string own_uid = uid;
    std::string own_gid = gid;
    char* arguments[] = {
        program.data(), path.data(), own_name.data(), mode.data(), uid.empty() ? nullptr : own_uid.data(),
        own_gid.data(), nullptr};
    const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environment.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_.reset(in[1]);
    from_.reset(out[0]);
    if (failed != 0) throw std::runtime_error("posix_spawn " + program);
  }
  Peer(Peer&&) = delete;
  ~Peer() {
    if (pid_ > 0) signal_and_wait(SIGKILL);
  }

  void tell(const std::string& line) {
    const std::string text = line + "\n";
    (void)!::send(to_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Waits for a line that contains `part`; what came before it is kept for later calls. Empty: it did not come in time.
  std::string hears(const std::string& part, Clock::duration patience = kPatience) {
    const auto deadline = Clock::now() + patience;
    for (;;) {
      const auto found = std::find_if(lines_.begin(), lines_.end(),
                                      [&](const std::string& l) { return l.find(part) != std::string::npos; });
      if (found != lines_.end()) {
        std::string line = *found;
        lines_.erase(found);
        return line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd state{from_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&state, 1, static_cast<int>(left)) <= 0) return "";
      std::array<char, 4096> bytes{};
      const ssize_t got = ::read(from_.get(), bytes.data(), bytes.size());
      if (got <= 0) return "";
      pending_.append(bytes.data(), static_cast<std::size_t>(got));
      for (std::size_t end; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1)) {
        lines_.push_back(pending_.substr(0, end));
      }
    }
  }
  std::string unheard() const {
    std::string out;
    for (const std::string& line : lines_) out += line + "\n";
    return out;
  }
  bool ready() { return !hears("ready").empty(); }
  void signal(int number) const { ::kill(pid_, number); }
  /// Returns when all its threads have stopped: until then a thread of it may still receive.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  int signal_and_wait(int number) {
    ::kill(pid_, number);
    ::kill(pid_, SIGCONT);
    return wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  os::UniqueFd to_, from_;
  std::string pending_;
  std::vector<std::string> lines_;
};

bool directory_has(const TemporaryDirectory& directory, std::size_t count) {
  const auto deadline = Clock::now() + kPatience;
  while (directory.names().size() != count) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST(HubProcesses, AKilledProcessIsNoticedAndItsNameIsSweptByTheSurvivors) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_TRUE(a.ready() && b.ready());
  ASSERT_NE(a.hears("up b"), "");
  EXPECT_EQ(b.hears("up a"), "up a " + std::to_string(a.pid()));
  EXPECT_EQ(directory.names().size(), 2U);
  b.signal_and_wait(SIGKILL);
  EXPECT_NE(a.hears("down process 'b'"), "");
  EXPECT_TRUE(directory_has(directory, 1));
  a.tell("quit");
  EXPECT_NE(a.hears("bye"), "");
  a.wait();
  EXPECT_TRUE(directory.names().empty());
  EXPECT_EQ(a.unheard(), "");
}

TEST(HubProcesses, TheNextProcessSweepsWhatTheLastOneLeft) {
  const TemporaryDirectory directory;
  {
    Peer a(directory, "a");
    ASSERT_TRUE(a.ready());
  }
  EXPECT_EQ(directory.names().size(), 1U);
  Peer b(directory, "b");
  ASSERT_TRUE(b.ready());
  EXPECT_TRUE(directory_has(directory, 1));
  b.tell("quit");
  b.wait();
  EXPECT_TRUE(directory.names().empty());
}

TEST(HubProcesses, AStoppedProcessDelaysNobodyAndIsThereAgainWhenItGoesOn) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  ASSERT_NE(b.hears("up a"), "");
  b.stop();
  Peer c(directory, "c");
  EXPECT_NE(c.hears("up a"), "") << "newcomers meet the others";
  EXPECT_NE(a.hears("up c"), "");
  for (int i = 0; i < 50; ++i) a.tell("send 1000");
  EXPECT_NE(c.hears("frame 1000 1"), "");
  b.signal(SIGCONT);
  EXPECT_NE(c.hears("up b"), "");
  EXPECT_NE(b.hears("up c"), "");
  for (int i = 0; i < 50; ++i) EXPECT_NE(b.hears("frame 1000 1"), "");
  EXPECT_EQ(a.unheard().find("down"), std::string::npos) << a.unheard();
}

TEST(HubProcesses, AStoppedProcessThatWasGivenUpComesBackWhenItGoesOn) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  ASSERT_NE(b.hears("up a"), "");
  b.stop();
  for (int i = 0; i < 40; ++i) a.tell("send 200000");
  ASSERT_NE(a.hears("diagnostic disconnected process 'b'"), "");
  EXPECT_NE(a.hears("down process 'b'"), "");
  b.signal(SIGCONT);
  EXPECT_NE(b.hears("down process 'a'"), "");
  EXPECT_NE(b.hears("up a"), "");
  EXPECT_NE(a.hears("up b"), "");
  a.tell("send 77");
  EXPECT_NE(b.hears("frame 77 1"), "");
}

/// Processes that park idle links, all met: each has links to its four neighbours only.
class ParkedDomain {
 public:
  /// The last one dies at `crash_at`.
  explicit ParkedDomain(std::size_t count, const std::string& crash_at = "") {
    for (std::size_t i = 1; i <= count; ++i) {
      peers.push_back(std::make_unique<Peer>(directory, "p" + std::to_string(i), i == count ? crash_at : "", true, "",
                                             "", "parks"));
    }
  }
  /// Of each that is not stopped: `met` others are known, all but four of them without a link.
  bool rest(std::size_t met, const std::set<std::size_t>& silent = {}) {
    const std::string wanted =
        "parked " + std::to_string(met - std::min<std::size_t>(met, 4)) + " of " + std::to_string(met);
    const auto deadline = Clock::now() + kPatience;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (!peers[i] || silent.count(i) != 0) continue;
      for (;;) {
        peers[i]->tell("parked");
        last = peers[i]->hears("parked ");
        // A neighbour that is stopped has no link to a new neighbour yet.
        if (last == wanted ||
            (!silent.empty() && !last.empty() && last.substr(last.find(" of ")) == wanted.substr(wanted.find(" of "))))
          break;
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return true;
  }
  /// The processes in the order of their ring.
  std::vector<std::size_t> ring() {
    std::map<std::string, std::size_t> by_name;
    std::vector<std::string> names = directory.names();
    std::sort(names.begin(), names.end());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (!peers[i]) continue;
      peers[i]->tell("name");
      by_name[peers[i]->hears("p-")] = i;
    }
    std::vector<std::size_t> order;
    for (const auto& [name, index] : by_name) order.push_back(index);
    return order;
  }
  void kill(std::size_t index) { peers[index].reset(); }

  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<Peer>> peers;
  std::string last;
};

TEST(HubProcesses, OfParkedProcessesThatAreKilledNoneStaysInAnyGraph) {
  ParkedDomain domain(14);
  ASSERT_TRUE(domain.rest(13)) << domain.last;
  const std::vector<std::size_t> ring = domain.ring();
  ASSERT_EQ(ring.size(), 14U);
  domain.kill(ring[3]);
  EXPECT_TRUE(domain.rest(12)) << domain.last;
  // Five in a row, at once: nobody that lives is a neighbour of the middle one.
  for (std::size_t i = 5; i < 10; ++i) domain.peers[ring[i]]->signal(SIGKILL);
  for (std::size_t i = 5; i < 10; ++i) domain.kill(ring[i]);
  EXPECT_TRUE(domain.rest(7)) << domain.last;
  EXPECT_TRUE(directory_has(domain.directory, 8));
}

TEST(HubProcesses, AStoppedProcessWithParkedLinksStaysInEveryGraphAndGoesOn) {
  ParkedDomain domain(9);
  ASSERT_TRUE(domain.rest(8)) << domain.last;
  const std::vector<std::size_t> ring = domain.ring();
  domain.peers[ring[0]]->stop();
  // One of its neighbours dies: the others tell, and the stopped one finds it when it goes on.
  domain.kill(ring[1]);
  EXPECT_TRUE(domain.rest(7, {ring[0]})) << domain.last;
  domain.peers[ring[0]]->signal(SIGCONT);
  EXPECT_TRUE(domain.rest(7)) << domain.last;
  // A frame for all: also over links that are parked.
  domain.peers[ring[4]]->tell("send 1000");
  EXPECT_NE(domain.peers[ring[4]]->hears("sent"), "");
  EXPECT_TRUE(domain.rest(7)) << domain.last;
}

/// The id that is so many steps behind `id` in the ring, with other first bytes.
ProcessId beside(ProcessId id, int steps) {
  for (int byte = 11; byte >= 0 && steps != 0; --byte) {
    const int sum = id[static_cast<std::size_t>(byte)] + steps;
    id[static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(sum & 0xff);
    steps = sum < 0 ? -1 : sum > 0xff ? 1 : 0;
  }
  return id;
}

/// A process that keeps no rules, with a name in the directory and a link to each of `hubs`.
struct Liar {
  Liar(const TemporaryDirectory& directory, const ProcessId& id, const std::vector<ProcessId>& hubs) {
    const std::string path = directory.path() + "/0", name = "liar" + os::hexadecimal(id);
    const auto opened = os::open_directory(-1, path);
    EXPECT_EQ(os::listen_at(opened.fd.get(), path, name, 0600, ~0U, listener), os::IoStatus::kDone);
    EXPECT_EQ(os::rename_name(opened.fd.get(), name, "p-" + os::hexadecimal(id)), 0);
    Hello hello;
    hello.process_id = id;
    hello.name = "liar";
    const std::vector<std::uint8_t> packet = encode_hello(hello);
    for (const ProcessId& hub : hubs) {
      os::UniqueFd& link = links.emplace_back();
      EXPECT_EQ(os::connect_at(opened.fd.get(), path, "p-" + os::hexadecimal(hub), link), os::IoStatus::kDone);
      (void)os::send_packet(link.get(), packet.data(), packet.size(), nullptr, 0, nullptr, 0);
    }
  }
  /// Waits for a link to its name. The first packet on it.
  std::vector<std::uint8_t> visited() const {
    pollfd state{listener.get(), POLLIN, 0};
    os::UniqueFd link;
    std::vector<std::uint8_t> packet(kMaxPacketBytes);
    if (::poll(&state, 1, 60'000) != 1 || os::accept_one(listener.get(), link) != os::IoStatus::kDone) return {};
    state.fd = link.get();
    const ssize_t got = ::poll(&state, 1, 60'000) == 1 ? ::recv(link.get(), packet.data(), packet.size(), 0) : 0;
    packet.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return packet;
  }
  os::UniqueFd listener;
  std::vector<os::UniqueFd> links;
};

/// `called_gone`: a liar is so quick that the name refuses, and the pidfd does not report the end yet. In the test the name is gone.
void expect_death_is_told(bool called_gone) {
  const TemporaryDirectory directory;
  TestHub witness(directory, "witness", 0, std::chrono::seconds(5), true);
  Peer dead(directory, "dead", "", true, "", "", "parks");
  ASSERT_TRUE(dead.ready());
  ASSERT_TRUE(witness.recorder.has_peers(1));
  const PeerId peer = witness.recorder.only_peer();
  const ProcessId id = witness.recorder.up_.at(peer).process_id, own = witness.hub->process_id();
  std::vector<std::unique_ptr<Liar>> liars;
  for (const int steps : {-2, -1, 1, 2})
    liars.push_back(std::make_unique<Liar>(directory, beside(id, steps), std::vector<ProcessId>{id, own}));
  ASSERT_TRUE(witness.recorder.has_peers(5));
  const auto deadline = Clock::now() + kPatience;
  while (!witness.hub->is_parked(peer) && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(witness.hub->is_parked(peer)) << "the liars are the neighbours";
  const auto is_gone = [&](const Recorder& r) { return r.up_.count(peer) == 0; };
  if (called_gone) {
    const std::string path = directory.path() + "/0";
    const auto opened = os::open_directory(-1, path);
    ASSERT_EQ(os::remove_name(opened.fd.get(), "p-" + os::hexadecimal(id)), 0);
    os::UniqueFd teller;
    ASSERT_EQ(os::connect_at(opened.fd.get(), path, "p-" + os::hexadecimal(own), teller), os::IoStatus::kDone);
    const std::vector<std::uint8_t> gone = encode_gone({id});
    ASSERT_EQ(os::send_packet(teller.get(), gone.data(), gone.size(), nullptr, 0, nullptr, 0), os::IoStatus::kDone);
    ASSERT_TRUE(witness.recorder.eventually(is_gone));
  }
  dead.signal_and_wait(SIGKILL);
  EXPECT_TRUE(witness.recorder.eventually(is_gone));
  EXPECT_EQ(liars[0]->visited(), encode_gone({id})) << "others may not have seen it";
  EXPECT_TRUE(witness.recorder.has_peers(4));
}

TEST(HubProcesses, ADeathIsSeenAndToldAlsoIfAllNeighboursOfTheDeadProcessLie) { expect_death_is_told(false); }

TEST(HubProcesses, ADeathIsToldAlsoIfALiarCallsTheProcessGoneBeforeItsPidfdReportsTheEnd) {
  expect_death_is_told(true);
}

TEST(HubProcesses, DescriptorsDoNotGrowWithTheProcessesOfTheDomain) {
  const auto descriptors = [](pid_t pid) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  };
  std::size_t few = 0;
  {
    ParkedDomain domain(22);  // four neighbours, and a pidfd of 16 others
    ASSERT_TRUE(domain.rest(21)) << domain.last;
    for (const auto& peer : domain.peers) few = std::max(few, descriptors(peer->pid()));
  }
  ParkedDomain domain(60);
  ASSERT_TRUE(domain.rest(59)) << domain.last;
  // Closed links end on another thread.
  const auto deadline = Clock::now() + kPatience;
  for (const auto& peer : domain.peers) {
    while (descriptors(peer->pid()) > few && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LE(descriptors(peer->pid()), few);
  }
}

// The child has none of the parent's sockets: the parent's death is seen at once, although the child lives on.
TEST(HubProcesses, AForkedChildThatOutlivesItsKilledParentDoesNotKeepItAlive) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  ASSERT_NE(b.hears("up a"), "");
  b.tell("fork");
  EXPECT_NE(b.hears("child well"), "");
  const std::string answer = b.hears("child ");
  const pid_t child = std::atoi(answer.substr(6).c_str());
  ASSERT_GT(child, 0) << answer;
  a.tell("send 5");
  EXPECT_NE(b.hears("frame 5 1"), "") << "the parent goes on";
  b.tell("send 6");
  EXPECT_NE(a.hears("frame 6 1"), "");
  EXPECT_EQ(a.hears("down", std::chrono::milliseconds(100)), "");
  b.signal_and_wait(SIGKILL);
  EXPECT_NE(a.hears("down process 'b'"), "");
  EXPECT_TRUE(directory_has(directory, 1));
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(child, SIGKILL);
}

// A child made behind the C library's back keeps every descriptor. The pidfd still tells the parent's death.
TEST(HubProcesses, AChildMadeByARawCloneDoesNotKeepItsKilledParentAlive) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  ASSERT_NE(b.hears("up a"), "");
  b.tell("clone");
  const pid_t child = std::atoi(b.hears("child ").substr(6).c_str());
  ASSERT_GT(child, 0);
  b.signal_and_wait(SIGKILL);
  EXPECT_NE(a.hears("down process 'b'"), "");
  EXPECT_TRUE(directory_has(directory, 1));
  Peer c(directory, "c");
  EXPECT_NE(c.hears("up a"), "");
  ::kill(child, SIGKILL);
}

TEST(HubProcesses, AProcessThatExecutesAnotherProgramIsGone) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  b.tell("exec");
  EXPECT_NE(a.hears("down process 'b'"), "");
  EXPECT_TRUE(directory_has(directory, 1));
  EXPECT_EQ(::kill(b.pid(), 0), 0);
}

// A core dump delays the hang-up, since the kernel writes the core before it closes anything.
TEST(HubProcesses, AProcessThatDumpsItsCoreIsNoticedOnceItIsDone) {
  const TemporaryDirectory directory;
  Peer a(directory, "a");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  b.tell("core");
  ASSERT_NE(b.hears("core"), "");
  b.signal(SIGSEGV);
  EXPECT_NE(a.hears("down process 'b'"), "");
  EXPECT_TRUE(directory_has(directory, 1));
}

TEST(HubProcesses, OfDifferentUsersMeetInADirectorySharedByTheirGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start processes of other users";
  const TemporaryDirectory directory;
  constexpr gid_t kGroup = 54321;
  ASSERT_EQ(::chown(directory.path().c_str(), 54001, kGroup), 0);
  ASSERT_EQ(::chmod(directory.path().c_str(), 02770), 0);
  const std::string group = std::to_string(kGroup);
  Peer alice(directory, "alice", "", false, "54001", group);
  Peer bob(directory, "bob", "", false, "54002", group);
  EXPECT_NE(alice.hears("up bob"), "");
  EXPECT_NE(bob.hears("up alice"), "");
  Peer mallory(directory, "mallory", "", false, "54003", "54003");
  EXPECT_NE(mallory.hears("failed"), "");
  // And a private directory is its owner's alone.
  ASSERT_EQ(::chmod(directory.path().c_str(), 0700), 0);
  Peer carol(directory, "carol", "", false, "54002", group);
  EXPECT_NE(carol.hears("failed"), "");
}

TEST(HubProcesses, ATemporaryNameOfADeadProcessIsSweptAfterAWhile) {
  const TemporaryDirectory directory;
  Peer first(directory, "first");
  ASSERT_TRUE(first.ready());
  const auto made = Clock::now();
  {
    const auto opened = os::open_directory(-1, directory.path() + "/0");
    os::UniqueFd listener;
    ASSERT_EQ(os::listen_at(opened.fd.get(), directory.path() + "/0", "t-" + std::string(32, '7'), 0600, ~0U, listener),
              os::IoStatus::kDone);
  }
  Peer early(directory, "early");
  ASSERT_NE(early.hears("up first"), "");
  const std::size_t names = directory.names().size();
  // Ages are counted in begun seconds, two are enough: on a machine that took long, nothing can be said.
  if (Clock::now() - made < std::chrono::milliseconds(900)) {
    EXPECT_EQ(names, 3U) << "it might belong to somebody who is just starting";
  }
  std::this_thread::sleep_until(made + std::chrono::milliseconds(3100));
  Peer late(directory, "late");
  ASSERT_NE(late.hears("up early"), "");
  EXPECT_TRUE(directory_has(directory, 3)) << "the temporary name stays";
  for (const std::string& name : directory.names()) EXPECT_EQ(name[0], 'p');
}

TEST(HubProcesses, AProcessWithoutDescriptorsSaysSoAndRecovers) {
  const TemporaryDirectory directory;
  Peer a(directory, "full");
  ASSERT_TRUE(a.ready());
  a.tell("limit 0");
  ASSERT_NE(a.hears("limited"), "");
  Peer b(directory, "b");
  ASSERT_TRUE(b.ready());
  EXPECT_NE(a.hears("diagnostic out_of_descriptors"), "");
  // What it can accept with depends on which numbers are free; b hears a good reason, or nothing yet.
  b.tell("count");
  EXPECT_EQ(b.hears("count"), "count 0");
  a.tell("limit 1024");
  EXPECT_NE(a.hears("up b"), "");
  EXPECT_NE(b.hears("up full"), "");
}

TEST(HubProcesses, DescriptorsThatCannotBeReceivedEndTheConnectionUntilThereIsRoom) {
  const TemporaryDirectory directory;
  Peer a(directory, "full");
  Peer b(directory, "b");
  ASSERT_NE(a.hears("up b"), "");
  ASSERT_NE(b.hears("up full"), "");
  a.tell("limit 0");
  ASSERT_NE(a.hears("limited"), "");
  b.tell("send 10");
  EXPECT_NE(a.hears("diagnostic out_of_descriptors"), "");
  EXPECT_NE(a.hears("down"), "");
  a.tell("limit 1024");
  EXPECT_NE(a.hears("up b"), "");
  EXPECT_NE(b.hears("up full"), "");
  b.tell("send 11");
  EXPECT_NE(a.hears("frame 11 1"), "");
}

#ifdef BATON_CRASH_POINTS
// Whoever dies at any step of the way in, between or out: the survivors meet each other, notice the death if they had met the
// dead, and remove what it left.
TEST(HubProcesses, SurviveTheDeathOfAPeerAtEveryStep) {
  for (const std::string step :
       {"hub.listening", "hub.visible", "hub.connected", "hub.hello_sent", "hub.accepted", "hub.hello_received",
        "hub.answer_sent", "hub.up", "hub.packet_sent", "hub.sweep", "hub.name_removed", "hub.good_bye_sent"}) {
    for (const bool first : {true, false}) {
      SCOPED_TRACE(step + (first ? ", the dying one starts first" : ", the dying one starts last"));
      const TemporaryDirectory directory;
      if (step == "hub.sweep") {  // something to sweep
        Peer dead(directory, "dead");
        ASSERT_TRUE(dead.ready());
      }
      std::unique_ptr<Peer> doomed;
      if (first) {
        doomed = std::make_unique<Peer>(directory, "doomed", step);
        (void)doomed->hears("ready", std::chrono::milliseconds(100));
      }
      Peer a(directory, "a");
      ASSERT_TRUE(a.ready());
      if (!first) doomed = std::make_unique<Peer>(directory, "doomed", step);
      Peer b(directory, "b");
      EXPECT_NE(a.hears("up b"), "");
      EXPECT_NE(b.hears("up a"), "");
      (void)doomed->hears("up", std::chrono::milliseconds(50));
      doomed->tell("send 3");
      doomed->tell("quit");
      doomed->wait();
      a.tell("send 5");
      EXPECT_NE(b.hears("frame 5 1"), "");
      // Who died before anybody knew it is swept by the next that comes; a temporary name only after two seconds.
      Peer next(directory, "next");
      EXPECT_NE(a.hears("up next"), "");
      EXPECT_NE(next.hears("up b"), "");
      const auto deadline = Clock::now() + kPatience;
      std::size_t names = 0;
      std::string count;
      do {
        const auto all = directory.names();
        names = static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [](const std::string& n) { return n[0] == 'p'; }));
        a.tell("count");
        count = a.hears("count");
      } while ((names != 3 || count != "count 2") && Clock::now() < deadline);
      EXPECT_EQ(names, 3U);
      EXPECT_EQ(count, "count 2");
    }
  }
}

TEST(HubProcesses, NobodyKeepsAProcessThatDiesWhileItParksOrReopensALink) {
  for (const std::string step : {"hub.parked", "hub.reopened"}) {
    SCOPED_TRACE(step);
    ParkedDomain domain(7, step);
    if (step == "hub.reopened") {
      ASSERT_TRUE(domain.rest(6)) << domain.last;
      domain.peers[0]->tell("send 1000");  // to all
    }
    domain.peers[6]->wait();
    domain.kill(6);
    EXPECT_TRUE(domain.rest(5)) << domain.last;
    EXPECT_TRUE(directory_has(domain.directory, 6));
  }
}
#endif

struct Usage {
  long ticks = 0;
  long switches = 0;
  long rss_kib = 0;
  long private_kib = 0;
  long descriptors = 0;
};

Usage usage_of(pid_t pid) {
  Usage out;
  const std::string base = "/proc/" + std::to_string(pid);
  std::array<char, 4096> text{};
  if (FILE* file = std::fopen((base + "/stat").c_str(), "r")) {
    const std::size_t size = std::fread(text.data(), 1, text.size() - 1, file);
    text[size] = '\0';
    std::fclose(file);
    long user = 0;
    long system = 0;
    const char* after = std::strrchr(text.data(), ')');
    if (after != nullptr) std::sscanf(after + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system);
    out.ticks = user + system;
  }
  if (FILE* file = std::fopen((base + "/smaps_rollup").c_str(), "r")) {
    while (std::fgets(text.data(), text.size(), file) != nullptr) {
      long value = 0;
      if (std::sscanf(text.data(), "Rss: %ld", &value) == 1) out.rss_kib = value;
      if (std::sscanf(text.data(), "Private_Dirty: %ld", &value) == 1) out.private_kib += value;
    }
    std::fclose(file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(base + "/fd")) {
    (void)entry;
    ++out.descriptors;
  }
  return out;
}

// Prints what it measures; asserts only what no load of the machine can change.
TEST(HubProcesses, TwoHundredThatStartAtOnceAllMeetAndThenRest) {
  const TemporaryDirectory directory;
  const char* wanted = std::getenv("BATON_TEST_PROCESSES");
  const std::size_t count = wanted != nullptr ? static_cast<std::size_t>(std::atoi(wanted)) : 200;
  std::vector<std::unique_ptr<Peer>> peers;
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i)
    peers.push_back(std::make_unique<Peer>(directory, "p" + std::to_string(i), "", true));
  const auto spawned = Clock::now();
  for (auto& peer : peers) ASSERT_TRUE(peer->ready());
  const std::string all = "count " + std::to_string(count - 1);
  for (auto& peer : peers) {
    const auto deadline = Clock::now() + std::chrono::seconds(200);
    for (;;) {
      peer->tell("count");
      if (peer->hears("count") == all) break;
      ASSERT_LT(Clock::now(), deadline) << peer->unheard();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  const std::chrono::duration<double> matched = Clock::now() - start;
  const std::chrono::duration<double> spawning = spawned - start;
  const char* rest_text = std::getenv("BATON_TEST_REST_SECONDS");
  const int rest = rest_text != nullptr ? std::atoi(rest_text) : 5;
  long ticks = 0;
  Usage most;
  for (int attempt = 0; attempt < 6; ++attempt) {  // on a busy machine the last duplicates end late
    std::vector<Usage> before;
    for (auto& peer : peers) before.push_back(usage_of(peer->pid()));
    std::this_thread::sleep_for(std::chrono::seconds(rest));
    ticks = 0;
    most = {};
    for (std::size_t i = 0; i < count; ++i) {
      const Usage now = usage_of(peers[i]->pid());
      ticks += now.ticks - before[i].ticks;
      most.private_kib = std::max(most.private_kib, now.private_kib);
      most.descriptors = std::max(most.descriptors, now.descriptors);
    }
    if (ticks == 0) break;
  }
  std::printf(
      "%zu processes: all matched after %.2f s (starting them took %.2f s); in %d s of rest %ld ticks of CPU in all; "
      "at most "
      "%ld KiB of private memory and %ld descriptors each\n",
      count, matched.count(), spawning.count(), rest, ticks, most.private_kib, most.descriptors);
#if !defined(__SANITIZE_THREAD__)  // whose runtime has a clockwork of its own
  EXPECT_EQ(ticks, 0);
#endif
  EXPECT_LT(most.descriptors, 1024);
  for (auto& peer : peers) peer->tell("quit");
  for (auto& peer : peers) peer->wait();
  EXPECT_TRUE(directory.names().empty());
}

}  // namespace
}  // namespace baton::transport
