// SPDX-License-Identifier: Apache-2.0
// The cost of a hand-over: between two spinning processes, compared with a bare cache-line hand-over in the same run,
// and per call in one thread. Prints medians and the 5..95 % range over blocks; raw block medians as JSON with --json
// FILE.
//   channel_bench [--blocks N] [--rounds N] [--cpus A,B] [--json FILE]
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "baton/memory/channel.hpp"

namespace {

using namespace baton::memory;
using P = StdPlatform;
constexpr std::uint32_t kDepth = 8, kHeld = 4;

/// One direction: a connection with its event word.
struct alignas(64) Line {
  alignas(64) std::byte ring[RingLayout<P>::bytes(kDepth)];
  alignas(64) std::byte segment[ConnectionLayout<P>::bytes(kDepth + kHeld)];
  alignas(64) WakeWord<P> event;
  RingLayout<P> ring_view() { return RingLayout<P>::at(ring, kDepth); }
  ConnectionLayout<P> segment_view() { return ConnectionLayout<P>::at(segment, kDepth + kHeld); }
};
struct Shared {
  Line there, back;
  alignas(64) std::atomic<std::uint64_t> bare_there, bare_back;
};

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}
void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    std::fprintf(stderr, "cannot pin to CPU %d; measuring unpinned\n", cpu);
}

struct Sender {
  explicit Sender(Line& l) : line(l), writer(l.ring_view(), l.segment_view(), kDepth) {}
  void send(bool with_signal) {
    const auto released = [](std::uint64_t) {};
    writer.collect(released);
    ++sequence;
    writer.push(sequence, 0, sequence, released);
    if (with_signal) {
      const int one[] = {0};
      if (signal<P>(
              line.event, one, [this](int) -> WakeWord<P>& { return *line.segment_view().sleeping; }, [](int) {})) {
        std::abort();  // no reader sleeps in this benchmark
      }
    }
  }
  Line& line;
  ChannelWriter<P> writer;
  std::uint64_t sequence = 0;
};
struct Receiver {
  explicit Receiver(Line& l) : reader(l.ring_view(), l.segment_view()) {}
  void receive() {
    QueuedMessage message{};
    while (reader.queue().take(&message) != QueueStatus::kOk) pause_cpu();
    reader.releases().release(message.entry);
  }
  ChannelReader<P> reader;
};

enum class Kind { kBare, kChannel, kWithSignal };
constexpr Kind kKinds[] = {Kind::kBare, Kind::kChannel, Kind::kWithSignal};

/// One side of the ping-pong; the same sequence of blocks on both sides.
struct Side {
  Side(Shared& s, bool starts)
      : shared(s), starter(starts), out(starts ? s.there : s.back), in(starts ? s.back : s.there) {}
  void round(Kind kind) {
    if (kind == Kind::kBare) {
      ++bare;
      auto& mine = starter ? shared.bare_there : shared.bare_back;
      auto& other = starter ? shared.bare_back : shared.bare_there;
      if (starter) mine.store(bare, std::memory_order_release);           // pairs with the load of the other side
      while (other.load(std::memory_order_acquire) != bare) pause_cpu();  // pairs with the store of the other side
      if (!starter) mine.store(bare, std::memory_order_release);
      return;
    }
    if (starter) out.send(kind == Kind::kWithSignal);
    in.receive();
    if (!starter) out.send(kind == Kind::kWithSignal);
  }
  Shared& shared;
  bool starter;
  Sender out;
  Receiver in;
  std::uint64_t bare = 0;
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

template <class F>
double per_call(int calls, F&& f) {
  std::vector<double> blocks;
  for (int block = 0; block < 101; ++block) {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) f();
    blocks.push_back((now_ns() - start) / calls);
  }
  return quantile(blocks, 0.5);
}

void one_thread() {
  static Shared shared;
  Sender sender(shared.there);
  Receiver receiver(shared.there);
  const auto released = [](std::uint64_t) {};
  std::uint64_t sequence = 0;
  const double cycle = per_call(1000, [&] {
    sender.writer.collect(released);
    sender.writer.push(1, 0, ++sequence, released);
    receiver.receive();
  });
  const double overflow = per_call(1000, [&] { sender.writer.push(1, 0, ++sequence, released); });
  const int one[] = {0};
  const double wake = per_call(1000, [&] {
    if (signal<P>(
            shared.there.event, one, [&](int) -> WakeWord<P>& { return *shared.there.segment_view().sleeping; },
            [](int) {})) {
      std::abort();
    }
  });
  std::printf(
      "one thread:  collect+push+take+release %.1f ns, push with eviction %.1f ns, signal to 1 awake reader %.1f ns\n",
      cycle, overflow, wake);
}

}  // namespace

int main(int argc, char** argv) {
  int blocks = 60, rounds = 2000, cpu_a = 0, cpu_b = 1;
  std::string json;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--blocks")
      blocks = std::atoi(argv[i + 1]);
    else if (option == "--rounds")
      rounds = std::atoi(argv[i + 1]);
    else if (option == "--json")
      json = argv[i + 1];
    else if (option == "--cpus")
      std::sscanf(argv[i + 1], "%d,%d", &cpu_a, &cpu_b);
  }
  one_thread();

  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *static_cast<Shared*>(memory);
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(300);
    pin(cpu_b);
    Side side(shared, false);
    for (int block = 0; block < blocks; ++block) {
      for (Kind kind : kKinds) {
        for (int i = 0; i < rounds; ++i) side.round(kind);
      }
    }
    _exit(0);
  }
  alarm(300);
  pin(cpu_a);
  std::vector<double> medians[3];
  {
    Side side(shared, true);
    std::vector<double> times(static_cast<std::size_t>(rounds));
    for (int block = 0; block < blocks; ++block) {  // interleaved, so that all kinds meet the same noise
      for (std::size_t k = 0; k < 3; ++k) {
        for (double& time : times) {
          const double start = now_ns();
          side.round(kKinds[k]);
          time = (now_ns() - start) / 2;  // one way
        }
        medians[k].push_back(quantile(times, 0.5));
      }
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  const char* const names[] = {"bare cache line", "push -> take", "push + signal -> take"};
  std::printf("two processes spinning on CPUs %d and %d, one way, %d blocks of %d round trips:\n", cpu_a, cpu_b, blocks,
              rounds);
  for (std::size_t k = 0; k < 3; ++k) {
    std::printf("  %-22s %7.1f ns  [%.1f, %.1f]\n", names[k], quantile(medians[k], 0.5), quantile(medians[k], 0.05),
                quantile(medians[k], 0.95));
  }
  const double above = quantile(medians[2], 0.5) - quantile(medians[0], 0.5);
  std::printf("  a hand-over costs %.0f ns above a bare cache line\n", above);
  if (!json.empty()) {
    std::FILE* const file = std::fopen(json.c_str(), "w");
    if (file == nullptr) return 1;
    std::fprintf(file, "{\"rounds\": %d, \"cpus\": [%d, %d], \"one_way_ns\": {", rounds, cpu_a, cpu_b);
    for (std::size_t k = 0; k < 3; ++k) {
      std::fprintf(file, "%s\"%s\": [", k == 0 ? "" : ", ", names[k]);
      for (std::size_t i = 0; i < medians[k].size(); ++i)
        std::fprintf(file, "%s%.1f", i == 0 ? "" : ", ", medians[k][i]);
      std::fprintf(file, "]");
    }
    std::fprintf(file, "}}\n");
    std::fclose(file);
  }
  return 0;
}
