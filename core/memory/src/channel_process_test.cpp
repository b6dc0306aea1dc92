// SPDX-License-Identifier: Apache-2.0
// Real processes over memfd memory, killed with SIGKILL at random moments: handles are conserved (each pushed handle comes back
// exactly once after the connection ends), nothing is torn, and nobody sleeps forever.
#include <gtest/gtest.h>

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <random>
#include <vector>

#include "baton/memory/channel.hpp"

namespace baton::memory {
namespace {

using P = StdPlatform;
constexpr std::uint32_t kDepth = 4, kHeld = 3, kEntries = kDepth + kHeld;
constexpr std::size_t kRingBytes = 4096, kSegmentBytes = 4096;
constexpr std::size_t kChunks = kEntries + 1;

/// Content of one message; the publisher fills every word with the sequence number.
struct Content {
  std::uint64_t words[8];
};

/// What the processes share. Everything lies in one memfd here; who may write what is the protocol's matter.
struct Shared {
  alignas(64) std::byte ring[kRingBytes];
  alignas(64) std::byte segment[kSegmentBytes];
  alignas(64) WakeWord<P> event;
  alignas(64) Content chunks[kChunks];
  alignas(64) std::atomic<std::uint64_t> taken;  // by the child, for the test's own accounting
  std::atomic<std::uint32_t> failed;             // the child saw something torn or out of order
};

class Memory {
 public:
  Memory() {
    const int fd = static_cast<int>(syscall(SYS_memfd_create, "baton-test", 1U /* MFD_CLOEXEC */));
    EXPECT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, sizeof(Shared)), 0);
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(memory, MAP_FAILED);
    close(fd);
    shared_ = static_cast<Shared*>(memory);
  }
  ~Memory() { munmap(shared_, sizeof(Shared)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Shared* operator->() const { return shared_; }
  RingLayout<P> ring() const { return RingLayout<P>::at(shared_->ring, kDepth); }
  ConnectionLayout<P> segment() const { return ConnectionLayout<P>::at(shared_->segment, kEntries); }

 private:
  Shared* shared_;
};

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}
void wake_all(WakeWord<P>& event) { syscall(SYS_futex, &event, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }
void spin_ns(std::int64_t ns) {
  for (const std::int64_t end = now_ns() + ns; now_ns() < end;) {
  }
}

/// The sources of wait_round for a process with one connection.
struct Sources {
  Memory& memory;
  ChannelReader<P>& reader;
  std::uint32_t seen = 0;
  bool timed_out = false;
  template <class F>
  void for_each_event(F&& f) {
    f(memory->event, seen);
  }
  template <class F>
  void for_each_sleeping(F&& f) {
    f(*memory.segment().sleeping, Sleeping::kFutex);
  }
  bool ready() { return reader.queue().ready(); }
  void sleep() {
    const timespec limit{10, 0};
    if (syscall(SYS_futex, &memory->event, FUTEX_WAIT, seen, &limit, nullptr, 0) != 0 && errno == ETIMEDOUT)
      timed_out = true;
  }
};

/// Runs until killed: takes, checks, holds up to kHeld samples, gives them back in random order, sleeps when empty.
[[noreturn]] void run_reader(Memory& memory, unsigned seed, std::uint64_t until) {
  ChannelReader<P> reader(memory.ring(), memory.segment());
  std::minstd_rand random(seed);
  QueuedMessage held[kHeld];
  std::size_t count = 0;
  std::uint64_t last = 0;
  const auto good = [&](const QueuedMessage& message) {
    for (std::uint64_t word : memory->chunks[message.handle].words) {
      if (word != message.sequence) return false;
    }
    return true;
  };
  while (last < until) {
    if (count == kHeld || (count > 0 && random() % 3 == 0)) {
      const std::size_t i = random() % count;
      if (!good(held[i])) memory->failed = 1;  // still intact at the end of the hold
      reader.releases().release(held[i].entry);
      held[i] = held[--count];
      continue;
    }
    QueuedMessage message{};
    const QueueStatus status = reader.queue().take(&message);
    if (status == QueueStatus::kCorrupted) memory->failed = 2;
    if (status == QueueStatus::kOk) {
      if (message.sequence <= last || message.handle >= kChunks || !good(message)) memory->failed = 3;
      last = message.sequence;
      ++memory->taken;
      held[count++] = message;
    } else if (status == QueueStatus::kEmpty) {
      Sources sources{memory, reader};
      wait_round<P>(sources);
      if (sources.timed_out) memory->failed = 4;
    }
  }
  _exit(0);
}

pid_t start(const std::vector<int>& close_in_child, void (*body)(void*), void* argument) {
  const pid_t child = fork();
  if (child == 0) {
    for (int fd : close_in_child) close(fd);
    alarm(60);
    body(argument);
    _exit(0);
  }
  return child;
}

/// The publisher's private bookkeeping, in this process.
struct Publisher {
  explicit Publisher(Memory& m) : memory(m), writer(m.ring(), m.segment(), kDepth) {}
  void publish() {
    ASSERT_TRUE(writer.collect([this](std::uint64_t h) { back(h); }));
    std::size_t free = 0;
    while (free < kChunks && references[free] != 0) ++free;
    ASSERT_LT(free, kChunks);
    ++sequence;
    for (std::uint64_t& word : memory->chunks[free].words) word = sequence;
    references[free] = 1;
    ASSERT_EQ(writer.push(free, 0, sequence, [this](std::uint64_t h) { back(h); }), PushStatus::kPushed);
    const int one[] = {0};
    if (signal<P>(
            memory->event, one, [this](int) -> WakeWord<P>& { return *memory.segment().sleeping; }, [](int) {})) {
      wake_all(memory->event);
    }
  }
  void back(std::uint64_t handle) {
    ASSERT_LT(handle, kChunks);
    ASSERT_EQ(references[handle], 1);
    references[handle] = 0;
    ++came_back;
  }
  Memory& memory;
  ChannelWriter<P> writer;
  int references[kChunks] = {};
  std::uint64_t sequence = 0, came_back = 0;
};

TEST(ChannelProcesses, AReaderKilledAtAnyMomentCostsNothingButItsConnection) {
  std::mt19937 random(42);
  std::uint64_t pushed = 0, taken = 0;
  for (int round = 0; round < 150; ++round) {
    Memory memory;
    struct Job {
      Memory* memory;
      unsigned seed;
    } job{&memory, static_cast<unsigned>(round) + 1};
    const pid_t child = start(
        {}, [](void* j) { run_reader(*static_cast<Job*>(j)->memory, static_cast<Job*>(j)->seed, ~std::uint64_t{0}); },
        &job);
    ASSERT_GT(child, 0);
    Publisher publisher(memory);
    const std::int64_t kill_at = now_ns() + 200'000 + static_cast<std::int64_t>(random() % 2'000'000);
    bool killed = false;
    std::uint64_t after = 0;
    while (after < 50) {
      publisher.publish();
      if (HasFatalFailure()) break;
      if (killed) ++after;  // the publisher goes on: its queue only overflows
      if (!killed && now_ns() >= kill_at) {
        kill(child, SIGKILL);
        killed = true;
      }
      spin_ns(random() % 8 == 0 ? 30'000 : static_cast<std::int64_t>(random() % 2000));
    }
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    publisher.writer.end([&](std::uint64_t h) { publisher.back(h); });
    EXPECT_EQ(publisher.came_back, publisher.sequence) << "each pushed handle comes back exactly once";
    EXPECT_EQ(memory->failed.load(), 0U);
    EXPECT_LE(memory->taken.load(), publisher.sequence);
    pushed += publisher.sequence;
    taken += memory->taken.load();
  }
  RecordProperty("pushed", std::to_string(pushed));
  RecordProperty("taken", std::to_string(taken));
  EXPECT_GT(taken, 0U);
}

TEST(ChannelProcesses, APublisherKilledAtAnyMomentLeavesReadableMessagesAndNobodyAsleep) {
  std::mt19937 random(43);
  std::uint64_t all = 0;
  for (int round = 0; round < 150; ++round) {
    Memory memory;
    int life[2];  // the child's end closes with it: what the socket's hang-up is in transport
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, life), 0);
    const pid_t child = start(
        {life[0]},
        [](void* m) {
          Publisher publisher(*static_cast<Memory*>(m));
          std::minstd_rand pace(static_cast<unsigned>(getpid()));
          for (;;) {
            publisher.publish();
            spin_ns(pace() % 8 == 0 ? 20'000 : static_cast<std::int64_t>(pace() % 1000));
          }
        },
        &memory);
    ASSERT_GT(child, 0);
    close(life[1]);
    ChannelReader<P> reader(memory.ring(), memory.segment());
    const std::int64_t kill_at = now_ns() + 100'000 + static_cast<std::int64_t>(random() % 1'500'000);
    const std::int64_t watchdog = now_ns() + 20'000'000'000LL;
    bool killed = false, gone = false;
    std::uint64_t last = 0;
    for (;;) {
      QueuedMessage message{};
      const QueueStatus status = reader.queue().take(&message);
      ASSERT_NE(status, QueueStatus::kCorrupted) << "round " << round;
      if (status == QueueStatus::kOk) {
        ASSERT_GT(message.sequence, last);
        ASSERT_LT(message.handle, kChunks);
        for (std::uint64_t word : memory->chunks[message.handle].words) ASSERT_EQ(word, message.sequence);
        last = message.sequence;
        ++all;
        reader.releases().release(message.entry);
      } else if (gone) {
        break;  // drained after the hang-up
      } else {
        // As in transport: sleep on the event; the background thread's part (watching the socket) is done by a short slice.
        Sources sources{memory, reader};
        sources.for_each_event([](WakeWord<P>& event, std::uint32_t& seen) { seen = capture_event<P>(event); });
        announce_sleep<P>(*memory.segment().sleeping, Sleeping::kFutex);
        announced_sleep<P>();
        if (!sources.ready()) {
          const timespec slice{0, 1'000'000};
          syscall(SYS_futex, &memory->event, FUTEX_WAIT, sources.seen, &slice, nullptr, 0);
        }
        announce_awake<P>(*memory.segment().sleeping);
        pollfd end{life[0], POLLIN, 0};
        if (poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0) gone = true;
      }
      if (!killed && now_ns() >= kill_at) {
        kill(child, SIGKILL);
        killed = true;
      }
      ASSERT_LT(now_ns(), watchdog);
    }
    // The publisher may have died after it handed the last message over, and before it counted it.
    const std::uint64_t head = memory.ring().head->load();
    const std::uint64_t newest = messages_up_to(memory.ring().slot_table[head & (kDepth - 1)].entry.load());
    EXPECT_EQ(last, std::max(head, newest)) << "the last published message is never lost";
    int status = 0;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(life[0]);
  }
  EXPECT_GT(all, 0U);
}

TEST(ChannelProcesses, NoWakeUpIsLostBetweenProcesses) {
  Memory memory;
  const pid_t child = start(
      {}, [](void* m) { run_reader(*static_cast<Memory*>(m), 7, 5000); }, &memory);
  ASSERT_GT(child, 0);
  Publisher publisher(memory);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    publisher.publish();
    // Long enough for the reader to fall asleep most of the time: every publish then needs its wake-up.
    spin_ns(static_cast<std::int64_t>(random() % 40'000));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0),
            child);  // the reader ends when it has seen message 5000; its alarm(60) is the watchdog
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(memory->failed.load(), 0U);
}

}  // namespace
}  // namespace baton::memory
