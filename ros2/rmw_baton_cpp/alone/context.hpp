// SPDX-License-Identifier: Apache-2.0
// A ROS context: this process's participant in Baton, and what the context's nodes share.
//
// Thread rules: all functions from any thread.
// Invariants: (1) the gids of a context's endpoints begin with the same kPrefixBytes bytes, and no other context's do: so "local" means of the
// same context, although contexts of a process share one participant.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "array_memory.hpp"
#include "baton/transport/transport.hpp"
#include "callback_thread.hpp"
#include "peer_faults.hpp"
#include "rmw/init.h"

namespace baton::rmw {

class Context {
 public:
  /// Errors: unsupported, in words for people, for options that Baton does not honour; those of Participant::join().
  static Result<std::unique_ptr<Context>> join(const rmw_init_options_t& options);

  transport::Participant& participant() const noexcept { return *participant_; }
  const std::shared_ptr<transport::Participant>& shared_participant() const noexcept { return participant_; }
  const std::shared_ptr<CallbackThread>& callback_thread() const noexcept { return callback_thread_; }

  /// For the next endpoint.
  transport::Gid next_gid() noexcept;
  static bool same_context(const transport::Gid& one, const transport::Gid& other) noexcept {
    return std::memcmp(one.data(), other.data(), kPrefixBytes) == 0;
  }

 private:
  static constexpr std::size_t kPrefixBytes = 12;
  Context() = default;

  std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<CallbackThread> callback_thread_ = std::make_shared<CallbackThread>();
  transport::Gid prefix_{};
  std::atomic<std::uint32_t> last_{0};  // only uniqueness matters: relaxed
};

}  // namespace baton::rmw
