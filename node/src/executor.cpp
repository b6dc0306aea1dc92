// SPDX-License-Identifier: Apache-2.0
// Leader and followers: one thread at a time (the leader) sleeps in the wait set. A thread that finds work gives
// leadership away and runs the work. The mutex is process-private and held for scans only, never during a callback or a
// sleep.
#include "baton/node/executor.hpp"

#include <algorithm>
#include <climits>
#include <exception>
#include <mutex>
#include <thread>

#include "baton/os/fork.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/pi_condition.hpp"
#include "baton/os/termination.hpp"
#include "node_core.hpp"

namespace baton {
namespace detail {

[[gnu::hot]] bool ReaderExecutable::ready() const { return reader_->has_data(); }

[[gnu::hot]] bool ReaderExecutable::execute() {
  Result<transport::TakenSample> taken = reader_->take();
  if (taken.ok()) return *taken && on_message(std::move(*taken));
  // The transport has ended the connection to the publisher, and reported that.
  if (taken.error().code == Errc::malformed_message || taken.error().code == Errc::protocol_violation) return false;
  // held_limit: the executor cannot hold back a callback for ever, so the user must see the error.
  throw Exception(taken.error());
}

namespace {

const std::shared_ptr<transport::Reader>& no_reader() noexcept {
  static const auto* const none =
      new std::shared_ptr<transport::Reader>;  // never destroyed: threads may still spin then
  return *none;
}

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever.
[[maybe_unused]] const auto& g_made_early = no_reader();

}  // namespace

const std::shared_ptr<transport::Reader>& Executable::reader() const noexcept { return no_reader(); }

}  // namespace detail

[[gnu::hot]] bool CallbackGroup::free_or_wait_locked(const std::weak_ptr<detail::Wakeable>& waiter) {
  if (!running_) return true;
  const bool known = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& other) {
    return !other.owner_before(waiter) && !waiter.owner_before(other);
  });
  if (!known) waiting_.push_back(waiter);
  return false;
}

bool CallbackGroup::free_or_wait(const std::weak_ptr<detail::Wakeable>& waiter) {
  if (kind_ == Kind::kReentrant) return true;
  std::lock_guard<os::PiMutex> lock(mutex_);
  return free_or_wait_locked(waiter);
}

[[gnu::hot]] bool CallbackGroup::enter(const std::weak_ptr<detail::Wakeable>& waiter) {
  if (kind_ == Kind::kReentrant) return true;
  std::lock_guard<os::PiMutex> lock(mutex_);
  if (!free_or_wait_locked(waiter)) return false;
  running_ = true;
  return true;
}

[[gnu::hot]] void CallbackGroup::leave() {
  if (kind_ == Kind::kReentrant) return;
  std::vector<std::weak_ptr<detail::Wakeable>> waiting;
  {
    std::lock_guard<os::PiMutex> lock(mutex_);
    running_ = false;
    waiting.swap(waiting_);
  }
  // Without the lock: an executor calls a group while it holds its own lock.
  for (const auto& weak : waiting)
    if (const auto waiter = weak.lock()) waiter->wake();
  if (waiting.capacity() == 0) return;
  waiting.clear();
  std::lock_guard<os::PiMutex> lock(mutex_);
  if (waiting_.capacity() == 0) waiting_.swap(waiting);  // so that a busy group does not allocate for ever
}

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

// Says "end". relaxed, because a sleeping thread is woken through its wait set, whose own ordering carries the word.
std::atomic<bool> g_ok{true};

struct Entry {
  std::shared_ptr<detail::Executable> executable;
  bool waited = false;  // its reader is in the wait set
};

}  // namespace

// Shared with threads that are about to call refresh() or wake(), so its end may be late.
struct Executor::State final : detail::Wakeable {
  unsigned threads = 1;
  std::weak_ptr<detail::Wakeable> self;  // given to groups: made once, since a counted pointer for each message costs
  transport::WaitSet wait_set;

