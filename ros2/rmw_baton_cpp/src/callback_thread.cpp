// SPDX-License-Identifier: Apache-2.0
#include "callback_thread.hpp"

#include "baton/os/process.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kStackBytes = 1024 * 1024;  // the application's callbacks run on it

}  // namespace

CallbackThread::~CallbackThread() {
  if (!thread_) return;
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wait_set_->wake();
  ::pthread_join(*thread_, nullptr);
}

void CallbackThread::add(Called& source) {
  {
    const os::Lock lock(mutex_);
    sources_.insert(&source);
    if (!thread_) {
      Result<pthread_t> thread = os::start_thread("rmw-baton-calls", kStackBytes, [this] { run(); });
      if (thread) {
        thread_ = *thread;
      } else {
        RCUTILS_LOG_WARN_NAMED(kLogger, "callbacks are not called: %s", thread.error().message.c_str());
      }
    }
  }
  wake();
}

void CallbackThread::remove(Called& source) {
  os::UniqueLock lock(mutex_);
  sources_.erase(&source);
  if (calling_ != &source || ::pthread_equal(*thread_, ::pthread_self()) != 0) return;
  called_.wait(lock.standard(), [this, call = calls_]() BATON_REQUIRES(mutex_) { return calls_ != call; });
}

void CallbackThread::run() {
  os::UniqueLock lock(mutex_);
  while (!stop_.load(std::memory_order_acquire)) {  // pairs with the release in the destructor
    lock.unlock();
    if (Result<bool> woken = wait_set_->wait(kInfinite); !woken) {
      RCUTILS_LOG_WARN_NAMED(kLogger, "callbacks are not called any more: %s", woken.error().message.c_str());
      return;
    }
    lock.lock();
    for (auto next = sources_.begin(); next != sources_.end(); next = sources_.upper_bound(calling_)) {
      Called* const calling = calling_ = *next;
      lock.unlock();
      calling->call();  // may change the set
      lock.lock();
      ++calls_;
      called_.notify_all();
    }
    calling_ = nullptr;
  }
}

}  // namespace baton::rmw
