// SPDX-License-Identifier: Apache-2.0
// A swarm of publishers and subscribers that are killed, stopped, starved of descriptors and disconnected at random, while their held
// samples are checked all the time. Survivors must end with empty accounts, the descriptors that they began with, and an empty
// directory.
//
//   swarm_tests [--seconds N] [--kills N] [--seed N]
//
// The conductor has no hub and one thread, so it may fork: a member is there in less than a millisecond. Members are judged by a
// page of counters (board.hpp), which outlives them. No rule is a number of seconds; what hangs runs into a watchdog.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <thread>

#include "member.hpp"
#include "support/own_domain.hpp"

namespace baton::swarm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

struct Options {
  double seconds = 10;
  std::uint64_t kills = 0;  // 0: as many as there are in `seconds`
  std::uint64_t seed = 0;
};
Options g_options;

constexpr unsigned kSurvivors = 3;
constexpr unsigned kMembers = 8;  // alive at a time, beside the survivors
constexpr auto kPatience = 60s;

std::uint32_t open_descriptors() {
  std::uint32_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (directory != nullptr && ::readdir(directory) != nullptr) ++count;
  if (directory != nullptr) ::closedir(directory);
  return count;
}

// Sends a packet that no version knows on one of this process's connections: its other end must end the connection, while this
// process lives and reads on.
bool break_a_connection(Random& random) {
  const int first = static_cast<int>(below(random, 64));
  for (int i = 0; i < 64; ++i) {
    const int fd = 3 + (first + i) % 64;
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) continue;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens != 0) continue;
    const unsigned char packet[8] = {0x99, 0x09};
    if (::send(fd, packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) return true;
  }
  return false;
}

/// A process that makes no step for so long hangs, and its SIGALRM ends the test.
void watch_for_a_hang() { ::alarm(600); }

void begin_child() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no process outlives the conductor
  watch_for_a_hang();
}

[[noreturn]] void member(Board& board, Card& card, std::uint64_t seed, std::uint64_t id) {
  begin_child();
  Random random(seed);
  rlimit normal{};
  ::getrlimit(RLIMIT_NOFILE, &normal);
  Member self(board, card, random, id);
  const unsigned stays = 1 + below(random, 200);  // steps, unless it is killed before
  bool starving = false;
  for (unsigned step = 0; step < stays; ++step) {
    card.beat.fetch_add(1, std::memory_order_relaxed);
    try {
      if (!self.joined()) {
        if (self.held() == 0 || chance(random, 6)) self.join(below(random, 3), 1 + below(random, 3));
        self.verify(true);
        ::usleep(below(random, 2000));
        if (chance(random, 3)) self.release(1);
        continue;
      }
      self.publish();
      self.take();
      self.verify(false);
      self.wait();
      self.take();
      if (chance(random, 2)) self.release(below(random, 3));
      if (chance(random, 25)) {
        self.leave();
      } else if (chance(random, 40)) {
        self.replace_a_subscription();
      } else if (chance(random, 40)) {
        self.trim();
      } else if (chance(random, 60)) {
        if (break_a_connection(random)) card.broken.fetch_add(1, std::memory_order_relaxed);
      } else if (chance(random, 30)) {
        starving = !starving;
        rlimit limit = normal;
        if (starving) limit.rlim_cur = open_descriptors();
        ::setrlimit(RLIMIT_NOFILE, &limit);
        card.starved.fetch_add(starving, std::memory_order_relaxed);
      }
    } catch (const Exception& error) {
      // Without descriptors, joining and making endpoints may fail as documented.
      if (!starving) board.fail("a member: %s", error.what());
      ::setrlimit(RLIMIT_NOFILE, &normal);
      starving = false;
    }
  }
  if (chance(random, 2)) {
    self.release_all();
    if (self.joined()) self.leave();
  }
  ::_exit(0);
}