  const std::uint32_t generation = os::fork_generation();
  os::PiMutex mutex;
  os::PiCondition leadership;
  std::vector<std::shared_ptr<detail::NodeCore>> nodes;
  os::HotVector<Entry> entries;
  std::size_t next = 0;  // round robin, so that no executable starves another
  bool spinning = false;
  bool leader = false;
  bool muted = false;                  // some reader of a running group is not in the wait set
  std::atomic<bool> cancelled{false};  // relaxed: paired with wake() and the mutex
  std::exception_ptr failure;

  bool ended() const { return cancelled.load(std::memory_order_relaxed) || !g_ok.load(std::memory_order_relaxed); }

  void wake() override {
    wait_set.wake();
    const std::lock_guard<os::PiMutex> lock(mutex);
    leadership.notify(INT_MAX);
  }

  /// Makes `entries` and the wait set match `nodes` and, from now on, `added`. Changes nothing if that throws.
  void refresh(const std::shared_ptr<detail::NodeCore>& added = nullptr);
  void leave(const Entry& entry);
  void begin_spin();
  /// Consumes a cancel() and rethrows an exception of a callback.
  void end_spin();
  void fail(std::exception_ptr thrown);
  std::shared_ptr<detail::Executable> pick(Nanoseconds* ready_in, bool* skipped_busy);
  bool run_one(SteadyTime deadline, bool wait);
  void mute_busy();
};

namespace {

// For shutdown(). Never destroyed: an executor may be a static object. In a forked child the parent's mutex may be
// locked for ever, so the child begins with a new mutex; the parent's executors do nothing there.
struct Executors {
  std::mutex mutex;
  std::vector<Executor*> all;
  std::vector<std::shared_ptr<void>> of_parent;  // what threads of the parent may have locked is never destroyed
};

Executors& living_executors() { return os::of_this_process<Executors>(); }

}  // namespace

void Executor::State::refresh(const std::shared_ptr<detail::NodeCore>& added) {
  os::HotVector<Entry> gone, now;  // destroyed after the lock is released: destructors may call back
  {
    std::lock_guard<os::PiMutex> lock(mutex);
    const auto collect = [&now](detail::NodeCore& node) {
      std::lock_guard<std::mutex> node_lock(node.mutex);
      for (const auto& executable : node.executables) now.push_back({executable, false});
    };
    for (const auto& node : nodes) collect(*node);
    if (added) collect(*added);

    std::vector<Entry*> joined;
    joined.reserve(now.size());
    try {
      if (added) nodes.reserve(nodes.size() + 1);
      for (Entry& entry : now) {
        const auto known = std::find_if(entries.begin(), entries.end(),
                                        [&](const Entry& old) { return old.executable == entry.executable; });
        if (known != entries.end()) {
          entry.waited = known->waited;
          continue;
        }
        if (entry.executable->reader()) {
          wait_set.add(entry.executable->reader()).or_throw();
          entry.waited = true;
        }
        joined.push_back(&entry);
        entry.executable->set_wake([weak = self] {
          if (const auto state = weak.lock()) state->wake();
        });
      }
    } catch (...) {
      for (const Entry* entry : joined) leave(*entry);
      throw;
    }
    if (added) nodes.push_back(added);
    gone.swap(entries);
    entries.swap(now);
    next = 0;
    for (const Entry& old : gone) {
      const bool stays = std::any_of(entries.begin(), entries.end(),
                                     [&](const Entry& entry) { return entry.executable == old.executable; });
      if (!stays) leave(old);
    }
  }
  wake();
}

void Executor::State::leave(const Entry& entry) {
  if (entry.waited) wait_set.remove(entry.executable->reader());
  entry.executable->set_wake({});
}

