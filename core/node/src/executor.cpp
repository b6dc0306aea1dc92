// SPDX-License-Identifier: Apache-2.0
// Leader and followers: one thread at a time (the leader) sleeps in the wait set. A thread that finds work gives
// leadership away and runs the work. The mutex is process-private and held for scans only, never during a callback or a
// sleep.
#include "baton/node/executor.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <climits>
#include <exception>
#include <thread>

#include "baton/node/init.hpp"
#include "baton/os/allowance.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/pi_condition.hpp"
#include "baton/os/shortage.hpp"
#include "baton/os/termination.hpp"
#include "baton/transport/whose.hpp"
#include "node_core.hpp"

namespace baton {
namespace detail {

bool ReaderExecutable::ready() const { return reader_->has_data(); }

bool ReaderExecutable::execute() {
  Result<transport::TakenSample> taken = reader_->take_next();
  if (unlikely(!taken.ok())) {
    // Another thread took the last sample that may be held: ready() is false until one is released.
    if (transport::whose(taken.error().code) == transport::Whose::kLimit) return false;
    throw_error(taken.error());
  }
  return *taken && on_message(std::move(*taken));
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

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

// Says "end". relaxed, because a sleeping thread is woken through its wait set, whose own ordering carries the word.
BATON_HOT_BSS std::atomic<bool> g_ended{false};

struct ExecutorEntry {
  std::shared_ptr<detail::Executable> executable;
  const transport::Reader::Impl* reader;  // null: it has none. Only to be compared
  bool waited = false;                    // its reader is in the wait set
};

/// A thread that spins.
struct Spinner {
  detail::Executable* running = nullptr;
  /// Keeps `running` alive if refresh() drops it meanwhile: then only, since a counted pointer for each message costs.
  std::shared_ptr<detail::Executable> dropped;
  Spinner* next = nullptr;
};

}  // namespace

namespace detail {

// Shared with threads that are about to call refresh() or wake(), so its end may be late.
struct ExecutorState final : os::Hot {
  // What every callback touches comes first, on one cache line. `ends` is relaxed: paired with wake() and the mutex.
  transport::WaitSet wait_set;
  os::HotVector<ExecutorEntry> entries BATON_GUARDED_BY(mutex);
  std::uint32_t next BATON_GUARDED_BY(mutex) = 0;  // round robin, so that no executable starves another
  os::PiCondition leadership BATON_GUARDED_BY(mutex);
  std::atomic<bool> ends{false};  // the running spin, or the next one: cancel(), or a failure
  bool leader BATON_GUARDED_BY(mutex) = false;
  bool muted BATON_GUARDED_BY(mutex) = false;  // some reader of a running group is not in the wait set
  bool spinning BATON_GUARDED_BY(mutex) = false;
  os::PiMutex mutex;

  // Given to groups: made once, since a counted pointer for each message costs.
  std::weak_ptr<ExecutorState> self;
  Spinner* spinners BATON_GUARDED_BY(mutex) = nullptr;
  std::vector<std::shared_ptr<NodeCore>> nodes BATON_GUARDED_BY(mutex);
  std::exception_ptr failure BATON_GUARDED_BY(mutex);
  unsigned threads = 1;
  // relaxed: statistics, and a line that comes a moment too early or too late harms nobody.
  std::atomic<std::uint64_t> shortages{0};
  os::Allowance shortage_lines;
  const std::uint32_t generation = os::fork_generation();

  bool ended() const { return ends.load(std::memory_order_relaxed) || g_ended.load(std::memory_order_relaxed); }

  void wake() {
    wait_set.wake();
    const os::Lock lock(mutex);
    leadership.notify(INT_MAX);
  }

  /// Makes `entries` and the wait set match `nodes` and, from now on, `added`. Changes nothing if that throws.
  void refresh(const std::shared_ptr<NodeCore>& added = nullptr);
  void leave(const ExecutorEntry& entry);
  void begin_spin();
  /// Consumes a cancel() and rethrows an exception of a callback.
  void end_spin();
  void fail(std::exception_ptr thrown);
  /// A callback found no memory of Baton's for a message: counts it, and prints a line at most every 10 s.
  void report(const Shortage& shortage) noexcept;
  /// Runs at most `most` callbacks in this thread, and returns their number. Returns early if the spin ends, or if no
  /// callback becomes ready before `deadline`; without `wait` if none is ready now.
  std::size_t run(std::size_t most, SteadyTime deadline, bool wait);

