// SPDX-License-Identifier: Apache-2.0
// `baton_shared_accept`: the criteria of shared objects. Smart pointers and locks run in one thread of a program with
// threads, compared with the C++ library's. Queues run between processes, compared with Boost.Interprocess's
// message_queue and LOT's design (one mutex with conditions). All queues have 16 places for 64 bytes and block when
// full or empty. Ours polls for up to 20 us, if that can pay, before it sleeps (event_count.hpp); the others sleep at
// once. Latency is a ping-pong in which both sides block. The kinds take turns, block by block; ratios are made per
// block.
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
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_mutex.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "baton/os/clock.hpp"
#include "figures.hpp"

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

using baton::perf::median_interval;
using baton::perf::verdict;

/// Compares `values` with `base`, both in ns, block by block, and prints a verdict.
bool compare(const char* name, const std::vector<double>& values, const std::vector<double>& base, double bar,
             const char* detail) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i) ratios.push_back(values[i] / base[i]);
  char text[160];
  std::snprintf(text, sizeof text, "%.4g beside %.4g ns; %s", baton::perf::median(values), baton::perf::median(base),
                detail);
  return verdict(name, median_interval(ratios), "x", bar, text);
}

/// This process's view of the heap in use; children open it anew.
struct Shared {
  Shared()
      : heap(baton::objects::Heap::create({}).or_throw()), descriptor(baton::os::duplicate(heap.descriptor().get())) {}
  explicit Shared(const baton::objects::HeapOptions& named)
      : options(named), heap(baton::objects::Heap::open(named).or_throw()) {}
  void reopen() {
    heap = options.name.empty() ? baton::objects::Heap::attach(descriptor).or_throw()
                                : baton::objects::Heap::open(options).or_throw();
  }
  baton::objects::HeapOptions options;
  baton::objects::Heap heap;
  baton::os::UniqueFd descriptor;
};
Shared* g_named = nullptr;
Shared& shared_memory() {
  static auto* const instance = new Shared;
  return g_named != nullptr ? *g_named : *instance;
}
/// While it lives, the heap in use has a name, as in a real program: its sleepers need no timer.
class Named {
 public:
  Named() {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    baton::objects::HeapOptions options;
    options.name = "accept";
    options.domain = 0;
    options.runtime_directory = directory_;
    shared_ = std::make_unique<Shared>(options);
    g_named = shared_.get();
  }
  ~Named() {
    g_named = nullptr;
    shared_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;

 private:
  std::string directory_ = std::filesystem::temp_directory_path() / "baton-accept-XXXXXX";
  std::unique_ptr<Shared> shared_;
};

// --- locks ---

/// Each loop is a function of its own, with aligned loops (CMakeLists.txt): so only the work differs, not the linker's
/// placement.
template <class F>
[[gnu::noinline]] double per_call(F&& f) {
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

/// The lock with which glibc makes std::shared_mutex, shared between processes. It is not robust: no robust one exists.
struct SharedPthread {
  SharedPthread() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&lock_word, &attributes);
  }
  void lock() { pthread_rwlock_wrlock(&lock_word); }
  void unlock() { pthread_rwlock_unlock(&lock_word); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_word); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_word); }
  pthread_rwlock_t lock_word;
};
template <class M>
double read_cost(M& m) {
  return per_call([&] {
    m.lock_shared();
    asm volatile("" : : : "memory");
    m.unlock_shared();
  });
}
/// Per read, while another thread reads, too.
template <class M>
double read_beside_reader_cost(M& m) {
  std::atomic<bool> started{false}, end{false};
  std::thread other([&] {
    while (!end) {
      m.lock_shared();
      started = true;
      m.unlock_shared();
    }
  });
  while (!started) std::this_thread::yield();
  const double each = read_cost(m);
  end = true;
  other.join();
  return each;
}

