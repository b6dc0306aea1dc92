// SPDX-License-Identifier: Apache-2.0
// The acceptance criteria of the foundation, each a command: `baton_accept <criterion>`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace baton::perf {

struct AcceptOptions {
  std::string directory;    ///< runtime directory, fresh for this run
  unsigned rounds = 15;     ///< number of ratios for the interval
  unsigned exchanges = 60;  ///< messages per kind and round
  bool together = false;    ///< the scheduler places publisher and subscribers, also on one CPU
  unsigned processes = 200, topics_per_process = 5, idle_seconds = 30;  ///< criterion "scale"
};

/// The options of a child process.
struct ChildOptions {
  std::string role, directory;
  std::string schedule;   ///< role latency: one digit per exchange
  std::vector<int> cpus;  ///< empty: anywhere
  std::int32_t parent = 0;
  int bare_fd = -1;
  unsigned index = 0, count = 0, messages = 0;
  bool spin = false;
};

bool accept_size(const AcceptOptions& options);    ///< latency does not depend on size, asleep and spinning
bool accept_wake(const AcceptOptions& options);    ///< latency beside a bare futex wake and a bare cache line
bool accept_fanout(const AcceptOptions& options);  ///< publish to 8, awake and asleep
bool accept_scale(const AcceptOptions& options);   ///< 200 processes, 1000 topics

int latency_child(const ChildOptions& options);
int fanout_child(const ChildOptions& options);
int scale_child(const ChildOptions& options);

}  // namespace baton::perf
