// SPDX-License-Identifier: Apache-2.0
// What the objects of baton/shared cost, beside the C library's and Boost.Interprocess's in the same run: uncontended lock and
// unlock in one thread (std::mutex in a program with threads), and the hand-over of a 64-byte element by a queue between
// processes: latency 1p1c (ping-pong, both block) and throughput 1p1c, 1p5c, 5p1c. The kinds take turns, block by block.
// Medians, and the 5..95 % range over blocks.
//   shared_objects_bench [--blocks N] [--messages N]
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/shared/latest.hpp"
#include "baton/shared/mutex.hpp"
#include "baton/shared/queue.hpp"
#include "baton/shared/semaphore.hpp"
#include "baton/shared/shared_mutex.hpp"

#if __has_include(<boost/interprocess/ipc/message_queue.hpp>)
#define BATON_BENCH_BOOST 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <boost/interprocess/ipc/message_queue.hpp>
#pragma GCC diagnostic pop
#endif

namespace {

struct Element {
  std::uint64_t words[8];
};
constexpr std::size_t kDepth = 16;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}
void print(const char* name, const std::vector<double>& values, const char* unit, const std::vector<double>& base) {
  std::printf("  %-34s %9.1f %s  [%.1f, %.1f]  x%.2f\n", name, quantile(values, 0.5), unit, quantile(values, 0.05),
              quantile(values, 0.95), quantile(values, 0.5) / quantile(base, 0.5));
}

// --- locks ---

template <class F>
double per_call(F&& f) {
  constexpr int kCalls = 20000;
  const std::int64_t start = baton::os::monotonic_ns();
  for (int i = 0; i < kCalls; ++i) f();
  return static_cast<double>(baton::os::monotonic_ns() - start) / kCalls;
}

struct RobustPthread {
  RobustPthread() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
  }
  void lock() {
    if (pthread_mutex_lock(&mutex) == EOWNERDEAD) pthread_mutex_consistent(&mutex);
  }
  void unlock() { pthread_mutex_unlock(&mutex); }
  pthread_mutex_t mutex;
};

template <class M>
double lock_cost(M& m) {
  return per_call([&] {
    m.lock();
    asm volatile("" : : : "memory");
    m.unlock();
  });
}

void locks(int blocks) {
  std::thread([] {}).join();  // from here on this is a program with threads
  std::mutex standard;
  RobustPthread robust;
  baton::shared::mutex ours;
  baton::shared::mutex inheriting(baton::shared::priority_inheritance);
  std::shared_mutex standard_shared;
  baton::shared::shared_mutex shared;
  std::vector<double> times[7];
  for (int i = 0; i < blocks * 5; ++i) {
    times[0].push_back(lock_cost(standard));
    times[1].push_back(lock_cost(robust));
    times[2].push_back(lock_cost(ours));
    times[3].push_back(lock_cost(inheriting));
    times[4].push_back(per_call([&] { standard_shared.lock_shared(), standard_shared.unlock_shared(); }));
    times[5].push_back(per_call([&] { shared.lock_shared(), shared.unlock_shared(); }));
    times[6].push_back(lock_cost(shared));
  }
  std::printf("lock and unlock, uncontended, beside std::mutex:\n");
  const char* const names[] = {"std::mutex", "robust pthread mutex", "shared::mutex", "shared::mutex, inheriting",
                               "std::shared_mutex, shared", "shared::shared_mutex, shared", "shared::shared_mutex, exclusive"};
  for (std::size_t i = 0; i < 7; ++i) print(names[i], times[i], "ns", times[0]);
}

// --- queues ---

struct Baton {
  baton::shared::queue<Element, kDepth> queue;
  void push(const Element& e) { queue.push(e); }
  void pop(Element* e) { *e = queue.pop(); }
};

/// LOT's design: one mutex and conditions, all shared between processes.
struct MutexCondition {
  MutexCondition() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mutex, &attributes);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&not_empty, &condition);
    pthread_cond_init(&not_full, &condition);
  }
  void push(const Element& e) {
    pthread_mutex_lock(&mutex);
    while (tail - head == kDepth) pthread_cond_wait(&not_full, &mutex);
    elements[tail++ % kDepth] = e;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&not_empty);
  }
  void pop(Element* e) {
    pthread_mutex_lock(&mutex);
    while (tail == head) pthread_cond_wait(&not_empty, &mutex);
    *e = elements[head++ % kDepth];
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&not_full);
  }
  pthread_mutex_t mutex;
  pthread_cond_t not_empty, not_full;
  std::uint64_t head = 0, tail = 0;
  Element elements[kDepth];
};

