// SPDX-License-Identifier: Apache-2.0
// Leader and followers: one thread at a time (the leader) sleeps in the wait set; whoever finds work gives leadership away and
// runs it. The mutex is process-private and held for scans only, never during a callback or a sleep.
#include "baton/node/executor.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "baton/os/termination.hpp"
#include "node_core.hpp"

namespace baton {
namespace detail {

const std::shared_ptr<transport::Reader>& Executable::reader() const noexcept {
  static const std::shared_ptr<transport::Reader> none;
  return none;
}

}  // namespace detail

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

// One word that says "end": relaxed, because whoever is asleep is woken through its wait set, whose own ordering carries it.
std::atomic<bool> g_ok{true};

struct Entry {
  std::shared_ptr<detail::Executable> executable;
  bool waited = false;  // its reader is in the wait set
};

SteadyTime deadline_after(Nanoseconds timeout) {
  const SteadyTime now = std::chrono::steady_clock::now();
  return timeout > SteadyTime::max() - now ? SteadyTime::max() : now + timeout;
}

}  // namespace

struct Executor::State {
  unsigned threads = 1;
  transport::WaitSet wait_set;

  std::mutex mutex;
  std::condition_variable leadership;
  std::vector<std::shared_ptr<detail::NodeCore>> nodes;
  std::vector<Entry> entries;
  std::size_t next = 0;  // round robin, so that no executable starves another
  bool leader = false;
  bool skipped_busy = false;
  std::atomic<bool> cancelled{false};  // relaxed: paired with wake() and the mutex
  std::exception_ptr failure;

  bool ended() const { return cancelled.load(std::memory_order_relaxed) || !g_ok.load(std::memory_order_relaxed); }

  void wake() {
    wait_set.wake();
    { std::lock_guard<std::mutex> lock(mutex); }  // a follower between its check and its sleep holds the mutex
    leadership.notify_all();
  }

  void refresh();
  std::shared_ptr<detail::Executable> pick(Nanoseconds* ready_in);
  bool run_one(SteadyTime deadline, bool wait);
  void mute_busy();
};

namespace {

std::mutex g_executors_mutex;
std::vector<Executor*> g_executors;  // for shutdown(); guarded by g_executors_mutex

}  // namespace

// Makes `entries` and the wait set those of `nodes`.
void Executor::State::refresh() {
  std::vector<std::shared_ptr<detail::Executable>> now;
  std::vector<Entry> gone;  // destroyed after the lock is released: destructors may call back
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto& node : nodes) {
      std::lock_guard<std::mutex> node_lock(node->mutex);
      now.insert(now.end(), node->executables.begin(), node->executables.end());
    }
    std::vector<Entry> kept;
    for (auto& executable : now) {
      auto known = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.executable == executable; });
      if (known != entries.end()) {
        kept.push_back(std::move(*known));
        continue;
      }
      Entry entry{executable, false};
      if (executable->reader()) {
        wait_set.add(executable->reader()).or_throw();
        entry.waited = true;
      }
      executable->set_wake([this] { wake(); });
      kept.push_back(std::move(entry));
    }
    gone = std::move(entries);
    entries = std::move(kept);
    next = 0;
    for (Entry& entry : gone) {
      if (!entry.executable) continue;
      if (entry.waited) wait_set.remove(entry.executable->reader());
      entry.executable->set_wake({});
    }
  }
  wake();
}

// Under the mutex. Marks the group of what it returns as running.
std::shared_ptr<detail::Executable> Executor::State::pick(Nanoseconds* ready_in) {
  *ready_in = Nanoseconds::max();
  skipped_busy = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t index = (next + i) % entries.size();
    const auto& executable = entries[index].executable;
    CallbackGroup& group = *executable->group();
    if (group.running_ > 0 && group.kind_ == CallbackGroup::Kind::kMutuallyExclusive) {
      skipped_busy = true;
      continue;
    }
    if (executable->ready()) {
      ++group.running_;
      next = index + 1;
      return executable;
    }
    *ready_in = std::min(*ready_in, executable->ready_in());
  }
  return nullptr;
}

// Under the mutex. Readers of running groups leave the wait set, or the leader would never sleep while one of them has data;
// those of idle groups come back.
void Executor::State::mute_busy() {
  for (Entry& entry : entries) {
    if (!entry.executable->reader()) continue;
    const CallbackGroup& group = *entry.executable->group();
    const bool busy = group.running_ > 0 && group.kind_ == CallbackGroup::Kind::kMutuallyExclusive;
    if (busy == !entry.waited) continue;
    if (busy) wait_set.remove(entry.executable->reader());
    else wait_set.add(entry.executable->reader()).or_throw();
    entry.waited = !busy;
  }
}

