// SPDX-License-Identifier: Apache-2.0
// What ends a wait: Ctrl-C in the main thread, the interpreter's end in every other thread. At once, although the wait sleeps without the GIL.
//
// Python's signal handler writes to a descriptor (signal.set_wakeup_fd), on which one sleeping thread waits that calls `wake`.
// So nothing polls, and a signal between the last look and the sleep is not lost.
// When the interpreter begins to end, before it joins the threads that are no daemons, end_waits() wakes every other thread that waits; each
// finds has_ended() and raises SystemExit, which ends a thread without a word. So no thread that waits in Baton keeps the process alive.
// Thread rules: everything is called with the GIL held; a SignalWatch by the thread that waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace baton::python {

/// Says which thread (threading.get_ident()) runs signal handlers; called at import and in a forked child.
void set_main_thread(unsigned long ident) noexcept;

/// Wakes all waits of threads other than the main one; from now on each of their waits ends.
void end_waits();
/// Whether the calling thread's waits end: end_waits() was called, and this is not the main thread.
bool has_ended() noexcept;
/// In a forked child, whose other threads are gone.
void forget_waits() noexcept;

class SignalWatch {
 public:
  /// Until destroyed: in the main thread, signals call `wake` on a thread of its own; in another thread end_waits() calls it.
  explicit SignalWatch(std::function<void()> wake);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  bool signalled() const noexcept { return signalled_.load(std::memory_order_relaxed); }

 private:
  friend struct SignalThread;
  friend void end_waits();
  friend void forget_waits() noexcept;
  void watch_signals();
  void watch_end();
  std::function<void()> wake_;
  SignalWatch* outer_ = nullptr;
  // Of a thread that is not the main one: its neighbours in the list of those that wait.
  SignalWatch* before_ = nullptr;
  SignalWatch* after_ = nullptr;
  bool listed_ = false;
  std::uint32_t generation_;  // of forks: in a child, a watch of its parent is in no list
  int previous_fd_ = -1;
  bool active_ = false;
  std::atomic<bool> signalled_{false};  // a hint that is read after wake_() took effect
};

}  // namespace baton::python
