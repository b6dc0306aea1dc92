// SPDX-License-Identifier: Apache-2.0
#include "deadlines.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"
#include "baton/os/process.hpp"
#include "baton_context.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kStackBytes = 1024 * 1024;
constexpr std::int64_t kLongestNs = 3600'000'000'000;  // of one sleep

}  // namespace

Deadlines::~Deadlines() {
  if (!thread_) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  ::pthread_join(*thread_, nullptr);
}

std::uint64_t Deadlines::add(Deadline deadline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  deadline.period =
      std::clamp(deadline.period, std::chrono::nanoseconds(kShortestNs), std::chrono::nanoseconds(INT64_MAX / 4));
  const std::int64_t due_ns = os::monotonic_ns() + deadline.period.count();
  entries_.emplace(++last_id_, Entry{std::move(deadline), due_ns});
  changed_.notify_one();
  if (!thread_) {
    Result<pthread_t> thread = os::start_thread("rmw-baton-time", kStackBytes, [this] { run(); });
    if (thread) {
      thread_ = *thread;
    } else {
      RCUTILS_LOG_WARN_NAMED(kLogger, "missed deadlines are not noticed: %s", thread.error().message.c_str());
    }
  }
  return last_id_;
}

void Deadlines::remove(std::uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.erase(id);
}

void Deadlines::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    const std::int64_t now_ns = os::monotonic_ns();
    std::int64_t next_ns = now_ns + kLongestNs;
    for (auto& [id, entry] : entries_) {
      if (now_ns >= entry.due_ns) {
        bool missed = false;
        entry.due_ns =
            next_due(entry.due_ns, entry.deadline.newest_ns(), entry.deadline.period.count(), now_ns, &missed);
        if (missed) entry.deadline.missed();
      }
      next_ns = std::min(next_ns, entry.due_ns);
    }
    // steady_clock is CLOCK_MONOTONIC on Linux.
    changed_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next_ns)));
  }
}

}  // namespace baton::rmw
