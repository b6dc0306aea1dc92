// SPDX-License-Identifier: Apache-2.0
// Keeps a heap open until no operation runs in it. The end of a Heap object does not close its heap: smart pointers of
// the process may still exist. The end of the last pointer destroys an object, frees memory and counts, and its
// destructor may run long.
//
// Every such operation, and every recovery, holds an OperationGuard, which marks its thread. A heap is closed when
//   1. the process holds nothing in it (Closable::is_unused()), and
//   2. after that no thread except the heap's background thread was in an operation.
// The end of a guard looks for heaps to close if close_requested is set.
// Orderings:
//   - An operation marks its thread, then light_fence(), then acts. A closer sets close_requested, then heavy_fence(),
//     then reads the marks.
//   - So the closer sees the mark, or the operation sees that the heap is closing.
//   - And the end of the operation sees close_requested, or the closer sees that the mark is gone.
// Thread rules: everything is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "baton/os/membarrier.hpp"

namespace baton::objects::detail {

/// A heap in the list of heaps to close.
class Closable {
 public:
  /// True if the process holds nothing in it, and is the process that opened it.
  virtual bool is_unused() noexcept = 0;

 protected:
  ~Closable() = default;
};

/// One per thread; a later thread reuses it.
struct ThreadMark {
  std::atomic<std::uint32_t> depth{0};
  std::atomic<bool> used{true};
  std::atomic<const Closable*> background{nullptr};  // the heap whose background thread this is
  std::shared_ptr<Closable> parked;                  // that heap, closed by this thread itself
  bool passing = false;                              // of a thread that is ending: for one operation only
  ThreadMark* next = nullptr;
};

class OperationGuard {
 public:
  OperationGuard() noexcept : mark_(mine != nullptr ? *mine : new_mark()) {
    mark_.depth.store(mark_.depth.load(std::memory_order_relaxed) + 1,
                      std::memory_order_relaxed);  // only this thread writes it
    os::light_fence();
  }
  ~OperationGuard() {
    const std::uint32_t depth = mark_.depth.load(std::memory_order_relaxed) - 1;
    mark_.depth.store(depth, std::memory_order_release);  // pairs with the acquire of a closer: the operation is over
    os::light_fence();
    if (depth != 0) return;
    if (close_requested.load(std::memory_order_relaxed)) close_unused();
    if (mark_.passing) give_mark_back();
  }
  OperationGuard(const OperationGuard&) = delete;
  OperationGuard& operator=(const OperationGuard&) = delete;

  /// A heap may be closed after the running operations. release: pairs with the exchange of the closer.
  static void request_close() noexcept { close_requested.store(true, std::memory_order_release); }
  /// Keeps the heap until it can be closed. Call within an operation.
  static void close_later(std::shared_ptr<Closable> heap) noexcept;

  /// Declares the calling thread the heap's background thread: closing joins it, and does not wait for its operations.
  static void set_background(const Closable* heap) noexcept;
  /// True if the calling thread is a heap's background thread.
  static bool is_background() noexcept {
    return mine != nullptr &&
           mine->background.load(std::memory_order_relaxed) != nullptr;  // only this thread writes it
  }
  /// For a background thread after an operation: its own heap, if the heap is to be closed.
  static std::shared_ptr<Closable> take_parked() noexcept { return std::move(mine->parked); }

 private:
  static ThreadMark& new_mark() noexcept;
  static void give_mark_back() noexcept;
  static void close_unused() noexcept;

  static std::atomic<bool> close_requested;
  static thread_local ThreadMark* mine __attribute__((tls_model("initial-exec")));
  ThreadMark& mark_;

  friend struct ClosingHeaps;
};

}  // namespace baton::objects::detail
