// SPDX-License-Identifier: Apache-2.0
// The process that manages everything a run needs or leaves behind besides its ends. It starts a peer's daemon, ends it
// when the last process of the run is gone, even after a kill, and removes unused files of shared memory.
#pragma once

#include <string>
#include <vector>

#include "peer.hpp"

namespace baton::perf {

struct KeeperTask {
  std::vector<std::string> daemon;  ///< command that serves the whole run; empty: none
  std::string ready;                ///< the daemon prints this when it serves
  std::string only_one;             ///< of runs with the same name, one at a time has its keeper; empty: no limit
  std::vector<std::string> own;     ///< patterns of paths that contain the run's unique word: removed at the end
  std::vector<std::string>
      leftovers;  ///< patterns of other paths: removed at the end when no process maps or opens them
};

/// The first process of the run to call this starts the keeper; all others join it. Returns when the daemon serves;
/// throws std::runtime_error if it does not. Any thread; only the first call of a process counts.
void join_keeper(const RunPlan& plan, const KeeperTask& task);

/// A word that is unique to the run, of letters, digits and '_', for names that are machine-wide: the end of its
/// directory's name.
std::string run_id(const RunPlan& plan);

/// A number below `limit` that is unique to the run as far as a hash can be; for ports and domains.
unsigned run_number(const RunPlan& plan, unsigned limit);

}  // namespace baton::perf