void Executor::State::begin_spin() {
  std::lock_guard<os::PiMutex> lock(mutex);
  if (spinning)
    throw Exception(
        {Errc::already_exists,
         "this executor is spinning already: in another thread, or around the callback that asks; for callbacks "
         "in parallel give it more threads"});
  spinning = true;
}

void Executor::State::end_spin() {
  std::exception_ptr thrown;
  {
    std::lock_guard<os::PiMutex> lock(mutex);
    spinning = false;
    cancelled.store(false, std::memory_order_relaxed);
    thrown = std::exchange(failure, nullptr);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void Executor::State::fail(std::exception_ptr thrown) {
  std::lock_guard<os::PiMutex> lock(mutex);
  if (!failure) failure = std::move(thrown);
}

// Under the mutex. The executable that it returns has entered its group.
[[gnu::hot]] std::shared_ptr<detail::Executable> Executor::State::pick(Nanoseconds* ready_in, bool* skipped_busy) {
  *ready_in = Nanoseconds::max();
  *skipped_busy = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t from_next = next + i;  // next is at most the number of entries
    const std::size_t index = from_next < entries.size() ? from_next : from_next - entries.size();
    const auto& executable = entries[index].executable;
    if (!executable->ready()) {
      *ready_in = std::min(*ready_in, executable->ready_in());
    } else if (executable->group()->enter(self)) {
      next = index + 1;
      return executable;
    } else {
      *skipped_busy = true;
    }
  }
  return nullptr;
}

// Under the mutex. Readers of running groups leave the wait set, since otherwise the leader would not sleep while such
// a reader has data. Readers of idle groups come back.
void Executor::State::mute_busy() {
  muted = false;
  for (Entry& entry : entries) {
    if (!entry.executable->reader()) continue;
    const bool busy = !entry.executable->group()->free_or_wait(self);
    muted = muted || busy;
    if (busy == !entry.waited) continue;
    if (busy)
      wait_set.remove(entry.executable->reader());
    else
      wait_set.add(entry.executable->reader()).or_throw();
    entry.waited = !busy;
  }
}

[[gnu::hot]] bool Executor::State::run_one(SteadyTime deadline, bool wait) {
  std::unique_lock<os::PiMutex> lock(mutex);
  for (;;) {
    if (ended() || failure) return false;
    Nanoseconds ready_in;
    bool skipped_busy;
    std::shared_ptr<detail::Executable> executable = pick(&ready_in, &skipped_busy);
    if (executable) {
      leadership.notify(1);
      lock.unlock();
      std::exception_ptr thrown;
      bool ran = true;
      try {
        ran = executable->execute();
      } catch (...) {
        thrown = std::current_exception();
      }
      executable->group()->leave();
      if (thrown) {
        fail(thrown);
        wake();
      }
      if (ran) return true;
      lock.lock();
      continue;
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!wait || now >= deadline) return false;
    if (leader) {
      const SteadyTime until = std::min(deadline, now + std::chrono::hours(1));
      leadership.wait_until(lock, Nanoseconds(until.time_since_epoch()).count());
      continue;
    }
    if (skipped_busy || muted) mute_busy();
    leader = true;
    lock.unlock();
    const Result<bool> woken = wait_set.wait(std::min<Nanoseconds>(ready_in, deadline - now));
    lock.lock();
    leader = false;
    leadership.notify(1);
    if (!woken.ok()) throw Exception(woken.error());
  }
}

Executor::Executor(unsigned threads) : state_(os::make_hot_shared<State>()) {
  if (threads == 0) throw Exception({Errc::invalid_argument, "an executor needs at least one thread; got 0"});
  state_->threads = threads;
  state_->self = state_;
  std::lock_guard<std::mutex> lock(living_executors().mutex);
  living_executors().all.push_back(this);
}

Executor::~Executor() {
  if (state_->generation != os::fork_generation()) {
    std::lock_guard<std::mutex> lock(living_executors().mutex);
    living_executors().of_parent.push_back(std::move(state_));
    return;
  }
  {
    std::lock_guard<std::mutex> lock(living_executors().mutex);
    auto& all = living_executors().all;
    all.erase(std::find(all.begin(), all.end(), this));
  }
  std::vector<std::shared_ptr<detail::NodeCore>> nodes;
  {
    std::lock_guard<os::PiMutex> lock(state_->mutex);
    nodes.swap(state_->nodes);
  }
  state_->refresh();
  for (const auto& node : nodes) {
    std::lock_guard<std::mutex> lock(node->mutex);
    node->on_change = nullptr;
  }
}

void Executor::add(Node& node) {
  {
    std::lock_guard<std::mutex> lock(node.core_->mutex);
    if (node.core_->on_change)
      throw Exception(
          {Errc::already_exists, "node '" + node.name() + "' belongs to an executor; remove it there first"});
    node.core_->on_change = [weak = std::weak_ptr<State>(state_)] {
      if (const auto state = weak.lock()) state->refresh();
    };
  }
  try {
    state_->refresh(node.core_);
  } catch (...) {
    std::lock_guard<std::mutex> lock(node.core_->mutex);
    node.core_->on_change = nullptr;
    throw;
  }
}

void Executor::remove(Node& node) {
  {
    std::lock_guard<os::PiMutex> lock(state_->mutex);
    auto it = std::find(state_->nodes.begin(), state_->nodes.end(), node.core_);
    if (it == state_->nodes.end())
      throw Exception({Errc::not_found, "node '" + node.name() + "' does not belong to this executor"});
    state_->nodes.erase(it);
  }
  state_->refresh();
  // Last: another executor may add the node only after this executor has released it.
  std::lock_guard<std::mutex> lock(node.core_->mutex);
  node.core_->on_change = nullptr;
}

void Executor::set_spin(Nanoseconds budget) { state_->wait_set.set_spin(budget); }

void Executor::spin() {
  state_->begin_spin();
  auto work = [this] {
    try {
      while (state_->run_one(SteadyTime::max(), true)) {
      }
    } catch (...) {
      state_->fail(std::current_exception());
    }
    state_->wake();
  };
  std::vector<std::thread> helpers;
  try {
    for (unsigned i = 1; i < state_->threads; ++i) helpers.emplace_back(work);
  } catch (...) {
    state_->fail(std::current_exception());  // no thread is available: the started threads end
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  state_->end_spin();
}

bool Executor::spin_once(Nanoseconds timeout) {
  state_->begin_spin();
  bool ran = false;
  try {
    ran = state_->run_one(detail::deadline_after(timeout), true);
  } catch (...) {
    state_->fail(std::current_exception());
  }
  state_->end_spin();
  return ran;
}

std::size_t Executor::spin_some() {
  state_->begin_spin();
  std::size_t count = 0;
  std::size_t limit;
  {
    std::lock_guard<os::PiMutex> lock(state_->mutex);
    limit = state_->entries.size();  // one round: work that arrives meanwhile waits for the next call
  }
  while (count < limit && state_->run_one(SteadyTime::min(), false)) ++count;
  state_->end_spin();
  return count;
}

void Executor::cancel() noexcept {
  state_->cancelled.store(true, std::memory_order_relaxed);
  state_->wake();
}

bool ok() noexcept { return g_ok.load(std::memory_order_relaxed); }

void shutdown() {
  g_ok.store(false, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(living_executors().mutex);
  for (Executor* executor : living_executors().all) executor->wake_for_shutdown();
}

void Executor::wake_for_shutdown() { state_->wake(); }

void shutdown_on_signals() {
  os::on_termination([] { shutdown(); }).or_throw();
}

void shutdown_on_signals(std::initializer_list<int> signals) {
  os::on_termination([] { shutdown(); }, signals).or_throw();
}

void request_shutdown() noexcept {
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not lock");
  g_ok.store(false, std::memory_order_relaxed);
  os::request_termination();
}

}  // namespace baton
