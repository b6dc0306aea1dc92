// SPDX-License-Identifier: Apache-2.0
#include "listener.hpp"

#include "baton/os/process.hpp"
#include "rcutils/logging_macros.h"
#include "subscription_path.hpp"

namespace baton::rmw {
namespace {

constexpr std::size_t kStackBytes = 1024 * 1024;  // the application's callbacks run on it

}  // namespace

Listener::~Listener() {
  if (!thread_) return;
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in run()
  wait_set_->wake();
  ::pthread_join(*thread_, nullptr);
}

void Listener::add(const std::shared_ptr<SubscriptionPath>& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!paths_.insert(path).second) return;
  path->listen_in(wait_set_);
  if (thread_) return;
  Result<pthread_t> thread = os::start_thread("rmw-baton-calls", kStackBytes, [this] { run(); });
  if (thread) {
    thread_ = *thread;
  } else {
    RCUTILS_LOG_WARN_NAMED(kLogger, "callbacks are not called for what Baton brings: %s",
                           thread.error().message.c_str());
  }
}

void Listener::remove(const std::shared_ptr<SubscriptionPath>& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (paths_.erase(path) != 0) path->listen_in(nullptr);
}

void Listener::run() {
  while (!stop_.load(std::memory_order_acquire)) {  // pairs with the release in the destructor
    if (Result<bool> woken = wait_set_->wait(kInfinite); !woken) {
      RCUTILS_LOG_WARN_NAMED(kLogger, "callbacks are not called from here on: %s", woken.error().message.c_str());
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& path : paths_) path->tell_callback();
  }
}

}  // namespace baton::rmw
