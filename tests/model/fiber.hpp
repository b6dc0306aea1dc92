// SPDX-License-Identifier: Apache-2.0
// Simulated threads for the interleaving explorer: stackful fibers inside one real thread, restartable from the top at any
// time. Entered once through ucontext, switched by _setjmp/_longjmp afterwards (no system call, some 10 ns).
// Rule for bodies: a fiber that is restarted or dropped in the middle runs no destructors, so its locals own nothing.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace baton::model {

class Fiber {
 public:
  Fiber() : stack_(new char[kStackBytes]) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    starting_ = this;
    makecontext(&context_, &Fiber::entry, 0);
    if (_setjmp(scheduler_) == 0) setcontext(&context_);  // returns when entry() stands at its loop's top
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Scheduler: the next resume() runs `body` from its start, whatever the fiber did before.
  void restart(const std::function<void()>* body) {
    body_ = body;
    fresh_ = true;
    finished_ = false;
  }
  /// Scheduler: runs the fiber until it yields or its body returns.
  void resume() {
    if (_setjmp(scheduler_) != 0) return;
    if (fresh_) {
      fresh_ = false;
      _longjmp(top_, 1);
    }
    _longjmp(inside_, 1);
  }
  bool finished() const { return finished_; }
  /// Fiber: back to the scheduler.
  void yield() {
    if (_setjmp(inside_) == 0) _longjmp(scheduler_, 1);
  }

 private:
  static constexpr std::size_t kStackBytes = 64 * 1024;
  static void entry() {
    Fiber* const self = starting_;
    self->loop();
  }
  [[noreturn]] void loop() {
    if (_setjmp(top_) == 0) _longjmp(scheduler_, 1);
    (*body_)();
    finished_ = true;
    _longjmp(scheduler_, 1);
  }
  static inline Fiber* starting_ = nullptr;
  std::unique_ptr<char[]> stack_;
  ucontext_t context_{};
  jmp_buf scheduler_{}, inside_{}, top_{};
  const std::function<void()>* body_ = nullptr;
  bool fresh_ = false;
  bool finished_ = true;
};

}  // namespace baton::model
