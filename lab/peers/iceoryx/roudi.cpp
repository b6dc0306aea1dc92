// SPDX-License-Identifier: Apache-2.0
#include "roudi.hpp"

#include <grp.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "keeper.hpp"

namespace baton::perf {

void join_roudi(const RunPlan& plan) {
  // A pool that is never empty: all queues full of different messages, one message held by each end, and some being
  // written.
  const std::size_t ends = std::size_t{plan.publishers} + plan.subscribers;
  const std::size_t count =
      plan.publishers * (std::size_t{plan.depth} + 8) + 2 * ends + (plan.round_trip ? plan.depth + 16 : 0);
  const std::size_t chunk = (plan.bytes + 1024 + 63) / 64 * 64;  // with room for the header that Cyclone DDS adds
  const std::string path = plan.directory + "/roudi.toml", mine = path + "." + std::to_string(::getpid());
  std::ofstream(mine) << "[general]\nversion = 1\n[[segment]]\n[[segment.mempool]]\nsize = " << chunk
                      << "\ncount = " << count << "\n";
  std::rename(mine.c_str(), path.c_str());

  KeeperTask task;
  // Without monitoring: on a loaded machine it declares slow processes dead.
  task.daemon = {BATON_IOX_ROUDI, "--config-file", path, "--monitoring-mode", "off", "--kill-delay", "1"};
  task.ready = "RouDi is ready for clients";
  task.only_one = "roudi";
  task.own = {"/tmp/" + run_id(plan) + "_*"};
  // Files that a killed RouDi leaves. Its segment is named after the user's group, those of Cyclone's processes after
  // the processes.
  task.leftovers = {"/dev/shm/iceoryx_mgmt", "/tmp/roudi*", "/tmp/iox-unique-roudi.lock", "/tmp/iceoryx_rt_*"};
  if (const group* own = ::getgrgid(::getegid()); own != nullptr)
    task.leftovers.push_back(std::string("/dev/shm/") + own->gr_name);
  join_keeper(plan, task);
}

}  // namespace baton::perf
