// SPDX-License-Identifier: Apache-2.0
// State that a Node shares with the Executor that runs it.
// Thread rules: `mutex` guards what changes after the node's construction; the lock order is Executor's mutex before NodeCore's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/node/executable.hpp"
#include "baton/node/logging.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
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

  os::Mutex mutex;
  std::vector<std::shared_ptr<Executable>> executables BATON_GUARDED_BY(mutex);
  std::function<void()> on_change BATON_GUARDED_BY(mutex);  // the executor's refresh, empty without one

  ~NodeCore();
  /// Registers. Destroying the last copy of the returned handle removes the executable. The executable itself lives on
  /// while it runs.
  std::shared_ptr<Executable> add(const std::shared_ptr<Executable>& executable);
  void remove(const Executable* executable);
  void changed();
};

/// What the transport knows of a message type.
transport::TypeInfo type_info(const message::Type& type);

/// One line of the logger "baton" on stderr.
void print_diagnostic(const transport::Diagnostic& diagnostic);
/// Owned by all nodes that print, so that each diagnostic is printed once.
std::shared_ptr<const void> printer();

}  // namespace baton::detail
