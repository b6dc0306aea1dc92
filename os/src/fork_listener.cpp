// SPDX-License-Identifier: Apache-2.0
#include "baton/os/fork_listener.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace baton::os {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkListener*> listeners;
};

// Never destroyed: a process may fork while its static objects go.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

void prepare() {
  registry().mutex.lock();
  for (ForkListener* listener : registry().listeners) listener->before_fork();
}

void in_parent() {
  for (ForkListener* listener : registry().listeners) listener->after_fork_in_parent();
  registry().mutex.unlock();
}

void in_child() {
  for (ForkListener* listener : registry().listeners) listener->after_fork_in_child();
  registry().mutex.unlock();
}

}  // namespace

void ForkListener::start_listening() {
  static const int registered = ::pthread_atfork(prepare, in_parent, in_child);
  (void)registered;
  const std::lock_guard<std::mutex> lock(registry().mutex);
  registry().listeners.push_back(this);
}

void ForkListener::stop_listening() {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  auto& listeners = registry().listeners;
  listeners.erase(std::remove(listeners.begin(), listeners.end(), this), listeners.end());
}

}  // namespace baton::os