bool shared_locks(int blocks) {
  std::shared_mutex standard;
  SharedPthread between;
  baton::objects::shared_mutex& ours = shared_memory().heap.construct<baton::objects::shared_mutex>();
  std::vector<double> reads[3], beside[2], writes[3];
  for (int i = 0; i < blocks * 5; ++i) {
    reads[0].push_back(read_cost(standard));
    reads[1].push_back(read_cost(between));
    reads[2].push_back(read_cost(ours));
    writes[0].push_back(lock_cost(standard));
    writes[1].push_back(lock_cost(between));
    writes[2].push_back(lock_cost(ours));
    beside[0].push_back(read_beside_reader_cost(standard));
    beside[1].push_back(read_beside_reader_cost(ours));
  }
  bool good = compare("read lock and unlock / std::shared_mutex", reads[2], reads[0], 1.6, "uncontended");
  good &= compare("read lock and unlock / shared pthread_rwlock", reads[2], reads[1], 1.6, "uncontended");
  using baton::perf::median;
  std::printf(
      "note  write lock and unlock, no criterion (a writer pays for the readers' places): %.0f ns (std %.0f, "
      "pthread_rwlock %.0f)\n",
      median(writes[2]), median(writes[0]), median(writes[1]));
  std::printf("note  read lock and unlock beside another reader, no criterion: %.0f ns (std::shared_mutex %.0f)\n",
              median(beside[1]), median(beside[0]));
  return good;
}

bool locks(int blocks) {
  std::mutex standard;
  RobustPthread robust;
  baton::objects::mutex& ours = shared_memory().heap.construct<baton::objects::mutex>();
  std::vector<double> times[3];
  for (int i = 0; i < blocks * 5; ++i) {
    times[0].push_back(lock_cost(standard));
    times[1].push_back(lock_cost(robust));
    times[2].push_back(lock_cost(ours));
  }
  bool good = compare("lock and unlock / std::mutex", times[2], times[0], 1.6, "uncontended");
  good &= compare("lock and unlock / robust pthread mutex", times[2], times[1], 1.0, "uncontended");
  return good;
}

// --- pointers ---

struct Object {
  std::uint64_t value = 1;
  std::uint64_t rest[7] = {};
};
struct Holder {
  baton::objects::stored<baton::objects::shared_ptr<Object>> stored;
  baton::objects::queue<baton::objects::shared_ptr<Object>, 4> pointers;
  struct Plain {
    std::uint64_t words[2];
  };
  baton::objects::queue<Plain, 4> plain;
};