[[noreturn]] void survivor(Board& board, Card& card, std::uint64_t seed, std::uint64_t id) {
  begin_child();
  Random random(seed);
  Member self(board, card, random, id);
  try {
    self.join(kTopics, kTopics);
    while (self.matched_publishers() < kSurvivors * kTopics) {
      card.beat.fetch_add(1, std::memory_order_relaxed);
      ::usleep(1000);
    }
    for (;;) {
      watch_for_a_hang();
      card.beat.fetch_add(1, std::memory_order_relaxed);
      const Phase phase = board.phase.load(std::memory_order_relaxed);
      if (phase == Phase::kRun) {
        card.ready.store(1, std::memory_order_relaxed);
        self.publish();
        self.take();
        self.verify(false);
        self.wait();
        if (chance(random, 2)) self.release(below(random, 4));
        if (chance(random, 200)) self.trim();
        continue;
      }
      self.take();
      self.release_all();
      card.slots.store(self.slots_in_use(), std::memory_order_relaxed);
      card.segments.store(self.segments(), std::memory_order_relaxed);
      card.descriptors.store(open_descriptors() - self.segments(), std::memory_order_relaxed);
      card.ready.store(2, std::memory_order_relaxed);
      if (phase == Phase::kEnd) break;
      ::usleep(2000);
    }
    self.leave();
  } catch (const Exception& error) {
    board.fail("a survivor: %s", error.what());
  }
  ::_exit(0);
}

class Swarm : public test::DomainTest {
 protected:
  struct Process {
    pid_t pid = 0;
    unsigned card = 0;
    Clock::time_point dies, goes_on, beat_seen;
    std::uint64_t beat = 0;
    bool stopped = false, dying = false;
  };

  void SetUp() override {
    ::setenv("BATON_DOMAIN", "0", 1);
    board_ = Board::make();
    ASSERT_NE(board_, nullptr);
  }
  void TearDown() override {
    for (const auto* processes : {&members_, &survivors_}) {
      for (const Process& process : *processes) ::kill(process.pid, SIGKILL);
    }
    while (::wait(nullptr) > 0) {
    }
  }

  Card& card(unsigned index) { return board_->cards[index]; }

  template <class Role>
  Process start(unsigned index, Role role) {
    const std::uint64_t seed = random_(), id = ++started_;
    card(index).~Card();
    new (&card(index)) Card();
    Process process;
    process.card = index;
    process.pid = ::fork();
    if (process.pid == 0) role(*board_, card(index), seed, id);
    process.beat_seen = Clock::now();
    return process;
  }

  // False, with a failure, once something went wrong.
  bool fine() {
    if (board_->errors.load(std::memory_order_acquire) == 0) return true;  // pairs with the count in Board::fail
    ::usleep(10000);                                                       // the text follows the count
    ADD_FAILURE() << board_->error << " (after " << kills_ << " kills, seed " << g_options.seed << ")";
    return false;
  }

  bool alive(const Process& process) {
    int status = 0;
    if (::waitpid(process.pid, &status, WNOHANG) != process.pid) return true;
    last_status_ = status;
    return false;
  }

  // A process that is not stopped gets on.
  bool watch(Process& process, Clock::time_point now) {
    const std::uint64_t beat = card(process.card).beat.load(std::memory_order_relaxed);
    if (beat != process.beat || process.stopped) {
      process.beat = beat;
      process.beat_seen = now;
    }
    if (now - process.beat_seen < kPatience) return true;
    ADD_FAILURE() << "process " << process.pid << " hangs (after " << kills_ << " kills, seed " << g_options.seed
                  << ")";
    return false;
  }

  template <class Condition>
  bool eventually(Condition&& condition) {
    const auto end = Clock::now() + kPatience;
    while (!condition()) {
      if (Clock::now() > end || !fine()) return false;
      ::usleep(1000);
    }
    return true;
  }

  bool survivors_are(std::uint32_t state) {
    for (const Process& process : survivors_) {
      if (card(process.card).ready.load(std::memory_order_relaxed) != state) return false;
    }
    return true;
  }
  std::uint64_t survivors_slots() {
    std::uint64_t slots = 0;
    for (const Process& process : survivors_) slots += card(process.card).slots.load(std::memory_order_relaxed);
    return slots;
  }
  std::vector<std::uint32_t> survivors_descriptors() {
    std::vector<std::uint32_t> descriptors;
    for (const Process& process : survivors_)
      descriptors.push_back(card(process.card).descriptors.load(std::memory_order_relaxed));
    return descriptors;
  }