bool Executor::State::run_one(SteadyTime deadline, bool wait) {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    if (ended() || failure) return false;
    Nanoseconds ready_in;
    std::shared_ptr<detail::Executable> executable = pick(&ready_in);
    if (executable) {
      if (threads > 1) leadership.notify_one();
      lock.unlock();
      std::exception_ptr thrown;
      try {
        executable->execute();
      } catch (...) {
        thrown = std::current_exception();
      }
      lock.lock();
      --executable->group()->running_;
      if (thrown && !failure) failure = thrown;
      const bool others_wait = leader || thrown;
      lock.unlock();
      // The group is free again: a sleeping leader, which left its readers out, must look anew.
      if (others_wait) wake();
      executable.reset();
      return true;
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    if (!wait || now >= deadline) return false;
    if (leader) {
      leadership.wait_until(lock, std::min(deadline, now + std::chrono::hours(1)));
      continue;
    }
    leader = true;
    if (threads > 1) mute_busy();
    lock.unlock();
    const Result<bool> woken = wait_set.wait(std::min<Nanoseconds>(ready_in, deadline - now));
    lock.lock();
    leader = false;
    if (threads > 1) leadership.notify_one();
    if (!woken.ok()) throw Exception(woken.error());
  }
}

Executor::Executor(unsigned threads) : state_(std::make_unique<State>()) {
  if (threads == 0) throw Exception({Errc::invalid_argument, "an executor needs at least one thread; got 0"});
  state_->threads = threads;
  std::lock_guard<std::mutex> lock(g_executors_mutex);
  g_executors.push_back(this);
}

Executor::~Executor() {
  {
    std::lock_guard<std::mutex> lock(g_executors_mutex);
    g_executors.erase(std::find(g_executors.begin(), g_executors.end(), this));
  }
  std::vector<std::shared_ptr<detail::NodeCore>> nodes;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    nodes.swap(state_->nodes);
  }
  for (const auto& node : nodes) {
    std::lock_guard<std::mutex> lock(node->mutex);
    node->on_change = nullptr;
  }
  state_->refresh();
}

void Executor::add(Node& node) {
  {
    std::lock_guard<std::mutex> lock(node.core_->mutex);
    if (node.core_->on_change)
      throw Exception({Errc::already_exists, "node '" + node.name() + "' belongs to an executor; remove it there first"});
    node.core_->on_change = [state = state_.get()] { state->refresh(); };
  }
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->nodes.push_back(node.core_);
  }
  state_->refresh();
}

void Executor::remove(Node& node) {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    auto it = std::find(state_->nodes.begin(), state_->nodes.end(), node.core_);
    if (it == state_->nodes.end())
      throw Exception({Errc::not_found, "node '" + node.name() + "' does not belong to this executor"});
    state_->nodes.erase(it);
  }
  {
    std::lock_guard<std::mutex> lock(node.core_->mutex);
    node.core_->on_change = nullptr;
  }
  state_->refresh();
}

void Executor::set_spin(Nanoseconds budget) { state_->wait_set.set_spin(budget); }

void Executor::spin() {
  auto work = [this] {
    try {
      while (state_->run_one(SteadyTime::max(), true)) {
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(state_->mutex);
      if (!state_->failure) state_->failure = std::current_exception();
    }
    state_->wake();
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < state_->threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  state_->cancelled.store(false, std::memory_order_relaxed);
  if (std::exception_ptr failure = std::exchange(state_->failure, nullptr)) std::rethrow_exception(failure);
}

bool Executor::spin_once(Nanoseconds timeout) {
  const bool ran = state_->run_one(deadline_after(timeout), true);
  state_->cancelled.store(false, std::memory_order_relaxed);
  if (std::exception_ptr failure = std::exchange(state_->failure, nullptr)) std::rethrow_exception(failure);
  return ran;
}

std::size_t Executor::spin_some() {
  std::size_t count = 0;
  std::size_t limit;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    limit = state_->entries.size();  // one round: work that arrives meanwhile is for the next call
  }
  while (count < limit && state_->run_one(SteadyTime::min(), false)) ++count;
  if (std::exception_ptr failure = std::exchange(state_->failure, nullptr)) std::rethrow_exception(failure);
  return count;
}

void Executor::cancel() noexcept {
  state_->cancelled.store(true, std::memory_order_relaxed);
  state_->wake();
}

bool ok() noexcept { return g_ok.load(std::memory_order_relaxed); }

void shutdown() {
  g_ok.store(false, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(g_executors_mutex);
  for (Executor* executor : g_executors) executor->wake_for_shutdown();
}

void Executor::wake_for_shutdown() { state_->wake(); }

void shutdown_on_signals() { os::on_termination([] { shutdown(); }).or_throw(); }

}  // namespace baton
