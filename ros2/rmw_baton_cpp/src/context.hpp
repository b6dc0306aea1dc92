// SPDX-License-Identifier: Apache-2.0
// A ROS context: this process's participant in Baton, and what the context's nodes share.
//
// Thread rules: all functions from any thread.
// Invariants: (1) "local" means of the same context, although contexts of a process share one participant: the gids of a context's endpoints
// end with its part(), and no other context of the process that lives has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

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

  /// One line of the log, at the first call. A line of INFO only if libbaton_heap.so is loaded: tools print what a person reads, on a terminal
  /// that has the log, too. REQUIRES: the program has set its log levels, which rcl does behind rmw_init().
  void say_how_messages_go();

  /// From rmw_shutdown() on: no node is made any more, and the context may end.
  bool is_shut_down() const noexcept { return shut_down_.load(std::memory_order_relaxed); }
  void shut_down() noexcept { shut_down_.store(true, std::memory_order_relaxed); }

  /// Of its endpoints' ids (WriterOptions::part).
  std::uint8_t part() const noexcept { return part_.number; }
  static bool same_context(const transport::Gid& one, const transport::Gid& other) noexcept {
    return one.back() == other.back() && transport::prefix_of(one) == transport::prefix_of(other);
  }

 private:
  /// The lowest number that no other context of this process has; 0, which is for what is no context's, if all are used.
  struct Part {
    Part();
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    std::uint8_t number = 0;
  };
  /// Of a context with a discovery range of OFF, and removed with it.
  struct OwnDirectory {
    ~OwnDirectory();
    std::string path;
  };
  Context() = default;

  OwnDirectory own_directory_;  // ends behind the participant, which has its socket there
  std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<CallbackThread> callback_thread_ = std::make_shared<CallbackThread>();
  const Part part_;
  std::once_flag said_;
  std::atomic<bool> shut_down_{false};  // relaxed: nothing else is read by it
};

}  // namespace baton::rmw