  bool run_one(Spinner& spinner, SteadyTime deadline, bool wait) BATON_REQUIRES(mutex);
  bool execute(Spinner& spinner, Executable& executable) BATON_REQUIRES(mutex);
  Executable* pick(Nanoseconds* ready_in, bool* skipped_busy) BATON_REQUIRES(mutex);
  Executable* pick_woken() BATON_REQUIRES(mutex);
  void lead(Nanoseconds timeout) BATON_REQUIRES(mutex);
  void mute_busy() BATON_REQUIRES(mutex);
};

}  // namespace detail

void CallbackGroup::wait_locked(const std::weak_ptr<detail::ExecutorState>& waiter) {
  const bool known = std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& other) {
    return !other.owner_before(waiter) && !waiter.owner_before(other);
  });
  if (!known) waiting_.push_back(waiter);
}

bool CallbackGroup::free_or_wait(const std::weak_ptr<detail::ExecutorState>& waiter) {
  if (kind_ == Kind::kReentrant) return true;
  const os::Lock lock(mutex_);
  const bool running = running_.load(std::memory_order_relaxed);  // under the mutex, as in enter_or_wait()
  if (running) wait_locked(waiter);
  return !running;
}

BATON_HOT_INLINE bool CallbackGroup::enter(const std::weak_ptr<detail::ExecutorState>& waiter) {
  if (unlikely(kind_ == Kind::kReentrant)) return true;
  // acquire: pairs with the release in leave(): this callback sees what earlier ones did.
  if (unlikely(running_.exchange(true, std::memory_order_acquire))) return enter_or_wait(waiter);
  return true;
}

/// Under the mutex, which leave() locks: a running callback has its leave() still to come, which then finds the waiter.
BATON_COLD bool CallbackGroup::enter_or_wait(const std::weak_ptr<detail::ExecutorState>& waiter) {
  const os::Lock lock(mutex_);
  if (!running_.exchange(true, std::memory_order_acquire)) return true;  // acquire: as above
  wait_locked(waiter);
  return false;
}

BATON_HOT_INLINE void CallbackGroup::leave() {
  if (unlikely(kind_ == Kind::kReentrant)) return;
  {
    const os::Lock lock(mutex_);
    running_.store(false, std::memory_order_release);  // pairs with the acquire in enter()
    if (likely(waiting_.empty())) return;
  }
  wake_waiting();
}

/// Without the lock: an executor calls a group while it holds its own lock.
BATON_COLD void CallbackGroup::wake_waiting() {
  std::vector<std::weak_ptr<detail::ExecutorState>> waiting;
  {
    const os::Lock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& weak : waiting)
    if (const auto waiter = weak.lock()) waiter->wake();
  waiting.clear();
  const os::Lock lock(mutex_);
  if (waiting_.capacity() == 0) waiting_.swap(waiting);  // so that a busy group does not allocate for ever
}

namespace {

// For shutdown(). Never destroyed: an executor may be a static object. In a forked child the parent's mutex may be
// locked for ever, so the child begins with a new mutex; the parent's executors do nothing there.
struct Executors {
  os::Mutex mutex;
  std::vector<Executor*> all BATON_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<void>> of_parent
      BATON_GUARDED_BY(mutex);  // what threads of the parent may have locked is never destroyed
};

Executors& living_executors() { return os::of_this_process<Executors>(); }

}  // namespace

