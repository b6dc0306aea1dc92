// SPDX-License-Identifier: Apache-2.0
#include "baton/os/termination.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

namespace baton::os {
namespace {

// Written before the handlers are installed, and read by the handlers: sigaction(2) orders the two.
std::atomic<int> g_event_fd{-1};

// The signals of on_termination(). Written before the handlers and the fork handler are installed, constant afterwards.
sigset_t g_signals;

void restore_default(int signal_number) {
  struct sigaction default_action {};
  default_action.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &default_action, nullptr);
}

void handle(int signal_number) {
  const int saved_errno = errno;
  restore_default(signal_number);  // a second signal ends the process
  request_termination();
  errno = saved_errno;
}

// Otherwise a child would report its signals to its parent through the shared eventfd.
void restore_defaults_in_child() {
  const int fd = g_event_fd.exchange(-1, std::memory_order_relaxed);
  if (fd < 0) return;
  ::close(fd);
  for (int number = 1; number < NSIG; ++number)
    if (::sigismember(&g_signals, number) == 1) restore_default(number);
}

Error system_error(const char* call) { return {Errc::system, std::string(call) + ": " + std::strerror(errno)}; }

}  // namespace

void request_termination() noexcept {
  const int saved_errno = errno;
  const int fd = g_event_fd.load(std::memory_order_relaxed);
  const std::uint64_t one = 1;
  // It fails only if 2^64 - 2 requests are unread.
  [[maybe_unused]] const ssize_t written = fd < 0 ? 0 : ::write(fd, &one, sizeof one);
  errno = saved_errno;
}

Result<void> on_termination(std::function<void()> callback, std::initializer_list<int> signals) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : signals)
    if (number == SIGKILL || number == SIGSTOP || ::sigaddset(&wanted, number) != 0)
      return Error{Errc::invalid_argument, "signal " + std::to_string(number) + " cannot be caught"};
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  if (fd < 0) return system_error("eventfd");
  int none = -1;
  if (!g_event_fd.compare_exchange_strong(none, fd, std::memory_order_relaxed)) {
    ::close(fd);
    return Error{Errc::already_exists, "on_termination() was called before; call it once per process"};
  }
  g_signals = wanted;
  ::pthread_atfork(nullptr, nullptr, restore_defaults_in_child);

  // The thread starts with all signals blocked, so that handlers run on the program's own threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([fd, callback = std::move(callback)] {
    std::uint64_t count = 0;
    for (;;) {
      const ssize_t got = ::read(fd, &count, sizeof count);
      if (got == static_cast<ssize_t>(sizeof count))
        callback();
      else if (errno != EINTR)
        return;
    }
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  for (const int number : signals)
    if (::sigaction(number, &action, nullptr) != 0) return system_error("sigaction");
  return {};
}

}  // namespace baton::os
