// SPDX-License-Identifier: Apache-2.0
// Ctrl-C at once: a signal that arrives while Python's main thread sleeps without the GIL wakes it.
//
// Python's signal handler writes to a descriptor (signal.set_wakeup_fd), on which one sleeping thread waits that calls `wake`.
// So nothing polls, and a signal between the last look and the sleep is not lost.
// Thread rules: constructed and destroyed with the GIL held, by the thread that waits.
#pragma once

#include <atomic>
#include <functional>

namespace baton::python {

/// Says which thread (threading.get_ident()) runs signal handlers; called at import and in a forked child.
void set_main_thread(unsigned long ident) noexcept;

class SignalWatch {
 public:
  /// Until destroyed, signals call `wake` on a thread of its own. Elsewhere than in the main thread it does nothing.
  explicit SignalWatch(std::function<void()> wake);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  bool signalled() const noexcept { return signalled_.load(std::memory_order_relaxed); }

 private:
  friend struct SignalThread;
  std::function<void()> wake_;
  SignalWatch* outer_ = nullptr;
  int previous_fd_ = -1;
  bool active_ = false;
  std::atomic<bool> signalled_{false};  // a hint that is read after wake_() took effect
};

}  // namespace baton::python