void detail::ExecutorState::refresh(const std::shared_ptr<detail::NodeCore>& added) {
  os::HotVector<ExecutorEntry> gone, now;  // destroyed after the lock is released: destructors may call back
  {
    const os::Lock lock(mutex);
    const auto collect = [&now](detail::NodeCore& node) {
      const os::Lock node_lock(node.mutex);
      for (const auto& executable : node.executables) {
        const auto& reader = executable->reader();
        now.push_back({executable, reader ? &reader->impl() : nullptr});
      }
    };
    for (const auto& node : nodes) collect(*node);
    if (added) collect(*added);

    std::vector<ExecutorEntry*> joined;
    joined.reserve(now.size());
    try {
      if (added) nodes.reserve(nodes.size() + 1);
      for (ExecutorEntry& entry : now) {
        const auto known = std::find_if(entries.begin(), entries.end(),
                                        [&](const ExecutorEntry& old) { return old.executable == entry.executable; });
        if (known != entries.end()) {
          entry.waited = known->waited;
          continue;
        }
        if (entry.reader != nullptr) {
          wait_set.add(entry.executable->reader()).or_throw();
          entry.waited = true;
        }
        joined.push_back(&entry);
        entry.executable->set_wake([weak = self] {
          if (const auto state = weak.lock()) state->wake();
        });
      }
    } catch (...) {
      for (const ExecutorEntry* entry : joined) leave(*entry);
      throw;
    }
    if (added) nodes.push_back(added);
    gone.swap(entries);
    entries.swap(now);
    const std::uint32_t turn = std::exchange(next, 0);
    bool keeps_turn = false;  // `next` stays with the executable whose turn it is, or the first one after it that stays
    for (const ExecutorEntry& old : gone) {
      const auto stays = std::find_if(entries.begin(), entries.end(),
                                      [&](const ExecutorEntry& entry) { return entry.executable == old.executable; });
      if (stays != entries.end()) {
        if (!keeps_turn && &old - gone.data() >= turn) {
          next = static_cast<std::uint32_t>(stays - entries.begin());
          keeps_turn = true;
        }
        continue;
      }
      leave(old);
      for (Spinner* spinner = spinners; spinner != nullptr; spinner = spinner->next)
        if (spinner->running == old.executable.get()) spinner->dropped = old.executable;
    }
  }
  wake();
}

void detail::ExecutorState::leave(const ExecutorEntry& entry) {
  if (entry.waited) wait_set.remove(entry.executable->reader());
  entry.executable->set_wake({});
}

void detail::ExecutorState::begin_spin() {
  report_unused_parameters();
  const os::Lock lock(mutex);
  if (spinning)
    throw Exception(
        {Errc::already_exists,
         "this executor is spinning already: in another thread, or around the callback that asks; for callbacks "
         "in parallel give it more threads"});
  spinning = true;
}

void detail::ExecutorState::end_spin() {
  std::exception_ptr thrown;
  {
    const os::Lock lock(mutex);
    spinning = false;
    ends.store(false, std::memory_order_relaxed);
    thrown = std::exchange(failure, nullptr);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void detail::ExecutorState::fail(std::exception_ptr thrown) {
  const os::Lock lock(mutex);
  if (!failure) failure = std::move(thrown);
  ends.store(true, std::memory_order_relaxed);
  wait_set.wake();
  leadership.notify(INT_MAX);
}

void detail::ExecutorState::report(const Shortage& shortage) noexcept {
  const std::uint64_t count = shortages.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!shortage_lines.once()) return;
  try {
    log_of_baton(Logger::Level::kError, "a callback ended without memory for its message, and the executor goes on (" +
                                            std::to_string(count) + " so far): " + shortage.what());
  } catch (const std::bad_alloc&) {
    // Counted all the same.
  }
}

/// The next executable that is ready. It has entered its group.
BATON_HOT_SELDOM detail::Executable* detail::ExecutorState::pick(Nanoseconds* ready_in, bool* skipped_busy) {
  *ready_in = Nanoseconds::max();
  *skipped_busy = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t from_next = next + i;  // next is at most the number of entries
    const std::size_t index = from_next < entries.size() ? from_next : from_next - entries.size();
    detail::Executable* const executable = entries[index].executable.get();
    if (!executable->ready()) {
      *ready_in = std::min(*ready_in, executable->ready_in());
    } else if (executable->group()->enter(self)) {
      next = static_cast<std::uint32_t>(index) + 1;
      return executable;
    } else {
      *skipped_busy = true;
    }
  }
  return nullptr;
}

