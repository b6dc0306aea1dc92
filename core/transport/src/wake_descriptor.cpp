// SPDX-License-Identifier: Apache-2.0
#include "wake_descriptor.hpp"

#include <algorithm>
#include <string>

#include "baton/os/process.hpp"
#include "baton/os/wake_socket.hpp"

namespace baton::transport {

std::size_t WakePairs::limit() { return std::max<std::size_t>(4, os::descriptor_limit() / kPartOfDescriptors); }

Result<std::shared_ptr<const void>> WakePairs::count(std::uint64_t process) {
  const os::Lock lock(mutex_);
  for (auto at = of_processes_.begin(); at != of_processes_.end();) {
    at = at->second.use_count() == 1 ? of_processes_.erase(at) : std::next(at);
  }
  std::shared_ptr<const char>& uses = of_processes_[process];
  if (!uses) uses = std::make_shared<const char>();
  // Uses are added with the lock only, so the count seen is never too low.
  if (process != 0 && static_cast<std::size_t>(uses.use_count()) > limit()) {
    return Error{Errc::limit_reached,
                 "it publishes to " + std::to_string(limit()) +
                     " polled subscriptions already, whose sockets take an eighth of this process's RLIMIT_NOFILE"};
  }
  return std::shared_ptr<const void>(uses);
}

Result<std::unique_ptr<WakeDescriptor>> WakeDescriptor::create() {
  Result<os::Poller> poller = os::Poller::create();
  if (!poller) return poller.error();
  return std::unique_ptr<WakeDescriptor>(new WakeDescriptor(std::move(*poller)));
}

Result<os::SharedFd> WakeDescriptor::socket_for(const Notifier& notifier, std::uint64_t process, WakePairs& pairs) {
  if (const auto known = sockets_.find(notifier); known != sockets_.end()) return known->second.notify_end;
  Result<std::shared_ptr<const void>> counted = pairs.count(process);
  if (!counted) return counted.error();
  Result<os::WakeSocket> pair = os::WakeSocket::create();
  if (!pair) return pair.error();
  spoilt_.reserve(sockets_.size() + 1);
  auto notify_end = std::make_shared<const os::UniqueFd>(std::move(pair->notify_end));
  const auto at =
      sockets_.emplace(notifier, Socket{notifier, std::move(pair->wait_end), notify_end, std::move(*counted)}).first;
  if (!poller_.add(at->second.wait_end.get(), reinterpret_cast<std::uintptr_t>(&at->second))) {
    const int code = errno;
    sockets_.erase(at);
    return os::system_error("epoll_ctl", code);
  }
  return notify_end;
}

void WakeDescriptor::forget(const Notifier& notifier) noexcept {
  if (const auto found = sockets_.find(notifier); found != sockets_.end()) erase(found);
}

WakeDescriptor::Sockets::iterator WakeDescriptor::erase(Sockets::iterator at) noexcept {
  poller_.remove(at->second.wait_end.get());
  return sockets_.erase(at);
}

/// Drains the ready sockets; returns those that cannot be drained. Allocates nothing.
const std::vector<WakeDescriptor::Socket*>& WakeDescriptor::spoilt() {
  spoilt_.clear();
  constexpr std::chrono::steady_clock::time_point kAtOnce{};
  if (!poller_.wait(kAtOnce, ready_)) return spoilt_;  // a signal
  for (const os::Poller::Event& event : ready_) {
    auto* const socket = reinterpret_cast<Socket*>(static_cast<std::uintptr_t>(event.token));
    if (!os::drain(socket->wait_end.get())) spoilt_.push_back(socket);
  }
  return spoilt_;
}

}  // namespace baton::transport
