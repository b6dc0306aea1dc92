// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <cstdio>
#include <cstdlib>

#include "hasher.hpp"

namespace baton::model {
namespace {

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_consume;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel;
}

}  // namespace

World::World(const Options& options) : options_(options) {
  for (auto& fiber : fibers_) fiber = std::make_unique<Fiber>();
}

void World::reset() {
  depth_ = 0;
  thread_count_ = 0;
  running_ = last_running_ = -1;
  preemptions_left_ = options_.preemptions;
  location_count_ = 0;
  data_.clear();
  descriptors_.clear();
  mutexes_.clear();
  sc_view_ = View();
  main_.current = main_.acquired = main_.released = View();
  main_.history[0] = main_.history[1] = 0;
  dead_ = 0;
  kills_left_ = options_.kills;
  step_count_ = 0;
  aborted_ = pruned_ = false;
}

int World::spawn(int process, const char* name, std::function<void()> body, bool daemon) {
  const int id = thread_count_++;
  Thread& t = threads_.at(static_cast<std::size_t>(id));
  t.status = Status::kReady;
  t.block = Block::kNone;
  t.block_on = 0;
  t.process = process;
  t.daemon = daemon;
  t.name = name;
  t.current = t.acquired = t.released = View();
  t.current.clock[static_cast<std::size_t>(id)] = 1;
  t.history[0] = t.history[1] = static_cast<std::uint64_t>(id);
  t.wait_count = 0;
  t.body = std::move(body);
  t.read_stamp.fill(0);
  t.read_index.fill(0);
  return id;
}

int World::add_location(const char* label, std::uint64_t initial) {
  const int id = location_count_++;
  Location& l = locations_.at(static_cast<std::size_t>(id));
  l.label = label;
  l.seqlock = std::strncmp(label, "slot", 4) == 0;
  l.stored = l.modified = false;
  l.owner = -1;
  l.stores.clear();
  l.stores.push_back({initial, View()});
  l.confirmed.fill(0);
  return id;
}

int World::add_data(const char* label) {
  data_.push_back({label, -1, 0, {}});
  return static_cast<int>(data_.size()) - 1;
}
int World::add_descriptor() {
  descriptors_.push_back(0);
  return static_cast<int>(descriptors_.size()) - 1;
}
int World::add_mutex() {
  mutexes_.push_back({-1, View()});
  return static_cast<int>(mutexes_.size()) - 1;
}

// --- choices and scheduling ---

int World::choose(int options) {
  if (options <= 1) return 0;
  if (depth_ == choices_.size()) choices_.push_back({static_cast<std::uint16_t>(options), 0});
  const Choice& choice = choices_[depth_++];
  if (choice.options != options) {
    std::fprintf(stderr, "model: the scenario is not deterministic (%d options, %d before)\n", options, choice.options);
    std::abort();
  }
  return choice.chosen;
}

bool World::backtrack() {
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    if (++last.chosen < last.options) return true;
    choices_.pop_back();
  }
  return false;
}

bool World::enabled(const Thread& thread) const {
  if (thread.status != Status::kReady) return false;
  switch (thread.block) {
    case Block::kNone:
      return true;
    case Block::kDescriptor:
      return descriptors_[static_cast<std::size_t>(thread.block_on)] != 0;
    case Block::kMutex:
      return mutexes_[static_cast<std::size_t>(thread.block_on)].owner < 0;
    case Block::kDeath:
      return dead(thread.block_on);
  }
  return false;
}

bool World::may_kill(int process) const {
  if (kills_left_ == 0 || dead(process) || ((options_.killable >> process) & 1U) == 0) return false;
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    if (t.process == process && t.status != Status::kFinished) return true;
  }
  return false;
}

void World::kill(int process) {
  --kills_left_;
  dead_ |= 1U << process;
  for (int i = 0; i < thread_count_; ++i) {
    Thread& t = threads_[static_cast<std::size_t>(i)];
    if (t.process == process && t.status != Status::kFinished) t.status = Status::kDead;
  }
  if (tracing_) trace_ += "  -- process " + std::to_string(process) + " is killed --\n";
}

void World::park() {
  if (running_ < 0) return;
  observe(self(), 0x5C);  // where the thread stands is part of its state, even if the operation returns nothing
  fibers_[static_cast<std::size_t>(running_)]->yield();
}

void World::park(const Location& location) {
  if (location.owner < 0 || running_ < 0) {
    park();
  } else if (location.owner != running_) {
    fail(std::string("model limit: ") + location.label + " is not private");
  }
}

