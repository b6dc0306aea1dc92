// SPDX-License-Identifier: Apache-2.0
#include "operation_guard.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "baton/os/fork_listener.hpp"

namespace baton::objects::detail {

std::atomic<bool> OperationGuard::close_requested{false};
thread_local ThreadMark* OperationGuard::mine = nullptr;

/// The process's list of heaps to close, and its threads' marks. Never destroyed: pointers may end while static objects
/// end.
struct ClosingHeaps final : os::ForkListener {
  std::mutex mutex;
  std::vector<std::shared_ptr<Closable>> heaps;  // under mutex
  std::atomic<ThreadMark*> marks{nullptr};

  static ClosingHeaps& instance() {
    static auto* const closing = new ClosingHeaps;
    return *closing;
  }
  ClosingHeaps() { start_listening(); }

  bool others_inside(const Closable* heap) const noexcept {
    // acquire: pairs with new_mark().
    for (const ThreadMark* mark = marks.load(std::memory_order_acquire); mark != nullptr; mark = mark->next) {
      if (mark != OperationGuard::mine && mark->background.load(std::memory_order_relaxed) != heap &&
          mark->depth.load(std::memory_order_acquire) != 0)
        return true;  // pairs with ~OperationGuard()
    }
    return false;
  }
  void before_fork() override { mutex.lock(); }
  void after_fork_in_parent() override { mutex.unlock(); }
  void after_fork_in_child() override {  // which has no other threads
    for (ThreadMark* mark = marks.load(std::memory_order_relaxed); mark != nullptr; mark = mark->next) {
      if (mark == OperationGuard::mine) continue;
      mark->depth.store(0, std::memory_order_relaxed);
      mark->used.store(false, std::memory_order_relaxed);
    }
    mutex.unlock();
  }
};

namespace {
// Made when the library is loaded: making it later might happen under a lock that fork() takes, too.
[[maybe_unused]] const ClosingHeaps& g_made_early = ClosingHeaps::instance();
}  // namespace

ThreadMark& OperationGuard::new_mark() noexcept {
  // Ends with the thread. Each pointer of the thread that ends later takes a mark of its own.
  thread_local bool ending = false;
  struct Owner {
    ~Owner() {
      ending = true;
      if (mine != nullptr && mine->depth.load(std::memory_order_relaxed) == 0) give_mark_back();
    }
  };
  ClosingHeaps& closing = ClosingHeaps::instance();
  ThreadMark* mark = closing.marks.load(std::memory_order_acquire);
  for (; mark != nullptr; mark = mark->next) {
    bool used = false;
    // acquire: pairs with the release in give_mark_back().
    if (mark->used.compare_exchange_strong(used, true, std::memory_order_acquire, std::memory_order_relaxed)) break;
  }
  if (mark == nullptr) {
    mark = new ThreadMark;  // NOLINT(bugprone-unhandled-exception-at-new): as a thread's own variables
    mark->next = closing.marks.load(std::memory_order_relaxed);
    // release: pairs with the acquire in others_inside().
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

void OperationGuard::give_mark_back() noexcept {
  ThreadMark* const mark = mine;
  mine = nullptr;
  if (mark != nullptr) mark->used.store(false, std::memory_order_release);  // pairs with the exchange in new_mark()
}

void OperationGuard::set_background(const Closable* heap) noexcept {
  const OperationGuard guard;
  guard.mark_.background.store(heap, std::memory_order_relaxed);  // before any recovery by this thread
}

void OperationGuard::close_later(std::shared_ptr<Closable> heap) noexcept {
  ClosingHeaps& closing = ClosingHeaps::instance();
  {
    const std::lock_guard<std::mutex> lock(closing.mutex);
    closing.heaps.push_back(std::move(heap));
  }
  request_close();
}

void OperationGuard::close_unused() noexcept {
  ClosingHeaps& closing = ClosingHeaps::instance();
  std::vector<std::shared_ptr<Closable>> ended;  // destroyed after the lock is given up
  const std::lock_guard<std::mutex> lock(closing.mutex);
  // acquire: pairs with request_close() by the thread whose pointer is gone. Every later request causes a later call of
  // this function.
  (void)close_requested.exchange(false, std::memory_order_acq_rel);
  const auto held = std::partition(closing.heaps.begin(), closing.heaps.end(),
                                   [](const std::shared_ptr<Closable>& heap) { return heap->is_unused(); });
  if (held == closing.heaps.begin()) return;
  // No operation begins any more in a heap in which nothing is held. Operations that began before are still marked, or
  // over for good.
  request_close();
  os::heavy_fence();  // pairs with the light fences
  for (auto heap = closing.heaps.begin(); heap != held; ++heap) {
    if (closing.others_inside(heap->get())) continue;  // the last of them sees close_requested
    // The background thread, if it is in a recovery, ends its own heap after it: see Membership::run().
    const bool own = mine->background.load(std::memory_order_relaxed) == heap->get();
    (own ? mine->parked : ended.emplace_back()) = std::move(*heap);
  }
  closing.heaps.erase(std::remove(closing.heaps.begin(), closing.heaps.end(), nullptr), closing.heaps.end());
}

}  // namespace baton::objects::detail
