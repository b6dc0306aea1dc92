// SPDX-License-Identifier: Apache-2.0
// `baton_real_time_accept`: the real-time profile of shared objects (docs/guides/shared-objects.md). A periodic
// SCHED_FIFO node makes an object and pushes it to the queue of a second SCHED_FIFO process, which pulls and drops it.
// Processes of ordinary priority load every CPU. baton::RealTimeCheck counts heap calls, page faults and system calls
// of both threads: all three must stay 0. Prints the distributions of lateness (TZC, Fig. 8) and hand-over, and of
// cyclictest under the same load, if it is installed.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/process.hpp"
#include "baton/os/real_time.hpp"
#include "baton/os/real_time_check.hpp"
#include "figures.hpp"

namespace real_time {

namespace bs = baton::objects;

struct Command {
  std::uint64_t number = 0;
  std::int64_t pushed_ns = 0;
  unsigned char joints[4000] = {};
};
struct Counts {
  std::atomic<bool> counted{false};
  std::atomic<std::uint64_t> heap_calls{0}, faults{0}, calls{0};
  std::atomic<long> first_call{0};
};
struct HeapGraph {
  bs::queue<bs::shared_ptr<const Command>, 16> commands;
  bs::binary_semaphore ready{0};
  Counts node, puller;
};

}  // namespace real_time

template <>
struct baton::objects::declared_shareable<real_time::HeapGraph> : baton::objects::recoverable {};

namespace real_time {

constexpr int kWarmUp = 500;

void keep(const baton::RealTimeReport& report, Counts& out) {
  out.heap_calls = report.heap_calls;
  out.faults = report.minor_faults + report.major_faults;
  out.calls = report.system_calls;
  out.first_call = report.first_calls[0];
  out.counted = true;
}

void become_real_time(int priority) {
  if (baton::Result<void> fifo = baton::os::run_fifo(priority); !fifo)
    std::printf("note  %s\n", fifo.error().message.c_str());
  std::fflush(stdout);
  baton::os::touch_stack(64 * 1024);
}

void node(bs::Heap& heap, HeapGraph& graph, int periods, std::int64_t period_ns, std::vector<double>& late) {
  become_real_time(80);
  std::optional<baton::RealTimeCheck> check;
  std::int64_t next = baton::os::monotonic_ns() + period_ns;
  for (int i = -kWarmUp; i < periods; ++i, next += period_ns) {
    if (i == 0) check.emplace();
    timespec at{};
    at.tv_sec = static_cast<time_t>(next / 1'000'000'000);
    at.tv_nsec = static_cast<long>(next % 1'000'000'000);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
    }
    if (i >= 0) late[static_cast<std::size_t>(i)] = static_cast<double>(baton::os::monotonic_ns() - next) / 1000;
    bs::shared_ptr<Command> command = bs::make_shared<Command>(heap);
    command->number = static_cast<std::uint64_t>(i + kWarmUp);
    command->pushed_ns = baton::os::monotonic_ns();
    (void)graph.commands.try_push(std::move(command));
  }
  keep(check->report(), graph.node);
}

void puller(HeapGraph& graph, int periods, std::vector<double>& under_way, std::uint64_t& lost) {
  become_real_time(79);
  graph.ready.release();
  std::optional<baton::RealTimeCheck> check;
  std::uint64_t last = 0;
  for (int i = -kWarmUp; i < periods; ++i) {
    if (i == -kWarmUp / 2) check.emplace();  // the node's measured periods lie inside the check
    std::optional<bs::shared_ptr<const Command>> command = graph.commands.pop_for(std::chrono::seconds(5));
    if (!command) break;
    const std::int64_t now = baton::os::monotonic_ns();
    if (i >= 0) under_way[static_cast<std::size_t>(i)] = static_cast<double>(now - (*command)->pushed_ns) / 1000;
    if (i > -kWarmUp) lost += (*command)->number - last - 1;
    last = (*command)->number;
    i += static_cast<int>((*command)->number) - (i + kWarmUp);  // lost periods count, too
  }
  if (check) keep(check->report(), graph.puller);
}

void print(const char* what, const std::vector<double>& microseconds) {
  std::printf("note  %-28s median %.1f us, 99 %% %.1f, 99.9 %% %.1f, 99.99 %% %.1f, most %.1f\n", what,
              baton::perf::quantile(microseconds, 0.5), baton::perf::quantile(microseconds, 0.99),
              baton::perf::quantile(microseconds, 0.999), baton::perf::quantile(microseconds, 0.9999),
              baton::perf::quantile(microseconds, 1));
}

bool zero(const char* who, const Counts& counts) {
  const auto one = [&](const char* what, double count, const std::string& detail) {
    return baton::perf::verdict(std::string(who) + ": " + what, {count, count, count}, "", 0, detail);
  };
  bool good = one("heap calls", static_cast<double>(counts.heap_calls), "malloc, free and their kin");
  good &= one("page faults", static_cast<double>(counts.faults), "minor and major");
  good &= one("other system calls", static_cast<double>(counts.calls),
              counts.calls == 0 ? "than futex and clock_nanosleep"
                                : "the first one: number " + std::to_string(counts.first_call));
  return good && counts.counted;
}

pid_t start_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(600);
  }
  return child;
}