void World::fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
  if (tracing_) trace_ += "  !! " + what + "\n";
  aborted_ = true;
  if (running_ >= 0) fibers_[static_cast<std::size_t>(running_)]->yield();
  throw std::string(what);  // setup or finish
}

void World::run(Scenario& scenario) {
  current_ = this;
  scenario.setup(*this);
  for (int i = 0; i < thread_count_; ++i) {
    Thread& t = threads_[static_cast<std::size_t>(i)];
    t.current.join(main_.current);
    t.current.seen = main_.current.seen;
    fibers_[static_cast<std::size_t>(i)]->restart(&t.body);
  }
  const auto resume = [this](int i) {
    running_ = i;
    fibers_[static_cast<std::size_t>(i)]->resume();
    if (fibers_[static_cast<std::size_t>(i)]->finished() &&
        threads_[static_cast<std::size_t>(i)].status == Status::kReady) {
      threads_[static_cast<std::size_t>(i)].status = Status::kFinished;
    }
    running_ = -1;
  };
  for (int i = 0; i < thread_count_ && !aborted_; ++i) {  // all threads up to the first scheduling point
    if (threads_[static_cast<std::size_t>(i)].status == Status::kReady) resume(i);
  }
  while (!aborted_) {
    int options[kMaxThreads + 8];
    int count = 0;
    const bool keep =
        last_running_ >= 0 && preemptions_left_ == 0 && enabled(threads_[static_cast<std::size_t>(last_running_)]);
    if (last_running_ >= 0 && enabled(threads_[static_cast<std::size_t>(last_running_)]))
      options[count++] = last_running_;
    if (!keep) {
      for (int i = 0; i < thread_count_; ++i) {
        if (i != last_running_ && enabled(threads_[static_cast<std::size_t>(i)])) options[count++] = i;
      }
    }
    if (count == 0) break;
    if (kills_left_ > 0) {
      for (int p = 0; p < 8; ++p) {
        if (may_kill(p)) options[count++] = kMaxThreads + p;
      }
    }
    if (depth_ == choices_.size()) {  // the frontier: was this state met before?
      if (!visited_.insert(digest())) {
        pruned_ = true;
        return;
      }
    }
    if (++step_count_ > options_.max_steps) {
      fail("livelock: more steps than the bound");
    }
    ++steps_;
    const int option = options[choose(count)];
    if (option >= kMaxThreads) {
      kill(option - kMaxThreads);
      continue;
    }
    if (options_.preemptions >= 0 && option != last_running_ && last_running_ >= 0 &&
        enabled(threads_[static_cast<std::size_t>(last_running_)])) {
      --preemptions_left_;
    }
    last_running_ = option;
    resume(option);
  }
  if (aborted_) return;
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    if ((t.status == Status::kAsleep || t.status == Status::kReady) && !t.daemon) {
      if (tracing_) trace_ += std::string("  !! ") + t.name + " waits forever\n";
      violation_ = std::string("lost wake-up or deadlock: ") + t.name + " waits forever";
      return;
    }
  }
  for (int i = 0; i < thread_count_; ++i) main_.current.join(threads_[static_cast<std::size_t>(i)].current);
  scenario.finish(*this);
}

// --- memory ---

std::memory_order World::mutate(const char* label, Mutation::Op op, std::memory_order order) const {
  const Mutation* m = options_.mutation;
  if (m == nullptr || running_ < 0 || m->op != op) return order;
  if (m->process >= 0 && m->process != threads_[static_cast<std::size_t>(running_)].process) return order;
  return std::strcmp(m->label, label) == 0 ? m->order : order;
}

void World::observe(Thread& thread, std::uint64_t value) {
  Hasher h;
  h.a ^= thread.history[0];
  h.b ^= thread.history[1];
  h.add(value);
  thread.history[0] = h.a;
  thread.history[1] = h.b;
}

void World::note(const char* what, int location, std::uint64_t value, int index) {
  if (!tracing_) return;
  char line[200];
  const Location& l = locations_[static_cast<std::size_t>(location)];
  std::snprintf(line, sizeof line, "  %-12s %-9s %s#%d = 0x%llx (store %d of %d)\n",
                running_ < 0 ? "main" : self().name, what, l.label, location, static_cast<unsigned long long>(value),
                index, static_cast<int>(l.stores.size()) - 1);
  trace_ += line;
}

