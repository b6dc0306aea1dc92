// SPDX-License-Identifier: Apache-2.0
// Ends waits: Ctrl-C in the main thread, the interpreter's end in all other threads. At once, although the waiting
// thread sleeps without the GIL.
//
// Python's signal handler writes to a descriptor (signal.set_wakeup_fd). One sleeping thread waits on the descriptor
// and calls `wake`. So no thread polls, and a signal between the last check and the sleep is not lost.
// When the interpreter begins to end, before it joins the threads that are no daemons, end_waits() wakes every other
// thread that waits. Each of these finds has_ended() and raises SystemExit, which ends a thread without a message. So
// no thread that waits in Baton keeps the process alive.
// Thread rules: everything is called with the GIL held; a SignalWatch by the thread that waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace baton::python {

/// Sets which thread (threading.get_ident()) runs signal handlers; called at import and in a forked child.
void set_main_thread(unsigned long ident) noexcept;

/// Wakes all waits of threads other than the main one; from now on each of their waits ends.
void end_waits();
/// Whether the calling thread's waits end: end_waits() was called, and this is not the main thread.
bool has_ended() noexcept;
/// Call in a forked child, whose other threads are gone.
void forget_waits() noexcept;

class SignalWatch {
 public:
  /// Until it is destroyed: in the main thread, signals make a separate thread call `wake`; in another thread
  /// end_waits() calls `wake`.
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
  // For a thread that is not the main one: the neighbours in the list of waiting threads.
  SignalWatch* before_ = nullptr;
  SignalWatch* after_ = nullptr;
  bool listed_ = false;
  std::uint32_t generation_;  // of forks: in a child, a watch of its parent is in no list
  int previous_fd_ = -1;
  bool active_ = false;
  std::atomic<bool> signalled_{false};  // a hint that is read after wake_() took effect
};

}  // namespace baton::python
