// SPDX-License-Identifier: Apache-2.0
// A rosmaster for one run. The first process of the run starts it, on a free port, and ends it when the other processes
// have ended; the others find its address in the run's directory. If the starting process is killed, the master is
// killed, too (PR_SET_PDEATHSIG).
// Thread rules: one object per process, used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

#include "baton/os/unique_fd.hpp"
#include "peer.hpp"

namespace baton::perf {

class RosMaster {
 public:
  /// Returns when the master answers. Throws std::runtime_error if it does not come up.
  explicit RosMaster(const RunPlan& plan);
  ~RosMaster();
  RosMaster(const RosMaster&) = delete;
  RosMaster& operator=(const RosMaster&) = delete;

  const std::string& uri() const noexcept { return uri_; }

 private:
  void start(const RunPlan& plan);
  void stop();

  std::string uri_;
  os::UniqueFd users_;  ///< locked, shared, by every process of the run that still needs the master
  pid_t child_ = -1;
  std::thread keeper_;  ///< the thread that starts and waits for the child; its death would end the child
};

}  // namespace baton::perf
