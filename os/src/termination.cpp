// SPDX-License-Identifier: Apache-2.0
#include "baton/os/termination.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

namespace baton::os {
namespace {

// Written before the handlers are installed and read by them: sigaction(2) is the ordering between the two.
std::atomic<int> g_event_fd{-1};

void handle(int signal_number) {
  const int saved_errno = errno;
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &default_action, nullptr);  // the second one ends the process
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(g_event_fd.load(std::memory_order_relaxed), &one, sizeof one);
  errno = saved_errno;
}

// A child would otherwise report its signals to its parent through the shared eventfd.
void restore_defaults_in_child() {
  const int fd = g_event_fd.exchange(-1, std::memory_order_relaxed);
  if (fd < 0) return;
  ::close(fd);
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(SIGINT, &default_action, nullptr);
  ::sigaction(SIGTERM, &default_action, nullptr);
}

Error system_error(const char* call) { return {Errc::system, std::string(call) + ": " + std::strerror(errno)}; }

}  // namespace

Result<void> on_termination(std::function<void()> callback) {
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  if (fd < 0) return system_error("eventfd");
  int none = -1;
  if (!g_event_fd.compare_exchange_strong(none, fd, std::memory_order_relaxed)) {
    ::close(fd);
    return Error{Errc::already_exists, "on_termination() was called before; call it once per process"};
  }
  ::pthread_atfork(nullptr, nullptr, restore_defaults_in_child);

  // The thread starts with all signals blocked, so that handlers run on the program's own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([fd, callback = std::move(callback)] {
    std::uint64_t count = 0;
    for (;;) {
      const ssize_t got = ::read(fd, &count, sizeof count);
      if (got == static_cast<ssize_t>(sizeof count)) callback();
      else if (errno != EINTR) return;
    }
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  if (::sigaction(SIGINT, &action, nullptr) != 0 || ::sigaction(SIGTERM, &action, nullptr) != 0)
    return system_error("sigaction");
  return {};
}

}  // namespace baton::os
