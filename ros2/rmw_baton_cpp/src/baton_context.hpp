// SPDX-License-Identifier: Apache-2.0
// Baton's part of a ROS context: whether messages take Baton's memory, and in which domain. One log line reports both.
//
// Thread rules: all functions from any thread.
// Invariants: (1) A context has one BatonContext for its whole life, or none. Without one, every message takes the
// underlying RMW.
#pragma once

#include <cstdint>
#include <memory>

#include "array_memory.hpp"
#include "baton/transport/transport.hpp"
#include "callback_thread.hpp"
#include "context_announcement.hpp"
#include "deadlines.hpp"
#include "link_writers.hpp"
#include "peer_faults.hpp"
#include "rmw/init.h"

namespace baton::rmw {

class BatonContext {
 public:
  /// Null, with the reason in the log: Baton is switched off (BATON_RMW_PATHS=underlying), security is enforced,
  /// discovery is off, the underlying RMW does not number its messages, or the domain's directory cannot be used.
  static std::shared_ptr<BatonContext> join(const rmw_context_t& context);

  transport::Participant& participant() noexcept { return *participant_; }
  /// BATON_RMW_PATHS=both: every message takes the underlying RMW, too.
  bool both() const noexcept { return both_; }

  CallbackThread& callback_thread() noexcept { return callback_thread_; }
  ContextAnnouncement& announcement() noexcept { return *announcement_; }
  Deadlines& deadlines() noexcept { return deadlines_; }
  LinkWriters& link_writers() noexcept { return link_writers_; }

 private:
  std::shared_ptr<transport::Participant> participant_;
  std::unique_ptr<ContextAnnouncement> announcement_;
  bool both_ = false;
  CallbackThread callback_thread_;
  Deadlines deadlines_;
  LinkWriters link_writers_;
};

/// The thread lives as long as the context.
inline std::shared_ptr<CallbackThread> callback_thread_of(const std::shared_ptr<BatonContext>& baton_context) {
  return {baton_context, &baton_context->callback_thread()};
}

}  // namespace baton::rmw
