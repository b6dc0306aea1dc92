// SPDX-License-Identifier: Apache-2.0
// State that a Node shares with the Executor that runs it.
// Thread rules: `executables` and `executor` are guarded by `mutex`; the lock order is Executor's mutex before
// NodeCore's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "baton/node/node.hpp"

namespace baton::detail {

struct NodeCore : std::enable_shared_from_this<NodeCore> {
  std::shared_ptr<transport::Participant> participant;
  std::string name;
  std::shared_ptr<const void> diagnostic_owner;  // on_diagnostic is not called after the node's end
  std::shared_ptr<CallbackGroup> default_group = std::make_shared<CallbackGroup>();

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

/// One line on stderr for warnings and errors, unless BATON_LOG=off.
void print_diagnostic(const transport::Diagnostic& diagnostic);
/// Owned by all nodes that print, so that each diagnostic is printed once.
std::shared_ptr<const void> printer();

}  // namespace baton::detail