/// After a sleep: the executable for whose reader the wait set has seen a message, without a look at the others. It has
/// entered its group. No other executable starves: pick() looks at all before the next sleep. Null: something else has ended the
/// sleep, the executable is gone, or its group is busy.
BATON_HOT_INLINE detail::Executable* detail::ExecutorState::pick_woken() {
  const transport::Reader::Impl* const reader = wait_set.reader_with_work();
  if (unlikely(reader == nullptr)) return nullptr;
  for (const ExecutorEntry& entry : entries) {
    if (unlikely(entry.reader != reader)) continue;
    detail::Executable* const executable = entry.executable.get();
    if (unlikely(!executable->group()->enter(self))) return nullptr;
    next = static_cast<std::uint32_t>(&entry - entries.data()) + 1;
    return executable;
  }
  return nullptr;
}

// Readers of running groups leave the wait set, since otherwise the leader would not sleep while such
// a reader has data. Readers of idle groups come back.
void detail::ExecutorState::mute_busy() {
  muted = false;
  for (ExecutorEntry& entry : entries) {
    if (entry.reader == nullptr) continue;
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

/// False if there was no work after all.
BATON_HOT_INLINE bool detail::ExecutorState::execute(Spinner& spinner, detail::Executable& executable) {
  spinner.running = &executable;
  leadership.notify(1);
  bool ran = true;
  {
    const os::Unlock unlocked(mutex);
    try {
      ran = executable.execute();
    } catch (const Shortage& shortage) {
      report(shortage);
    } catch (...) {
      fail(std::current_exception());
    }
    executable.group()->leave();
  }
  spinner.running = nullptr;
  if (unlikely(spinner.dropped != nullptr)) {
    const os::Unlock unlocked(mutex);  // destructors may call back
    spinner.dropped = nullptr;
  }
  return ran;
}

/// Sleeps until there may be work.
BATON_HOT_INLINE void detail::ExecutorState::lead(Nanoseconds timeout) {
  struct Lead {
    explicit Lead(ExecutorState& of) BATON_REQUIRES(of.mutex) : state(of) { state.leader = true; }
    ~Lead() BATON_UNCHECKED_LOCKS { state.leader = false; }  // as at its construction
    ExecutorState& state;
  };
  const Lead leads(*this);
  const os::Unlock unlocked(mutex);
  const Result<bool> woken = wait_set.wait(timeout);
  if (unlikely(!woken.ok())) throw_error(woken.error());
}

namespace {

bool is_over(SteadyTime deadline) {
  return deadline != SteadyTime::max() && std::chrono::steady_clock::now() >= deadline;
}

}  // namespace

/// Runs one callback, or returns false as run() says. Unlocks while it sleeps and while the callback runs.
BATON_HOT_INLINE bool detail::ExecutorState::run_one(Spinner& spinner, SteadyTime deadline, bool wait) {
  for (std::size_t misses = 0;;) {
    if (ended()) return false;
    Nanoseconds ready_in;
    bool skipped_busy;
    detail::Executable* executable = pick(&ready_in, &skipped_busy);
    if (!unlikely(executable != nullptr)) {
      if (!wait) return false;
      const bool endless = deadline == SteadyTime::max();
      const SteadyTime now = endless && !leader ? SteadyTime() : std::chrono::steady_clock::now();
      if (now >= deadline) return false;
      if (unlikely(leader)) {
        const SteadyTime until = std::min(deadline, now + std::chrono::hours(1));
        leadership.wait_until(mutex, Nanoseconds(until.time_since_epoch()).count());
        continue;
      }
      if (unlikely(skipped_busy || muted)) mute_busy();
      lead(endless ? ready_in : std::min<Nanoseconds>(ready_in, deadline - now));
      if (unlikely(ended())) return false;
      executable = pick_woken();
      if (unlikely(executable == nullptr)) continue;
    }
    if (!unlikely(!execute(spinner, *executable))) return true;
    // A reader whose messages are all lost, or another's, stays ready as long as they come.
    if (++misses >= entries.size() && (!wait || out_of_line([&] { return is_over(deadline); }))) return false;
  }
}

std::size_t detail::ExecutorState::run(std::size_t most, SteadyTime deadline, bool wait) {
  Spinner spinner;
  std::size_t count = 0;
  const os::Lock lock(mutex);
  spinner.next = std::exchange(spinners, &spinner);
  try {
    while (count < most && run_one(spinner, deadline, wait)) ++count;
  } catch (...) {
    const os::Unlock unlocked(mutex);
    fail(std::current_exception());
  }
  Spinner** at = &spinners;
  while (*at != &spinner) at = &(*at)->next;
  *at = spinner.next;
  return count;
}

Executor::Executor(unsigned threads) : state_(new detail::ExecutorState) {
  if (threads == 0) throw Exception({Errc::invalid_argument, "an executor needs at least one thread; got 0"});
  state_->threads = threads;
  state_->self = state_;
  const os::Lock lock(living_executors().mutex);
  living_executors().all.push_back(this);
}

Executor::~Executor() {
  if (state_->generation != os::fork_generation()) {
    const os::Lock lock(living_executors().mutex);
    living_executors().of_parent.push_back(std::move(state_));
    return;
  }
  {
    const os::Lock lock(living_executors().mutex);
    auto& all = living_executors().all;
    all.erase(std::find(all.begin(), all.end(), this));
  }
  std::vector<std::shared_ptr<detail::NodeCore>> nodes;
  {
    const os::Lock lock(state_->mutex);
    nodes.swap(state_->nodes);
  }
  state_->refresh();
  for (const auto& node : nodes) {
    const os::Lock lock(node->mutex);
    node->on_change = nullptr;
  }
}

void Executor::add_core(const std::shared_ptr<detail::NodeCore>& node) {
  {
    const os::Lock lock(node->mutex);
    if (node->on_change)
      throw Exception(
          {Errc::already_exists, "node '" + node->names.name() + "' belongs to an executor; remove it there first"});
    node->on_change = [weak = std::weak_ptr<detail::ExecutorState>(state_)] {
      if (const auto state = weak.lock()) state->refresh();
    };
  }
  try {
    state_->refresh(node);
  } catch (...) {
    const os::Lock lock(node->mutex);
    node->on_change = nullptr;
    throw;
  }
}

void Executor::remove_core(const std::shared_ptr<detail::NodeCore>& node) {
  {
    const os::Lock lock(state_->mutex);
    auto it = std::find(state_->nodes.begin(), state_->nodes.end(), node);
    if (it == state_->nodes.end())
      throw Exception({Errc::not_found, "node '" + node->names.name() + "' does not belong to this executor"});
    state_->nodes.erase(it);
  }
  state_->refresh();
  // Last: another executor may add the node only after this executor has released it.
  const os::Lock lock(node->mutex);
  node->on_change = nullptr;
}

void Executor::set_spin(os::Nanoseconds budget) { state_->wait_set.set_spin(budget); }

void Executor::spin() {
  state_->begin_spin();
  auto work = [this] {
    state_->run(SIZE_MAX, SteadyTime::max(), true);
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

bool Executor::spin_once(os::Nanoseconds timeout) {
  state_->begin_spin();
  const bool ran = state_->run(1, detail::deadline_after(timeout), true) != 0;
  state_->end_spin();
  return ran;
}

std::size_t Executor::spin_some() {
  state_->begin_spin();
  std::size_t limit;
  {
    const os::Lock lock(state_->mutex);
    limit = state_->entries.size();  // one round: work that arrives meanwhile waits for the next call
  }
  const std::size_t count = state_->run(limit, SteadyTime::min(), false);
  state_->end_spin();
  return count;
}

std::uint64_t Executor::shortages() const noexcept { return state_->shortages.load(std::memory_order_relaxed); }

void Executor::cancel() noexcept {
  state_->ends.store(true, std::memory_order_relaxed);
  state_->wake();
}

bool ok() noexcept { return !g_ended.load(std::memory_order_relaxed); }

void shutdown() {
  g_ended.store(true, std::memory_order_relaxed);
  const os::Lock lock(living_executors().mutex);
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
  g_ended.store(true, std::memory_order_relaxed);
  os::request_termination();
}

}  // namespace baton
