// SPDX-License-Identifier: Apache-2.0
// State that a Node shares with the Executor that runs it.
// Thread rules: `executables` and `executor` are guarded by `mutex`; the lock order is Executor's mutex before
// NodeCore's.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "baton/node/node.hpp"
#include "logging.hpp"
#include "names.hpp"
#include "parameter_store.hpp"

namespace baton::detail {

struct NodeCore : std::enable_shared_from_this<NodeCore> {
  std::shared_ptr<transport::Participant> participant;
  NodeNames names;
  std::shared_ptr<const void> diagnostic_owner;  // on_diagnostic is not called after the node's end
  std::shared_ptr<CallbackGroup> default_group = os::make_hot_shared<CallbackGroup>();
  std::shared_ptr<ParameterStore> parameters;
  std::shared_ptr<void> parameter_services;  // null before the first declaration
  std::shared_ptr<LogSink> rosout;           // null if it is switched off
  std::optional<Logger> logger;              // not empty after the node's construction

  std::mutex mutex;
  std::vector<std::shared_ptr<Executable>> executables;
  std::function<void()> on_change;  // the executor's refresh, empty without one

  ~NodeCore();
  /// Registers. Destroying the last copy of the returned handle removes the executable. The executable itself lives on
  /// while it runs.
  std::shared_ptr<Executable> add(const std::shared_ptr<Executable>& executable);
  void remove(const Executable* executable);
  void changed();
};

/// Ends a wait when the process is asked to end meanwhile. A wait that begins later lasts a second at most: a program
/// may still call a service while it ends, and a request that came just before the wait began does not let it hang. A
/// signal handler cannot wake a wait set or the graph, so the wait looks every 100 ms.
class EndOfWait {
 public:
  using Clock = std::chrono::steady_clock;
  explicit EndOfWait(Clock::time_point deadline)
      : deadline_(was_ok_ ? deadline : std::min(deadline, Clock::now() + std::chrono::seconds(1))) {}
  /// The time until the next look. None: the wait is over.
  std::optional<std::chrono::nanoseconds> next() const {
    const std::chrono::nanoseconds left = deadline_ - Clock::now();
    if (left <= std::chrono::nanoseconds::zero() || (was_ok_ && !ok())) return std::nullopt;
    return std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(100));
  }

 private:
  const bool was_ok_ = ok();
  const Clock::time_point deadline_;
};

/// What the transport knows of a message type.
transport::TypeInfo type_info(const message::Type& type);

/// One line of the logger "baton" on stderr.
void print_diagnostic(const transport::Diagnostic& diagnostic);
/// Owned by all nodes that print, so that each diagnostic is printed once.
std::shared_ptr<const void> printer();

}  // namespace baton::detail