  // Nobody has more descriptors than `before`, but for the segments of other survivors from which it never took a message: such a
  // segment is not mapped yet, and its descriptor is kept.
  bool descriptors_returned(const std::vector<std::uint32_t>& before) {
    std::uint32_t segments = 0;
    for (const Process& process : survivors_) segments += card(process.card).segments.load(std::memory_order_relaxed);
    const auto now = survivors_descriptors();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] > before[i] + segments) return false;
    }
    return true;
  }

  void count_up(const Card& card) {
    published_ += card.published.load(std::memory_order_relaxed);
    taken_ += card.taken.load(std::memory_order_relaxed);
    verified_ += card.verified.load(std::memory_order_relaxed);
    kept_ += card.kept_past_node.load(std::memory_order_relaxed);
    starved_ += card.starved.load(std::memory_order_relaxed);
    broken_ += card.broken.load(std::memory_order_relaxed);
    given_up_ += card.given_up.load(std::memory_order_relaxed);
  }

  bool conduct();
  bool step(Clock::time_point now);
  void report();

  Board* board_ = nullptr;
  Random random_{g_options.seed};
  std::vector<Process> members_, survivors_;
  Clock::time_point next_stop_;
  std::uint64_t started_ = 0, kills_ = 0, stops_ = 0, ends_ = 0;
  std::uint64_t published_ = 0, taken_ = 0, verified_ = 0, kept_ = 0, starved_ = 0, broken_ = 0, given_up_ = 0;
  int last_status_ = 0;
};

void Swarm::report() {
  std::cout << kills_ << " kills, " << ends_ << " ends, " << stops_ << " stops, " << kept_
            << " nodes ended with samples kept, " << broken_ << " connections broken by frames that are none, "
            << starved_ << " times without descriptors, " << given_up_ << " disconnections noticed; " << published_
            << " published, " << taken_ << " taken, " << verified_ << " checks" << std::endl;
}

// One look at every process: kills, stops or resumes it, or starts it anew if it has ended.
bool Swarm::step(Clock::time_point now) {
  if (now >= next_stop_) {
    next_stop_ = now + std::chrono::milliseconds(below(random_, 100));
    const unsigned chosen = below(random_, members_.size() + survivors_.size());
    Process& process = chosen < members_.size() ? members_[chosen] : survivors_[chosen - members_.size()];
    if (!process.stopped) {
      ::kill(process.pid, SIGSTOP);
      process.stopped = true;
      ++stops_;
      // Mostly short; now and then so long that the others disconnect it.
      const bool lasting = chance(random_, 10);
      process.goes_on = now + (lasting ? 1500ms : std::chrono::milliseconds(below(random_, 30)));
      if (lasting) process.dies = std::max(process.dies, process.goes_on + 50ms);
    }
  }
  for (auto* processes : {&members_, &survivors_}) {
    for (Process& process : *processes) {
      if (process.stopped && now >= process.goes_on) {
        ::kill(process.pid, SIGCONT);
        process.stopped = false;
      }
      if (!watch(process, now)) return false;
    }
  }
  for (Process& process : survivors_) {
    if (!alive(process)) {
      ADD_FAILURE() << "a survivor ended with status " << last_status_ << " (after " << kills_ << " kills, seed "
                    << g_options.seed << ")";
      return false;
    }
  }
  for (Process& process : members_) {
    if (now >= process.dies && !process.dying) {
      ::kill(process.pid, SIGKILL);
      process.dying = true;
    }
    if (alive(process)) continue;
    if (WIFSIGNALED(last_status_) && WTERMSIG(last_status_) == SIGKILL) {
      ++kills_;
    } else if (WIFEXITED(last_status_) && WEXITSTATUS(last_status_) == 0) {
      ++ends_;
    } else {
      ADD_FAILURE() << "a member ended with status " << last_status_ << " (after " << kills_ << " kills, seed "
                    << g_options.seed << ")";
      return false;
    }
    count_up(card(process.card));
    process = start(process.card, member);
    // Half of them in the midst of joining, the others later.
    const auto most = below(random_, 2) == 0 ? 10'000 : 100'000;
    process.dies = now + std::chrono::microseconds(below(random_, most));
    if (below(random_, 8) == 0) process.dies = now + 10s;  // ends by itself
  }
  return true;
}