int World::pick_store(Thread& thread, int location) {
  const int latest = static_cast<int>(locations_[static_cast<std::size_t>(location)].stores.size()) - 1;
  const int oldest = thread.current.seen[static_cast<std::size_t>(location)];
  return latest - choose(latest - oldest + 1);
}

void World::read_store(Thread& thread, int location, int index, std::memory_order order) {
  const Store& store = locations_[static_cast<std::size_t>(location)].stores[static_cast<std::size_t>(index)];
  thread.current.seen[static_cast<std::size_t>(location)] = static_cast<std::uint8_t>(index);
  thread.acquired.join(store.message);
  if (acquires(order)) thread.current.join(store.message);
}

std::uint64_t World::load(int location, std::memory_order order) {
  Location& l = locations_[static_cast<std::size_t>(location)];
  if (running_ < 0) return l.stores.back().value;
  // The value of an acquire load decides how the reader goes on, so other threads may run before it.
  if (!(l.seqlock && options_.write_once_slots) || acquires(order)) park(l);
  order = mutate(l.label, Mutation::Op::kLoad, order);
  Thread& t = self();
  const int index = pick_store(t, location);
  read_store(t, location, index, order);
  if (l.seqlock) {
    t.read_stamp[static_cast<std::size_t>(location)] = t.current.clock[static_cast<std::size_t>(running_)];
    t.read_index[static_cast<std::size_t>(location)] = static_cast<std::uint8_t>(index);
  }
  const std::uint64_t value = l.stores[static_cast<std::size_t>(index)].value;
  observe(t, value);
  note("load", location, value, index);
  return value;
}

void World::append_store(Thread& thread, int location, std::uint64_t value, std::memory_order order,
                         const View* sequence) {
  Location& l = locations_[static_cast<std::size_t>(location)];
  if (l.seqlock && options_.write_once_slots && l.stores.size() >= 2)
    fail("model limit: a write-once slot is overwritten");
  if (l.stores.size() >= 250) fail("model limit: too many stores to one location");
  for (int u = 0; u < thread_count_; ++u) {
    if (l.confirmed[static_cast<std::size_t>(u)] > thread.current.clock[static_cast<std::size_t>(u)]) {
      fail(std::string("torn read: ") + l.label +
           " is overwritten by a store that a relied-on read does not happen before");
    }
  }
  thread.current.seen[static_cast<std::size_t>(location)] = static_cast<std::uint8_t>(l.stores.size());
  Store store{value, releases(order) ? thread.current : thread.released};
  if (sequence != nullptr) store.message.join(*sequence);  // an RMW continues the release sequence it read from
  l.stores.push_back(store);
  if (releases(order) && running_ >= 0) ++thread.current.clock[static_cast<std::size_t>(running_)];
}

/// Plain stores run at once (no scheduling point), which is complete only where nobody reads the latest value by rule.
void World::mark(Location& location, bool plain_store) {
  (plain_store ? location.stored : location.modified) = true;
  if (location.stored && location.modified) {
    fail(std::string("model limit: ") + location.label + " gets plain stores and read-modify-writes");
  }
}

void World::store(int location, std::uint64_t value, std::memory_order order) {
  Location& l = locations_[static_cast<std::size_t>(location)];
  if (running_ < 0) {
    append_store(main_, location, value, std::memory_order_relaxed, nullptr);
    return;
  }
  Thread& t = self();
  if (kills_left_ > 0 && may_kill(t.process) && choose(2) == 1) {  // just before the store
    kill(t.process);
    fibers_[static_cast<std::size_t>(running_)]->yield();
  }
  order = mutate(l.label, Mutation::Op::kStore, order);
  mark(l, true);
  if (t.current.seen[static_cast<std::size_t>(location)] + 1U != l.stores.size()) {
    fail(std::string("unordered stores: ") + t.name + " overwrites " + l.label + " without knowing its latest value");
  }
  append_store(t, location, value, order, nullptr);
  note("store", location, value, static_cast<int>(l.stores.size()) - 1);
}

