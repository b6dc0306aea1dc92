// SPDX-License-Identifier: Apache-2.0
// A stateless model checker for small concurrent programs on C++ weak memory. It runs the shipped headers (over
// ModelPlatform, model_platform.hpp) as fibers and explores every interleaving and every value a load may return, by depth-first
// search with replay; states that were met before are not explored again. What is and is not modelled: docs/concepts/memory-model.md.
//
// Invariants of one execution: (1) each location keeps the history of its stores; the modification order is the order of
// execution (a plain store by a thread that does not know the latest store is reported, as the order would be open);
// (2) a thread's View says, per location, the oldest store that it may still read, and, per thread, which of its data
// accesses happened before; (3) views travel with release/acquire pairs, release sequences and fences as C++20 has it.
// Everything a thread body branches on must come from World, Atomic or Data: it must be deterministic.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "state_set.hpp"

namespace baton::model {

inline constexpr int kMaxThreads = 8;
inline constexpr int kMaxLocations = 96;

struct View {
  std::array<std::uint16_t, kMaxThreads> clock{};  // happens-before: accesses of thread t with stamp <= clock[t]
  std::array<std::uint8_t, kMaxLocations> seen{};  // index of the oldest store of location x that may be read
  void join_seen(const View& other) {
    for (int i = 0; i < kMaxLocations; ++i) seen[i] = seen[i] > other.seen[i] ? seen[i] : other.seen[i];
  }
  void join(const View& other) {
    for (int i = 0; i < kMaxThreads; ++i) clock[i] = clock[i] > other.clock[i] ? clock[i] : other.clock[i];
    join_seen(other);
  }
};

/// Weakens one kind of operation, to prove that the checker would notice: "loads of `label` by process `process` become
/// relaxed". For fences label is "fence" and the fence disappears.
struct Mutation {
  enum class Op : std::uint8_t { kLoad, kStore, kRmw, kFailedRmw, kFence };
  const char* label;
  Op op;
  int process;  // -1: every process
  std::memory_order order = std::memory_order_relaxed;
};

struct Options {
  std::uint64_t max_executions = ~std::uint64_t{0};
  double max_seconds = 600;
  std::uint32_t max_steps = 3000;  // of one execution; more is reported as a livelock
  int kills = 0;                   // how many processes may die in one execution
  unsigned killable = 0;           // bit mask of processes
  int preemptions = -1;            // -1: all interleavings; else at most that many switches away from a runnable thread
  const Mutation* mutation = nullptr;
  /// Slots are written once in this scenario (verified), so that relaxed loads of them need not be scheduling points.
  bool write_once_slots = false;
};

struct Report {
  std::string violation;  // empty: none found
  std::string trace;      // of the violating execution
  std::uint64_t executions = 0, states = 0, steps = 0;
  bool complete = false;  // false: stopped by max_executions or max_seconds
  double seconds = 0;
};

class World;

/// One small concurrent program. A fresh object is made for every execution.
class Scenario {
 public:
  virtual ~Scenario() = default;
  /// Makes locations and data, spawns threads. Runs before any of them.
  virtual void setup(World& world) = 0;
  /// Checks the end state of an execution that ran to completion; reads see the latest values.
  virtual void finish(World&) {}
};

class World {
 public:
  static World& current() { return *current_; }

  // --- setup ---
  /// Adds a thread of `process`. A daemon may still wait when everybody else has finished.
  int spawn(int process, const char* name, std::function<void()> body, bool daemon = false);
  int add_location(const char* label, std::uint64_t initial);
  int add_data(const char* label);
  int add_descriptor();
  int add_mutex();
  /// Only `thread` accesses this location in this scenario (verified), so that its operations need not be scheduling points.
  void make_private(int location, int thread) { locations_[static_cast<std::size_t>(location)].owner = thread; }

  // --- operations of simulated threads (each one a scheduling point unless noted) ---
  std::uint64_t load(int location, std::memory_order order);
  void store(int location, std::uint64_t value, std::memory_order order);  // no scheduling point: see docs
  bool compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                        std::memory_order failure, std::uint64_t mask);
  std::uint64_t fetch_add(int location, std::uint64_t value, std::memory_order order, std::uint64_t mask);
  void fence_seq_cst();

  void data_read(int data);  // no scheduling points: races are found by happens-before, whatever the interleaving
  void data_write(int data);

  /// futex_waitv: a full barrier, compares each word with `seen`, sleeps if all match. Returns on wake or mismatch.
  struct Word {
    int location;
    std::uint64_t seen;
  };
  /// True if it slept and was woken.
  bool futex_wait(const Word* words, int count);
  /// How many were woken; a body that uses the number calls the second, which makes it a part of the state.
  int futex_wake_all(int location);
  int futex_wake_counted(int location);
  int futex_wake_one(int location);  ///< any of the sleepers; how many were woken
  /// eventfd: write adds, wait blocks until it is not 0, drain sets it to 0 (full barriers all).
  void descriptor_write(int descriptor);
  void descriptor_wait(int descriptor);
  void descriptor_drain(int descriptor);
  void lock(int mutex);
  void unlock(int mutex);
  /// Blocks until `process` was killed: its hang-up. All it did is visible then (the kernel's barriers).
  void await_death(int process);