bool Swarm::conduct() {
  for (unsigned i = 0; i < kSurvivors; ++i) survivors_.push_back(start(i, survivor));
  if (!eventually([&] { return survivors_are(1); })) return false;
  // Their resources while no message is on its way: they must have as many at the end.
  board_->phase.store(Phase::kDrain, std::memory_order_relaxed);
  std::vector<std::uint32_t> descriptors;
  int same = 0;
  if (!eventually([&] {
        const auto now = survivors_descriptors();
        same = survivors_are(2) && now == descriptors ? same + 1 : 0;
        descriptors = now;
        return same >= 100;
      }))
    return false;
  board_->phase.store(Phase::kRun, std::memory_order_relaxed);
  for (unsigned i = 0; i < kMembers; ++i) {
    members_.push_back(start(kSurvivors + i, member));
    members_.back().dies = Clock::now() + std::chrono::milliseconds(below(random_, 100));
  }

  const auto begin = Clock::now();
  auto told = begin;
  for (;;) {
    const auto now = Clock::now();
    if (g_options.kills > 0 ? kills_ + kept_ + broken_ >= g_options.kills
                            : now - begin > std::chrono::duration<double>(g_options.seconds))
      break;
    if (!fine() || !step(now)) return false;
    if (now - told > 60s) {
      told = now;
      report();
    }
    ::usleep(200);
  }

  for (Process& process : members_) {
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, &last_status_, 0);
    ++kills_;
    count_up(card(process.card));
  }
  members_.clear();
  for (Process& process : survivors_) ::kill(process.pid, SIGCONT);
  board_->phase.store(Phase::kDrain, std::memory_order_relaxed);
  // All memory and descriptors come back.
  const bool returned =
      eventually([&] { return survivors_are(2) && survivors_slots() == 0 && descriptors_returned(descriptors); });
  for (std::size_t i = 0; i < survivors_.size(); ++i) {
    const Card& now = card(survivors_[i].card);
    EXPECT_EQ(now.slots.load(std::memory_order_relaxed), 0U)
        << "slots of survivor " << i << " are pinned, seed " << g_options.seed;
  }
  EXPECT_TRUE(descriptors_returned(descriptors)) << "descriptors leaked, seed " << g_options.seed;
  board_->phase.store(Phase::kEnd, std::memory_order_relaxed);
  for (Process& process : survivors_) {
    ::waitpid(process.pid, &last_status_, 0);
    EXPECT_EQ(last_status_, 0);
    count_up(card(process.card));
  }
  survivors_.clear();
  return returned && fine();
}

TEST_F(Swarm, HeldSamplesStayAndAllChunksComeBackHoweverTheOtherProcessesEnd) {
  const bool good = conduct();
  report();
  ASSERT_TRUE(good);
  EXPECT_GT(kills_, 0U);
  EXPECT_GT(kept_, 0U);
  // Newcomers remove names of killed processes; temporary names once they are two seconds old.
  const auto sockets = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) count += entry.is_socket();
    return count;
  };
  const auto end = Clock::now() + kPatience;
  do {
    const Node sweeper("sweeper");
    std::this_thread::sleep_for(50ms);
  } while (sockets() > 0 && Clock::now() < end);
  EXPECT_EQ(sockets(), 0U) << "in " << directory_;
}

}  // namespace
}  // namespace baton::swarm

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto& options = baton::swarm::g_options;
  options.seed = static_cast<std::uint64_t>(::time(nullptr));
  if (const char* seconds = std::getenv("BATON_SWARM_SECONDS")) options.seconds = std::atof(seconds);
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
    if (name == "--kills") options.kills = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return RUN_ALL_TESTS();
}