#ifdef BATON_BENCH_BOOST
struct Boost {
  Boost() : name("baton-bench-" + std::to_string(::getpid()) + "-" + std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
    boost::interprocess::message_queue::remove(name.c_str());
    queue = std::make_unique<boost::interprocess::message_queue>(boost::interprocess::create_only, name.c_str(), kDepth,
                                                                 sizeof(Element));
    boost::interprocess::message_queue::remove(name.c_str());  // stays mapped here and in the children
  }
  void push(const Element& e) { queue->send(&e, sizeof e, 0); }
  void pop(Element* e) {
    boost::interprocess::message_queue::size_type size = 0;
    unsigned priority = 0;
    queue->receive(e, sizeof *e, size, priority);
  }
  std::string name;
  std::unique_ptr<boost::interprocess::message_queue> queue;
};
#endif

template <class T>
T& make_shared_memory() {
  void* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  return *new (memory) T;
}
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);
    body();
    ::_exit(0);
  }
  return child;
}

/// Microseconds one way, blocking on both sides.
template <class Q>
double latency(int messages) {
  Q& there = make_shared_memory<Q>();
  Q& back = make_shared_memory<Q>();
  const pid_t child = start([&] {
    Element e{};
    for (int i = 0; i < messages; ++i) {
      there.pop(&e);
      back.push(e);
    }
  });
  std::vector<double> times;
  Element e{};
  for (int i = 0; i < messages; ++i) {
    const std::int64_t begin = baton::os::monotonic_ns();
    there.push(e);
    back.pop(&e);
    times.push_back(static_cast<double>(baton::os::monotonic_ns() - begin) / 2000);
  }
  ::waitpid(child, nullptr, 0);
  there.~Q();
  back.~Q();
  ::munmap(static_cast<void*>(&there), sizeof(Q));
  ::munmap(static_cast<void*>(&back), sizeof(Q));
  return quantile(times, 0.5);
}

/// Nanoseconds per element.
template <class Q>
double throughput(int producers, int consumers, int messages) {
  Q& queue = make_shared_memory<Q>();
  messages -= messages % (producers * consumers);
  std::vector<pid_t> children;
  const std::int64_t begin = baton::os::monotonic_ns();
  for (int p = 0; p < producers; ++p) {
    children.push_back(start([&] {
      const Element e{};
      for (int i = 0; i < messages / producers; ++i) queue.push(e);
    }));
  }
  for (int c = 0; c < consumers; ++c) {
    children.push_back(start([&] {
      Element e{};
      for (int i = 0; i < messages / consumers; ++i) queue.pop(&e);
    }));
  }
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  const double each = static_cast<double>(baton::os::monotonic_ns() - begin) / messages;
  queue.~Q();
  ::munmap(static_cast<void*>(&queue), sizeof(Q));
  return each;
}

void queues(int blocks, int messages) {
  const char* const names[] = {"shared::queue", "mutex and conditions", "Boost message_queue"};
  std::vector<double> times[4][3];
  constexpr int kGraphs[][2] = {{1, 1}, {1, 5}, {5, 1}};
  for (int block = 0; block < blocks; ++block) {
    times[0][0].push_back(latency<Baton>(messages / 10));
    times[0][1].push_back(latency<MutexCondition>(messages / 10));
#ifdef BATON_BENCH_BOOST
    times[0][2].push_back(latency<Boost>(messages / 10));
#endif
    for (std::size_t g = 0; g < 3; ++g) {
      times[g + 1][0].push_back(throughput<Baton>(kGraphs[g][0], kGraphs[g][1], messages));
      times[g + 1][1].push_back(throughput<MutexCondition>(kGraphs[g][0], kGraphs[g][1], messages));
#ifdef BATON_BENCH_BOOST
      times[g + 1][2].push_back(throughput<Boost>(kGraphs[g][0], kGraphs[g][1], messages));
#endif
    }
  }
  const char* const what[] = {"latency 1p1c, one way, both block", "throughput 1p1c, per element", "throughput 1p5c, per element",
                              "throughput 5p1c, per element"};
  for (std::size_t row = 0; row < 4; ++row) {
    std::printf("%s, beside shared::queue:\n", what[row]);
    for (std::size_t kind = 0; kind < 3; ++kind) {
      if (!times[row][kind].empty()) print(names[kind], times[row][kind], row == 0 ? "us" : "ns", times[row][0]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int blocks = 9, messages = 30000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--blocks") blocks = std::atoi(argv[i + 1]);
    if (option == "--messages") messages = std::atoi(argv[i + 1]);
  }
  ::alarm(600);
  locks(blocks);
  baton::shared::Latest<Element> latest;
  Element e{};
  std::vector<double> writes, reads;
  for (int i = 0; i < blocks; ++i) {
    writes.push_back(per_call([&] { latest.write(e); }));
    reads.push_back(per_call([&] { latest.read(&e); }));
  }
  std::printf("Latest<64 bytes>, one thread:\n");
  print("write", writes, "ns", writes);
  print("read", reads, "ns", writes);
  queues(blocks, messages);
  return 0;
}