bool World::compare_exchange(int location, std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                             std::memory_order failure, std::uint64_t) {
  Location& l = locations_[static_cast<std::size_t>(location)];
  if (running_ < 0) {
    const std::uint64_t value = l.stores.back().value;
    if (value != expected) {
      expected = value;
      return false;
    }
    append_store(main_, location, desired, std::memory_order_relaxed, nullptr);
    return true;
  }
  park(l);
  Thread& t = self();
  mark(l, false);
  success = mutate(l.label, Mutation::Op::kRmw, success);
  failure = mutate(l.label, Mutation::Op::kFailedRmw, failure);
  // Success reads the latest store. Failure is an ordinary load: any readable store with another value.
  int candidates[256];
  int count = 0;
  const int latest = static_cast<int>(l.stores.size()) - 1;
  for (int i = latest; i >= t.current.seen[static_cast<std::size_t>(location)]; --i) {
    if (l.stores[static_cast<std::size_t>(i)].value != expected || i == latest) candidates[count++] = i;
  }
  const int index = candidates[choose(count)];
  const std::uint64_t value = l.stores[static_cast<std::size_t>(index)].value;
  const bool ok = value == expected;
  read_store(t, location, index, ok ? success : failure);
  if (ok) {
    const View sequence = l.stores[static_cast<std::size_t>(index)].message;
    append_store(t, location, desired, success, &sequence);
  }
  observe(t, value);
  note(ok ? "cas ok" : "cas fail", location, ok ? desired : value, index);
  expected = value;
  return ok;
}

std::uint64_t World::fetch_add(int location, std::uint64_t value, std::memory_order order, std::uint64_t mask) {
  Location& l = locations_[static_cast<std::size_t>(location)];
  park(l);
  Thread& t = running_ < 0 ? main_ : self();
  if (running_ >= 0) mark(l, false);
  order = mutate(l.label, Mutation::Op::kRmw, order);
  const int latest = static_cast<int>(l.stores.size()) - 1;
  const std::uint64_t before = l.stores.back().value;
  read_store(t, location, latest, order);
  const View sequence = l.stores.back().message;
  append_store(t, location, (before + value) & mask, order, &sequence);
  observe(t, before);
  note("add", location, before + value, latest + 1);
  return before;
}

void World::sc_fence(Thread& t) {
  t.current.join(t.acquired);  // it is an acquire fence,
  t.current.join_seen(sc_view_);
  sc_view_.join_seen(t.current);
  t.released = t.current;  // a release fence,
  if (running_ >= 0) ++t.current.clock[static_cast<std::size_t>(running_)];
}

void World::fence_seq_cst() {
  park();
  if (running_ < 0) return;
  if (mutate("fence", Mutation::Op::kFence, std::memory_order_seq_cst) != std::memory_order_seq_cst) return;
  sc_fence(self());
  if (tracing_) trace_ += std::string("  ") + self().name + "   fence\n";
}

void World::data_read(int data) {
  if (running_ < 0) return;
  Data& d = data_[static_cast<std::size_t>(data)];
  Thread& t = self();
  if (d.writer >= 0 && d.write_stamp > t.current.clock[static_cast<std::size_t>(d.writer)]) {
    fail(std::string("data race: ") + t.name + " reads " + d.label + " while " +
         threads_[static_cast<std::size_t>(d.writer)].name + " writes it");
  }
  d.read_stamp[static_cast<std::size_t>(running_)] = t.current.clock[static_cast<std::size_t>(running_)];
}

void World::data_write(int data) {
  if (running_ < 0) return;
  Data& d = data_[static_cast<std::size_t>(data)];
  Thread& t = self();
  if (d.writer >= 0 && d.write_stamp > t.current.clock[static_cast<std::size_t>(d.writer)]) {
    fail(std::string("data race: two writers of ") + d.label);
  }
  for (int u = 0; u < thread_count_; ++u) {
    if (d.read_stamp[static_cast<std::size_t>(u)] > t.current.clock[static_cast<std::size_t>(u)]) {
      fail(std::string("data race: ") + t.name + " writes " + d.label + " while " +
           threads_[static_cast<std::size_t>(u)].name + " reads it");
    }
  }
  d.writer = running_;
  d.write_stamp = t.current.clock[static_cast<std::size_t>(running_)];
  d.read_stamp.fill(0);
}

void World::confirm_reads(const int* locations, int count) {
  Thread& t = self();
  for (int i = 0; i < count; ++i) {
    const std::size_t x = static_cast<std::size_t>(locations[i]);
    Location& l = locations_[x];
    if (t.read_index[x] + 1U != l.stores.size()) {
      fail(std::string("torn read: ") + l.label + " was overwritten before the read was confirmed");
    }
    l.confirmed[static_cast<std::size_t>(running_)] = t.read_stamp[x];
  }
  discard_reads();
}

void World::discard_reads() {
  self().read_stamp.fill(0);
  self().read_index.fill(0);
}

int World::arbitrary(int options) {
  park();
  const int value = choose(options);
  observe(self(), static_cast<std::uint64_t>(value));
  return value;
}

