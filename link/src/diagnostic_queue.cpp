// SPDX-License-Identifier: Apache-2.0
#include "diagnostic_queue.hpp"

#include <string>
#include <utility>

namespace baton::link {
namespace {

constexpr std::size_t kStackBytes = std::size_t{512} << 10;  // programs' code runs here

}  // namespace

Result<void> DiagnosticQueue::start() {
  Result<pthread_t> thread = os::start_thread("baton-link-say", kStackBytes, [this] { run(); });
  if (!thread) return thread.error();
  thread_ = *thread;
  return {};
}

void DiagnosticQueue::push(transport::Diagnostic diagnostic) {
  {
    const os::Lock lock(mutex_);
    if (ended_) return;
    if (waiting_.size() >= kMost) {
      ++left_out_;
      return;
    }
    waiting_.push_back(std::move(diagnostic));
  }
  changed_.notify_one();
}

void DiagnosticQueue::end() {
  {
    const os::Lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  if (thread_) pthread_join(*thread_, nullptr);
  thread_.reset();
}

void DiagnosticQueue::run() {
  os::UniqueLock lock(mutex_);
  for (;;) {
    changed_.wait(lock.standard(), [this]() BATON_REQUIRES(mutex_) { return ended_ || !waiting_.empty(); });
    std::deque<transport::Diagnostic> now = std::exchange(waiting_, {});
    if (const std::size_t left_out = std::exchange(left_out_, 0); left_out != 0) {
      now.push_back({transport::Diagnostic::Level::kWarning, Errc::limit_reached,
                     std::to_string(left_out) + " diagnostics were left out, because on_diagnostic takes too long"});
    }
    if (now.empty()) return;
    lock.unlock();
    for (const transport::Diagnostic& each : now) call_(each);
    now.clear();
    lock.lock();
  }
}

}  // namespace baton::link
