// SPDX-License-Identifier: Apache-2.0
#include "closing.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "baton/os/fork_listener.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

std::atomic<bool> Inside::wanted{false};
thread_local ThreadMark* Inside::mine = nullptr;

/// The process's list of heaps to be closed, and of its threads. Never destroyed: pointers may end while static objects go.
struct Closing final : os::ForkListener {
  std::mutex mutex;
  std::vector<std::shared_ptr<HeapState>> heaps;  // under mutex
  std::atomic<ThreadMark*> marks{nullptr};

  static Closing& instance() {
    static auto* const closing = new Closing;
    return *closing;
  }
  Closing() { start_listening(); }

  bool others_inside(const HeapState* heap) const noexcept {
    // acquire: pairs with new_mark().
    for (const ThreadMark* mark = marks.load(std::memory_order_acquire); mark != nullptr; mark = mark->next) {
      if (mark != Inside::mine && mark->background.load(std::memory_order_relaxed) != heap &&
          mark->depth.load(std::memory_order_acquire) != 0)
        return true;  // pairs with ~Inside()
    }
    return false;
  }
  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override {  // which has no other threads
    for (ThreadMark* mark = marks.load(std::memory_order_relaxed); mark != nullptr; mark = mark->next) {
      if (mark == Inside::mine) continue;
      mark->depth.store(0, std::memory_order_relaxed);
      mark->used.store(false, std::memory_order_relaxed);
    }
    mutex.unlock();
  }
};

namespace {
// Made when the library is loaded: not with a lock that a fork wants, too.
[[maybe_unused]] const Closing& g_made_early = Closing::instance();
}  // namespace

ThreadMark& Inside::new_mark() noexcept {
  // Ends with the thread. Of the thread's pointers that end after it, each has a mark for itself.
  thread_local bool ending = false;
  struct Owner {
    ~Owner() {
      ending = true;
      if (mine != nullptr && mine->depth.load(std::memory_order_relaxed) == 0) give_mark_back();
    }
  };
  Closing& closing = Closing::instance();
  ThreadMark* mark = closing.marks.load(std::memory_order_acquire);
  for (; mark != nullptr; mark = mark->next) {
    bool used = false;
    // acquire: pairs with the release in give_mark_back().
    if (mark->used.compare_exchange_strong(used, true, std::memory_order_acquire, std::memory_order_relaxed)) break;
  }
  if (mark == nullptr) {
    mark = new ThreadMark;  // NOLINT(bugprone-unhandled-exception-at-new): as a thread's own variables
    mark->next = closing.marks.load(std::memory_order_relaxed);
    // release: pairs with the acquires of those who look.
    while (
        !closing.marks.compare_exchange_weak(mark->next, mark, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  mine = mark;
  mark->background.store(nullptr, std::memory_order_relaxed);
  mark->passing = ending;
  if (!ending) {
    thread_local Owner owner;
    (void)&owner;
  }
  return *mark;
}

void Inside::give_mark_back() noexcept {
  ThreadMark* const mark = mine;
  mine = nullptr;
  if (mark != nullptr) mark->used.store(false, std::memory_order_release);  // pairs with the exchange in new_mark()
}

void Inside::serve(const HeapState* heap) noexcept {
  const Inside inside;
  inside.mark_.background.store(heap, std::memory_order_relaxed);  // before any recovery by this thread
}

void Inside::keep_until_closed(std::shared_ptr<HeapState> heap) noexcept {
  Closing& closing = Closing::instance();
  {
    const std::lock_guard<std::mutex> lock(closing.mutex);
    closing.heaps.push_back(std::move(heap));
  }
  want();
}

void Inside::close_what_can_be() noexcept {
  Closing& closing = Closing::instance();
  std::vector<std::shared_ptr<HeapState>> ended;  // after the lock is given up
  const std::lock_guard<std::mutex> lock(closing.mutex);
  // acquire: pairs with want(), whose pointer is gone. What is wanted from now on is looked at by who wants it.
  (void)wanted.exchange(false, std::memory_order_acq_rel);
  const auto held =
      std::partition(closing.heaps.begin(), closing.heaps.end(),
                     [](const std::shared_ptr<HeapState>& heap) { return !heap->forked() && heap->nothing_held(); });
  if (held == closing.heaps.begin()) return;
  // Nobody comes in any more where nothing is held; who was in when it was dropped is in, or out for good.
  want();
  os::heavy_fence();  // pairs with the light ones
  for (auto heap = closing.heaps.begin(); heap != held; ++heap) {
    if (closing.others_inside(heap->get())) continue;  // the last of them sees `wanted`
    // The background thread, in a recovery, ends the heap behind it: see Membership::run().
    if (HeapState::background() == heap->get()) {
      HeapState& state = **heap;
      state.park(std::move(*heap));
    } else {
      ended.push_back(std::move(*heap));
    }
  }
  closing.heaps.erase(std::remove(closing.heaps.begin(), closing.heaps.end(), nullptr), closing.heaps.end());
}

}  // namespace baton::shared::detail
