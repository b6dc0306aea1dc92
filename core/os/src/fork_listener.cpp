// SPDX-License-Identifier: Apache-2.0
#include "baton/os/fork_listener.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/os/parent_only_fd.hpp"

namespace baton::os {

/// All ParentOnlyFds of this process.
struct ParentOnlyFds {
  Mutex mutex;  // innermost: fork() takes it after the listeners' locks
  ParentOnlyFd* first BATON_GUARDED_BY(mutex) = nullptr;

  void add(ParentOnlyFd* fd) BATON_REQUIRES(mutex) {
    fd->next_ = first;
    if (first != nullptr) first->previous_ = fd;
    first = fd;
  }
  void remove(ParentOnlyFd* fd) BATON_REQUIRES(mutex) {
    (fd->previous_ != nullptr ? fd->previous_->next_ : first) = fd->next_;
    if (fd->next_ != nullptr) fd->next_->previous_ = fd->previous_;
    fd->previous_ = fd->next_ = nullptr;
  }
  void close_all() BATON_REQUIRES(mutex) {
    while (first != nullptr) {
      ParentOnlyFd* fd = first;
      remove(fd);
      // Another process's copy of the file stays open, so this close is never the last one, and is short.
      (void)::close(std::exchange(fd->fd_, -1));
    }
  }
};

namespace {

struct ForkRegistry {
  Mutex mutex;
  std::vector<ForkListener*> listeners BATON_GUARDED_BY(mutex);
};

// Never destroyed: a process may fork while its static objects end.
ForkRegistry& registry() {
  static auto* const instance = new ForkRegistry;
  return *instance;
}

ParentOnlyFds& parent_only_fds() {
  static auto* const instance = new ParentOnlyFds;
  return *instance;
}

void prepare() BATON_ACQUIRES(registry().mutex, parent_only_fds().mutex) {
  registry().mutex.lock();
  for (ForkListener* listener : registry().listeners) listener->before_fork();
  parent_only_fds().mutex.lock();
}

void in_parent() BATON_RELEASES(registry().mutex, parent_only_fds().mutex) {
  parent_only_fds().mutex.unlock();
  for (ForkListener* listener : registry().listeners) listener->after_fork_in_parent();
  registry().mutex.unlock();
}

void in_child() BATON_RELEASES(registry().mutex, parent_only_fds().mutex) {
  parent_only_fds().close_all();
  parent_only_fds().mutex.unlock();
  for (ForkListener* listener : registry().listeners) listener->after_fork_in_child();
  registry().mutex.unlock();
}

void register_once() {
  static const int registered = ::pthread_atfork(prepare, in_parent, in_child);
  (void)registered;
}

}  // namespace

ParentOnlyFd::ParentOnlyFd(UniqueFd fd) {
  if (!fd) return;
  register_once();
  const Lock lock(parent_only_fds().mutex);
  fd_ = fd.release();
  parent_only_fds().add(this);
}

UniqueFd ParentOnlyFd::release() noexcept {
  if (fd_ < 0) return UniqueFd();
  const Lock lock(parent_only_fds().mutex);
  parent_only_fds().remove(this);
  return UniqueFd(std::exchange(fd_, -1));
}

void ForkListener::start_listening() {
  register_once();
  const Lock lock(registry().mutex);
  registry().listeners.push_back(this);
}

void ForkListener::stop_listening() {
  const Lock lock(registry().mutex);
  auto& listeners = registry().listeners;
  listeners.erase(std::remove(listeners.begin(), listeners.end(), this), listeners.end());
}

}  // namespace baton::os
