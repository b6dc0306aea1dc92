// SPDX-License-Identifier: Apache-2.0
// Calls Options::on_diagnostic on a thread of its own. Diagnostics come up in the middle of work, under locks of the link and of the
// participant; a callback that reads the link's state needs the same locks.
// Thread rules: push() from any thread, with any lock; the rest by one thread.
// Invariants: (1) the callback is called by one thread, with no lock; (2) in the order of push(); (3) not after end().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"

namespace baton::link {

class DiagnosticQueue {
 public:
  using Call = std::function<void(const transport::Diagnostic&)>;
  /// Diagnostics that wait while a call takes long. Further ones are left out, and their number is reported later.
  static constexpr std::size_t kMost = 1000;

  explicit DiagnosticQueue(Call call) : call_(std::move(call)) {}
  ~DiagnosticQueue() { end(); }
  DiagnosticQueue(const DiagnosticQueue&) = delete;
  DiagnosticQueue& operator=(const DiagnosticQueue&) = delete;
  Result<void> start();
  /// Never blocks and calls nothing.
  void push(transport::Diagnostic diagnostic);
  /// Returns when all waiting diagnostics have been reported. Not from the callback.
  void end();

 private:
  void run();
  const Call call_;
  os::Mutex mutex_;
  std::condition_variable changed_;
  std::deque<transport::Diagnostic> waiting_ BATON_GUARDED_BY(mutex_);
  std::size_t left_out_ BATON_GUARDED_BY(mutex_) = 0;
  bool ended_ BATON_GUARDED_BY(mutex_) = false;
  std::optional<pthread_t> thread_;
};

}  // namespace baton::link
