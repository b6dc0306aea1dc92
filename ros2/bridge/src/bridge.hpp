// SPDX-License-Identifier: Apache-2.0
// The bridge: Baton on one side, another RMW on the other, both directions. run() looks at both graphs after each change.
// Thread rules: run() once; stop() from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "direction.hpp"

namespace baton::bridge {

class Bridge final : private Updater {
 public:
  /// Throws BridgeError.
  Bridge(RmwLibrary baton, const SideOptions& baton_options, RmwLibrary other, const SideOptions& other_options);
  /// Returns after stop(). Throws BridgeError if a side fails.
  void run();
  void stop();

 private:
  void ask() override;
  bool settled() override;
  /// False: run() is to end.
  bool wait_for_change(bool something_waits);
  /// Whether something waits that changes no graph.
  bool update();
  /// On standby a bridge crosses nothing: it would close a loop, since others join the two sides already.
  bool stands_by(bool joined);
  void run_side(RmwSide& side);

  RmwSide baton_, other_;
  Direction to_baton_, to_other_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool look_ = true, settled_ = false, stopping_ = false;
  std::exception_ptr failure_;
  bool standby_ = false;                                 ///< run() alone, as the next two
  std::chrono::steady_clock::time_point works_again_{};  ///< before that a standby does not end
  std::chrono::milliseconds pause_{0};                   ///< until the next look for what changes no graph
};

}  // namespace baton::bridge