/// The worst case, compared with that of cyclictest, which does the same with only the timer and the clock: the
/// machine's own share. Same periods, same load, right afterwards.
void beside_cyclictest(int periods, std::int64_t period_ns, const std::vector<double>& late) {
  std::fflush(stdout);
  if (std::system("command -v cyclictest >/dev/null 2>&1") != 0) {
    std::printf("note  cyclictest is not installed (Debian: rt-tests; make setup): no worst case to compare with\n");
    return;
  }
  const std::string command =
      "cyclictest -q -m -t 1 -p 80 -i " + std::to_string(period_ns / 1000) + " -l " + std::to_string(periods) + " 2>&1";
  std::FILE* const output = ::popen(command.c_str(), "r");
  int least = -1, average = -1, most = -1;
  char line[256];
  std::string said;
  while (output != nullptr && std::fgets(line, sizeof line, output) != nullptr) {
    said += line;
    const char* const at = std::strstr(line, "Min:");
    if (at != nullptr) (void)std::sscanf(at, "Min: %d Act: %*d Avg: %d Max: %d", &least, &average, &most);
  }
  if (output == nullptr || ::pclose(output) != 0 || most < 0) {
    std::printf("note  cyclictest failed: %s\n", said.c_str());
    return;
  }
  std::printf("note  cyclictest, us late: least %d, mean %d, most %d, of %d; the node above: most %.0f\n", least,
              average, most, periods, late.empty() ? 0.0 : *std::max_element(late.begin(), late.end()));
}

int run(int periods, std::int64_t period_ns, int load) {
  baton::os::lock_memory().or_throw();
  bs::HeapOptions options;
  options.limit_bytes = 64U << 20;
  bs::Heap heap = bs::Heap::create(options).or_throw();
  const bs::shared_ptr<HeapGraph> graph = bs::find_or_make<HeapGraph>(heap, "graph");
  // The pool: room for objects in flight, in the queue and in use.
  heap.reserve(sizeof(Command) + 64, 64).or_throw();
  const baton::os::UniqueFd descriptor = baton::os::duplicate(heap.descriptor().get());

  std::vector<pid_t> loads;
  for (int i = 0; i < load; ++i) {
    loads.push_back(start_child());
    if (loads.back() == 0) {
      for (volatile std::uint64_t x = 0;; x = x + 1) {
      }
    }
  }
  const pid_t child = start_child();
  if (child == 0) {
    baton::os::lock_memory().or_throw();
    bs::Heap mine = bs::Heap::attach(descriptor).or_throw();
    const bs::shared_ptr<HeapGraph> there = bs::find<HeapGraph>(mine, "graph");
    mine.prefault();
    std::vector<double> under_way(static_cast<std::size_t>(periods), -1);
    std::uint64_t lost = 0;
    std::thread thread([&] { puller(*there, periods, under_way, lost); });
    thread.join();
    under_way.erase(std::remove(under_way.begin(), under_way.end(), -1), under_way.end());
    print("push to pull, two processes", under_way);
    std::printf("note  lost, because the queue was full: %llu\n", static_cast<unsigned long long>(lost));
    std::fflush(stdout);
    ::_exit(0);
  }
  heap.prefault();
  graph->ready.acquire();
  std::vector<double> late(static_cast<std::size_t>(periods));
  std::thread thread([&] { node(heap, *graph, periods, period_ns, late); });
  thread.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  print("late at the period's begin", late);
  std::fflush(stdout);
  beside_cyclictest(periods, period_ns, late);
  for (pid_t one : loads) {
    ::kill(one, SIGKILL);
    ::waitpid(one, nullptr, 0);
  }
  const bool good = zero("node", graph->node);
  return zero("puller", graph->puller) && good && status == 0 ? 0 : 1;
}

}  // namespace real_time

int main(int argc, char** argv) {
  CLI::App app{"The real-time profile of shared objects, checked while it runs"};
  int periods = 100000, load = static_cast<int>(baton::os::allowed_cpus().size());
  std::int64_t period_us = 500;
  app.add_option("--periods", periods, "periods that are checked")->check(CLI::Range(100, 100000000));
  app.add_option("--period", period_us, "microseconds")->check(CLI::Range(50, 1000000));
  app.add_option("--load", load, "busy processes of ordinary priority; default: one per CPU")
      ->check(CLI::Range(0, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    return real_time::run(periods, period_us * 1000, load);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
