// SPDX-License-Identifier: Apache-2.0
// The process that looks after what a run needs beside its ends and what it leaves behind: starts a peer's daemon, ends it when the
// last process of the run is gone, however it went, and removes files of shared memory that nobody uses any more.
#pragma once

#include <string>
#include <vector>

#include "peer.hpp"

namespace baton::perf {

struct KeeperTask {
  std::vector<std::string> daemon;  ///< command that serves the whole run; empty: none
  std::string ready;                ///< the daemon prints this when it serves
  std::string only_one;             ///< of runs that name the same, one at a time has its keeper; empty: no matter
  std::vector<std::string> own;     ///< patterns of paths that contain what is unique to the run: removed at the end
  std::vector<std::string>
      leftovers;  ///< patterns of other paths: removed at the end when no process maps or opens them
};

/// The first process of the run to call this starts the keeper; all others join it. Returns when the daemon serves; throws
/// std::runtime_error if it does not. Any thread; what counts is the first call of a process.
void join_keeper(const Plan& plan, const KeeperTask& task);

/// A word that is unique to the run, of letters, digits and '_', for names that are machine-wide: the end of its directory's name.
std::string run_id(const Plan& plan);

/// A number below `limit` that is unique to the run as far as a hash can be; for ports and domains.
unsigned run_number(const Plan& plan, unsigned limit);

}  // namespace baton::perf
