// SPDX-License-Identifier: Apache-2.0
#include "baton/os/poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>

#include "baton/os/process.hpp"

namespace baton::os {
namespace {

constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

epoll_event make_event(std::uint64_t token, Poller::Interest interest) noexcept {
  using Interest = Poller::Interest;
  epoll_event event{};
  const bool reads = interest == Interest::kRead || interest == Interest::kReadWrite;
  const bool writes = interest == Interest::kReadWrite || interest == Interest::kHangUpWrite;
  event.events = (reads ? static_cast<std::uint32_t>(EPOLLIN) : static_cast<std::uint32_t>(EPOLLRDHUP)) |
                 (writes ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = token;
  return event;
}

// Rounded up: waking early would turn the last millisecond before a timer into a busy loop.
int timeout_ms(std::optional<std::chrono::steady_clock::time_point> deadline) noexcept {
  using namespace std::chrono;
  if (!deadline) return -1;
  const auto now = steady_clock::now();
  if (*deadline <= now) return 0;
  const auto left = *deadline - now;
  if (left > hours(24 * 20)) return std::numeric_limits<int>::max();  // woken once in 24 days, in vain
  return static_cast<int>(ceil<milliseconds>(left).count());
}

}  // namespace

Result<Poller> Poller::create() {
  Poller poller;
  poller.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.epoll_) return system_error("epoll_create1", errno);
  poller.wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!poller.wake_) return system_error("eventfd", errno);
  if (!poller.add(poller.wake_.get(), kWakeToken)) return system_error("epoll_ctl", errno);
  return poller;
}

bool Poller::add(int fd, std::uint64_t token) noexcept {
  epoll_event event = make_event(token, Interest::kRead);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::modify(int fd, std::uint64_t token, Interest interest) noexcept {
  epoll_event event = make_event(token, interest);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) noexcept { (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);  // fails only when the counter is full, that is, readable already
}

Result<void> Poller::wait(std::optional<std::chrono::steady_clock::time_point> deadline, std::vector<Event>& events) {
  events.clear();
  std::array<epoll_event, kMaxEvents> ready;
  const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout_ms(deadline));
  if (count < 0) {
    if (errno == EINTR) return {};
    return system_error("epoll_wait", errno);
  }
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWakeToken) {
      std::uint64_t wakes = 0;
      (void)!::read(wake_.get(), &wakes, sizeof wakes);
      continue;
    }
    Event out;
    out.token = event.data.u64;
    out.readable = (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    out.writable = (event.events & EPOLLOUT) != 0;
    out.hung_up = (event.events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
    events.push_back(out);
  }
  return {};
}

void Poller::close_after_fork() noexcept {
  epoll_.reset();
  wake_.reset();
}

}  // namespace baton::os