void World::checkpoint(int place, std::uint64_t digest) {
  if (running_ < 0) return;
  Thread& t = self();
  t.history[0] = digest * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(place);
  t.history[1] = digest ^ static_cast<std::uint64_t>(place) << 56;
}

// --- the kernel's part ---

bool World::futex_wait(const Word* words, int count) {
  park();
  Thread& t = self();
  sc_fence(t);
  for (int i = 0; i < count; ++i) {
    const int index = pick_store(t, words[i].location);
    read_store(t, words[i].location, index, std::memory_order_relaxed);
    const std::uint64_t value =
        locations_[static_cast<std::size_t>(words[i].location)].stores[static_cast<std::size_t>(index)].value;
    if (value != words[i].seen) {
      observe(t, 1);
      note("no sleep", words[i].location, value, index);
      return false;
    }
  }
  for (int i = 0; i < count; ++i) t.waits[static_cast<std::size_t>(i)] = words[i];
  t.wait_count = count;
  t.status = Status::kAsleep;
  if (tracing_) trace_ += std::string("  ") + t.name + "   sleeps\n";
  park();
  observe(t, 2);
  return true;
}

int World::futex_wake_counted(int location) {
  const int woken = futex_wake_all(location);
  observe(self(), static_cast<std::uint64_t>(woken));
  return woken;
}

int World::futex_wake_one(int location) {
  park();
  Thread& t = self();
  sc_fence(t);
  int sleepers = 0;
  std::array<int, kMaxThreads> found{};
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& sleeper = threads_[static_cast<std::size_t>(i)];
    if (sleeper.status != Status::kAsleep) continue;
    for (int w = 0; w < sleeper.wait_count; ++w) {
      if (sleeper.waits[static_cast<std::size_t>(w)].location != location) continue;
      found[static_cast<std::size_t>(sleepers++)] = i;
      break;
    }
  }
  if (sleepers > 0) {
    const int chosen = found[static_cast<std::size_t>(sleepers == 1 ? 0 : choose(sleepers))];
    Thread& woken = threads_[static_cast<std::size_t>(chosen)];
    woken.status = Status::kReady;
    if (tracing_) trace_ += std::string("  ") + t.name + "   wakes " + woken.name + "\n";
  }
  observe(t, sleepers > 0 ? 1 : 0);
  return sleepers > 0 ? 1 : 0;
}

int World::futex_wake_all(int location) {
  int woken = 0;
  park();
  Thread& t = self();
  sc_fence(t);
  if (tracing_) trace_ += std::string("  ") + t.name + "   wakes all\n";
  for (int i = 0; i < thread_count_; ++i) {
    Thread& sleeper = threads_[static_cast<std::size_t>(i)];
    if (sleeper.status != Status::kAsleep) continue;
    for (int w = 0; w < sleeper.wait_count; ++w) {
      if (sleeper.waits[static_cast<std::size_t>(w)].location != location) continue;
      sleeper.status = Status::kReady;
      ++woken;
      break;
    }
  }
  return woken;
}

void World::descriptor_write(int descriptor) {
  park();
  sc_fence(self());
  ++descriptors_[static_cast<std::size_t>(descriptor)];
  if (tracing_) trace_ += std::string("  ") + self().name + "   writes descriptor\n";
}
void World::descriptor_wait(int descriptor) {
  Thread& t = self();
  t.block = Block::kDescriptor;
  t.block_on = descriptor;
  park();
  t.block = Block::kNone;
  sc_fence(t);
}
void World::descriptor_drain(int descriptor) {
  park();
  sc_fence(self());
  descriptors_[static_cast<std::size_t>(descriptor)] = 0;
}
void World::lock(int mutex) {
  if (running_ < 0) return;
  Thread& t = self();
  t.block = Block::kMutex;
  t.block_on = mutex;
  park();
  t.block = Block::kNone;
  Mutex& m = mutexes_[static_cast<std::size_t>(mutex)];
  m.owner = running_;
  t.current.join(m.view);
}
void World::unlock(int mutex) {
  if (running_ < 0) return;
  Mutex& m = mutexes_[static_cast<std::size_t>(mutex)];
  m.owner = -1;
  m.view = self().current;
  ++self().current.clock[static_cast<std::size_t>(running_)];
}
void World::await_death(int process) {
  Thread& t = self();
  t.block = Block::kDeath;
  t.block_on = process;
  park();
  t.block = Block::kNone;
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& other = threads_[static_cast<std::size_t>(i)];
    if (other.process == process) t.current.join(other.current);
  }
}

}  // namespace baton::model