  /// The seqlock rule: the last reads of these locations by this thread are now relied on. Reports if one of them was
  /// overwritten meanwhile, and later if one is overwritten by a store that those reads do not happen before.
  /// Locations take part if their label begins with "slot". discard_reads() forgets reads that turned out not to count.
  void confirm_reads(const int* locations, int count);
  void discard_reads();
  /// An arbitrary number in [0, options): every one is explored (hostile peers, application decisions).
  int arbitrary(int options);
  /// Replaces this thread's history in the state: everything its locals hold now follows from `place` in the program (from 1,
  /// one per call in a body) and `digest`.
  void checkpoint(int place, std::uint64_t digest);
  /// Reports a violation and ends the execution.
  [[noreturn]] void fail(const std::string& what);
  void require(bool ok, const char* what) {
    if (!ok) fail(what);
  }
  bool dead(int process) const { return (dead_ & (1U << process)) != 0; }
  bool finished(int thread) const { return threads_[static_cast<std::size_t>(thread)].status == Status::kFinished; }
  /// For setup and finish: the latest value.
  std::uint64_t latest(int location) const {
    return locations_[static_cast<std::size_t>(location)].stores.back().value;
  }

 private:
  friend Report explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options);

  enum class Status : std::uint8_t { kReady, kAsleep, kFinished, kDead };
  enum class Block : std::uint8_t { kNone, kDescriptor, kMutex, kDeath };
  struct Thread {
    Status status;
    Block block;  // kReady but waiting for this to become true
    int block_on;
    int process;
    bool daemon;
    const char* name;
    View current, acquired, released;
    std::uint64_t history[2];
    std::array<Word, 4> waits;
    int wait_count;
    std::function<void()> body;
    std::array<std::uint16_t, kMaxLocations> read_stamp;
    std::array<std::uint8_t, kMaxLocations> read_index;
  };
  struct Store {
    std::uint64_t value;
    View message;
  };
  struct Location {
    const char* label;
    bool seqlock, stored, modified;  // label begins with "slot"; met a plain store, a read-modify-write
    int owner;                       // make_private; -1: nobody's
    std::vector<Store> stores;
    std::array<std::uint16_t, kMaxThreads> confirmed;
  };
  struct Data {
    const char* label;
    int writer;
    std::uint16_t write_stamp;
    std::array<std::uint16_t, kMaxThreads> read_stamp;
  };
  struct Mutex {
    int owner;
    View view;
  };
  struct Choice {
    std::uint16_t options, chosen;
  };
  explicit World(const Options& options);
  void reset();
  void run(Scenario& scenario);
  bool backtrack();
  int choose(int options);
  void park();                          // a scheduling point of the running thread
  void park(const Location& location);  // ... unless it is private
  bool enabled(const Thread& thread) const;
  bool may_kill(int process) const;
  void kill(int process);
  void sc_fence(Thread& thread);
  void observe(Thread& thread, std::uint64_t value);
  std::memory_order mutate(const char* label, Mutation::Op op, std::memory_order order) const;
  void mark(Location& location, bool plain_store);
  int pick_store(Thread& thread, int location);
  void read_store(Thread& thread, int location, int index, std::memory_order order);
  void append_store(Thread& thread, int location, std::uint64_t value, std::memory_order order, const View* sequence);
  StateKey digest() const;
  void note(const char* what, int location, std::uint64_t value, int index);
  Thread& self() { return threads_[static_cast<std::size_t>(running_)]; }

  static inline World* current_ = nullptr;
  Options options_;
  std::vector<Choice> choices_;
  std::size_t depth_ = 0;
  StateSet visited_;
  std::array<std::unique_ptr<Fiber>, kMaxThreads> fibers_;
  std::array<Thread, kMaxThreads> threads_;
  int thread_count_ = 0;
  int running_ = -1;  // -1: setup or finish
  int last_running_ = -1;
  int preemptions_left_ = -1;
  std::array<Location, kMaxLocations> locations_;
  int location_count_ = 0;
  std::vector<Data> data_;
  std::vector<std::uint32_t> descriptors_;
  std::vector<Mutex> mutexes_;
  View sc_view_;
  Thread main_;
  unsigned dead_ = 0;
  int kills_left_ = 0;
  std::uint32_t step_count_ = 0;
  bool aborted_ = false, pruned_ = false, tracing_ = false;
  std::string violation_, trace_;
  std::uint64_t steps_ = 0;
};

/// Explores the scenario. Stops at the first violation.
Report explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options);

/// Data that is not atomic: every access is checked for a data race. Deterministic value (a race is reported first).
template <class T>
class Data {
 public:
  explicit Data(const char* label) : id_(World::current().add_data(label)) {}
  void write(T value) {
    World::current().data_write(id_);
    value_ = value;
  }
  T read() const {
    World::current().data_read(id_);
    return value_;
  }

 private:
  int id_;
  T value_{};
};

}  // namespace baton::model
