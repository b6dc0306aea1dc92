// SPDX-License-Identifier: Apache-2.0
// Heaps whose Heap object has ended, until the last smart pointer of the process is gone and no thread is on its way out of one: dropping the last
// pointer ends an object, gives its memory back and counts, and the heap must stay until that is over, however long a destructor runs.
//
// Every such way, and every recovery, lies in an Inside, which marks its thread. A heap is closed when (1) nothing was held in it, (2) no
// other thread but its background one was inside after that. Whoever comes out last looks: `wanted` says that there may be something to close.
// Orderings: the mark, then light_fence() and what is inside; `wanted`, then heavy_fence() and the look at the marks. So either the look sees
// the mark, or the one inside sees that the heap is closing; and who comes out sees `wanted`, or the look sees him out.
// Thread rules: everything is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "baton/os/membarrier.hpp"

namespace baton::shared::detail {

class HeapState;

/// One per thread, kept for the next thread.
struct ThreadMark {
  std::atomic<std::uint32_t> depth{0};
  std::atomic<bool> used{true};
  std::atomic<const HeapState*> background{nullptr};  // the heap whose background thread it is
  bool passing = false;                               // of a thread that ends: for one way only
  ThreadMark* next = nullptr;
};

class Inside {
 public:
  Inside() noexcept : mark_(mine != nullptr ? *mine : new_mark()) {
    mark_.depth.store(mark_.depth.load(std::memory_order_relaxed) + 1,
                      std::memory_order_relaxed);  // this thread's only
    os::light_fence();
  }
  ~Inside() {
    const std::uint32_t depth = mark_.depth.load(std::memory_order_relaxed) - 1;
    mark_.depth.store(depth,
                      std::memory_order_release);  // pairs with the acquire of who looks: all that was done inside
    os::light_fence();
    if (depth != 0) return;
    if (wanted.load(std::memory_order_relaxed)) close_what_can_be();
    if (mark_.passing) give_mark_back();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  /// Something may be closed when the threads that are inside have come out.
  static void want() noexcept {
    wanted.store(true, std::memory_order_release);
  }  // pairs with the exchange of who looks
  /// The calling thread is the heap's background thread, which is waited for where the heap is closed, and need not be out before.
  static void serve(const HeapState* heap) noexcept;
  /// The heap is kept until it can be closed. Inside.
  static void keep_until_closed(std::shared_ptr<HeapState> heap) noexcept;

 private:
  static ThreadMark& new_mark() noexcept;
  static void give_mark_back() noexcept;
  static void close_what_can_be() noexcept;

  static std::atomic<bool> wanted;
  static thread_local ThreadMark* mine __attribute__((tls_model("initial-exec")));
  ThreadMark& mark_;

  friend struct Closing;
};

}  // namespace baton::shared::detail