template <class T>
void keep(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class P>
double copy_and_destroy(const P& p) {
  return per_call([&] {
    P copy = p;
    keep(copy);
  });
}
template <class P>
double move_there_and_back(P& p) {
  return per_call([&] {
    P moved = std::move(p);
    keep(moved);
    p = std::move(moved);
    keep(p);
  });
}
template <class P>
double dereference(P& p) {
  std::uint64_t sum = 0;
  const double each = per_call([&] {
    keep(p);
    sum += p->value;
  });
  keep(sum);
  return each;
}

}  // namespace
template <>
struct baton::objects::declared_shareable<Holder> : baton::objects::recoverable {};
namespace {

bool pointers(int blocks) {
  namespace bs = baton::objects;
  bs::Heap& heap = shared_memory().heap;
  enum {
    kCopy,
    kCopyStd,
    kMove,
    kMoveStd,
    kGet,
    kGetStd,
    kUniqueMove,
    kUniqueMoveStd,
    kUniqueGet,
    kUniqueGetStd,
    kHold,
    kHoldPlain,
    kQueue,
    kQueuePlain,
    kMake,
    kMakeStd,
    kUniqueMake,
    kUniqueMakeStd,
    kCount
  };
  std::vector<double> times[kCount];
  bs::shared_ptr<Object> ours = bs::make_shared<Object>(heap);
  std::shared_ptr<Object> standard = std::make_shared<Object>();
  bs::unique_ptr<Object> our_unique = bs::make_unique<Object>(heap);
  std::unique_ptr<Object> std_unique = std::make_unique<Object>();
  bs::shared_ptr<Holder> holder = bs::make_shared<Holder>(heap);
  holder->stored = bs::make_shared<Object>(heap);
  struct alignas(64) Counter {
    std::atomic<std::uint32_t> count{1};
  };
  const auto counters = std::make_unique<Counter[]>(3);
  for (int i = 0; i < blocks * 5; ++i) {
    times[kCopy].push_back(copy_and_destroy(ours));
    times[kCopyStd].push_back(copy_and_destroy(standard));
    times[kMove].push_back(move_there_and_back(ours));
    times[kMoveStd].push_back(move_there_and_back(standard));
    times[kGet].push_back(dereference(ours));
    times[kGetStd].push_back(dereference(standard));
    times[kUniqueMove].push_back(move_there_and_back(our_unique));
    times[kUniqueMoveStd].push_back(move_there_and_back(std_unique));
    times[kUniqueGet].push_back(dereference(our_unique));
    times[kUniqueGetStd].push_back(dereference(std_unique));
    times[kMake].push_back(per_call([&] {
      bs::shared_ptr<Object> p = bs::make_shared<Object>(heap);
      keep(p);
    }));
    times[kMakeStd].push_back(per_call([&] {
      std::shared_ptr<Object> p = std::make_shared<Object>();
      keep(p);
    }));
    times[kUniqueMake].push_back(per_call([&] {
      bs::unique_ptr<Object> p = bs::make_unique<Object>(heap);
      keep(p);
    }));
    times[kUniqueMakeStd].push_back(per_call([&] {
      std::unique_ptr<Object> p = std::make_unique<Object>();
      keep(p);
    }));
    times[kHold].push_back(per_call([&] {
      bs::shared_ptr<Object> held = holder->stored;
      keep(held);
    }));
    // A hold must be counted in the process and for the process, and given back.
    const auto count_twice = [&] {
      counters[0].count.fetch_add(1);
      counters[1].count.fetch_add(1);
      keep(counters);
      counters[0].count.fetch_sub(1);
      counters[1].count.fetch_sub(1);
    };
    times[kHoldPlain].push_back(per_call(count_twice));
    bs::shared_ptr<Object> moving = bs::make_shared<Object>(heap);
    times[kQueue].push_back(per_call([&] {
      holder->pointers.push(std::move(moving));
      moving = holder->pointers.pop();
    }));
    Holder::Plain plain{};
    times[kQueuePlain].push_back(per_call([&] {
      holder->plain.push(plain);
      counters[0].count.fetch_add(1);  // counted in the queue, then no longer in this process
      counters[1].count.fetch_sub(1);
      counters[2].count.fetch_sub(1);
      plain = holder->plain.pop();
      count_twice();
    }));
  }
  bool good =
      compare("copy and destroy shared_ptr / std", times[kCopy], times[kCopyStd], 1.1, "in a program with threads");
  good &=
      compare("move shared_ptr there and back / std", times[kMove], times[kMoveStd], 1.1, "in a program with threads");
  good &= compare("dereference shared_ptr / std", times[kGet], times[kGetStd], 1.1, "loop of loads");
  good &= compare("move unique_ptr there and back / std", times[kUniqueMove], times[kUniqueMoveStd], 1.1, "");
  good &= compare("dereference unique_ptr / std", times[kUniqueGet], times[kUniqueGetStd], 1.1, "loop of loads");
  good &=
      compare("first hold and its end / atomics", times[kHold], times[kHoldPlain], 2.0, "4 additions to 2 cache lines");
  good &= compare("pointer through queue / data and atomics", times[kQueue], times[kQueuePlain], 2.0,
                  "same queue, and 7 additions");
  std::printf("note  make and destroy, no criterion: make_shared %.0f ns (std %.0f), make_unique %.0f ns (std %.0f)\n",
              baton::perf::median(times[kMake]), baton::perf::median(times[kMakeStd]),
              baton::perf::median(times[kUniqueMake]), baton::perf::median(times[kUniqueMakeStd]));
  return good;
}

// --- queues ---

struct Baton {
  static constexpr bool kInHeap = true;
  baton::objects::queue<Element, kDepth> queue;
  void push(const Element& e) { queue.push(e); }
  void pop(Element* e) { *e = queue.pop(); }
};

/// LOT's design: one mutex and conditions, all shared between processes.
struct MutexCondition {
  static constexpr bool kInHeap = true;
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
  static constexpr bool kInHeap = false;
  Boost()
      : name("baton-bench-" + std::to_string(::getpid()) + "-" +
             std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
    boost::interprocess::message_queue::remove(name.c_str());
    queue = std::make_unique<boost::interprocess::message_queue>(boost::interprocess::create_only, name.c_str(), kDepth,
                                                                 sizeof(Element));
    boost::interprocess::message_queue::remove(name.c_str());  // the queue stays mapped in this process and in the
                                                               // children
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

/// An object in the shared heap. Boost's queue has its own memory, so it lies in private memory and is inherited.
template <class Q>
class Both {
 public:
  Both() {
    if constexpr (Q::kInHeap) {
      object_ = &shared_memory().heap.construct<Q>();
      offset_ = reinterpret_cast<std::byte*>(object_) - shared_memory().heap.base();
    } else {
      object_ = new Q;
    }
  }
  ~Both() {
    if constexpr (Q::kInHeap) {
      shared_memory().heap.destroy(*object_);
    } else {
      delete object_;
    }
  }
  Q& here() const { return *object_; }
  Q& in_child() const {
    if constexpr (Q::kInHeap) return *reinterpret_cast<Q*>(shared_memory().heap.base() + offset_);
    return *object_;
  }

 private:
  Q* object_;
  std::ptrdiff_t offset_ = 0;
};
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(120);
    shared_memory().reopen();
    body();
    ::_exit(0);
  }
  return child;
}

/// Nanoseconds one way, blocking on both sides.
template <class Q>
double latency(int messages) {
  const Named named;
  const Both<Q> there, back;
  const pid_t child = start([&] {
    Q& from = there.in_child();
    Q& to = back.in_child();
    Element e{};
    for (int i = 0; i < messages; ++i) {
      from.pop(&e);
      to.push(e);
    }
  });
  std::vector<double> times;
  Element e{};
  for (int i = 0; i < messages; ++i) {
    const std::int64_t begin = baton::os::monotonic_ns();
    there.here().push(e);
    back.here().pop(&e);
    times.push_back(static_cast<double>(baton::os::monotonic_ns() - begin) / 2);
  }
  ::waitpid(child, nullptr, 0);
  return baton::perf::median(times);
}

/// Nanoseconds per element.
template <class Q>
double throughput(int producers, int consumers, int messages) {
  const Both<Q> queue;
  messages -= messages % (producers * consumers);
  std::vector<pid_t> children;
  baton::objects::binary_semaphore& ready = shared_memory().heap.construct<baton::objects::binary_semaphore>(0);
  const auto offset = reinterpret_cast<std::byte*>(&ready) - shared_memory().heap.base();
  const auto begin_together = [&] {
    auto& go = *reinterpret_cast<baton::objects::binary_semaphore*>(shared_memory().heap.base() + offset);
    go.acquire();
    go.release();
  };
  for (int p = 0; p < producers; ++p) {
    children.push_back(start([&] {
      Q& to = queue.in_child();
      begin_together();
      const Element e{};
      for (int i = 0; i < messages / producers; ++i) to.push(e);
    }));
  }
  for (int c = 0; c < consumers; ++c) {
    children.push_back(start([&] {
      Q& from = queue.in_child();
      begin_together();
      Element e{};
      for (int i = 0; i < messages / consumers; ++i) from.pop(&e);
    }));
  }
  const std::int64_t begin = baton::os::monotonic_ns();
  ready.release();
  for (pid_t child : children) ::waitpid(child, nullptr, 0);
  const double each = static_cast<double>(baton::os::monotonic_ns() - begin) / messages;
  shared_memory().heap.destroy(ready);
  return each;
}

bool queues(int blocks, int messages) {
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
  const char* const what[] = {"queue latency 1p1c", "queue time per element 1p1c", "queue time per element 1p5c",
                              "queue time per element 5p1c"};
  const char* const beside[] = {"", " / LOT's mutex+cv", " / Boost message_queue"};
  bool good = true;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t kind = 1; kind < 3; ++kind) {
      if (times[row][kind].empty()) continue;
      good &= compare((std::string(what[row]) + beside[kind]).c_str(), times[row][0], times[row][kind], 1.0,
                      row == 0 ? "one way, both block" : "64 bytes, depth 16");
    }
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The criteria of shared objects, each with PASS or FAIL, ratio and interval"};
  int blocks = 9, messages = 30000;
  app.add_option("--blocks", blocks, "repetitions, all kinds taking turns")->check(CLI::Range(1, 1000));
  app.add_option("--messages", messages, "elements through each queue, per block")->check(CLI::Range(100, 100000000));
  CLI11_PARSE(app, argc, argv);
  ::alarm(600);
  const bool queue = queues(blocks, messages);  // forks, so before there are threads
  std::thread([] {}).join();                    // from here on this is a program with threads
  const bool lock = locks(blocks), reading = shared_locks(blocks);
  const bool pointer = pointers(blocks);
  return queue && lock && reading && pointer ? 0 : 1;
}
