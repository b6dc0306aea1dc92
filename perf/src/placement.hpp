// SPDX-License-Identifier: Apache-2.0
// Publisher on the first CPU, subscribers on the others. Left to itself the scheduler likes to put a woken subscriber on its
// publisher's CPU, where the time until it runs says when the publisher goes to sleep, not how long the hand-over takes.
#pragma once

#include <string>
#include <vector>

#include "baton/os/process.hpp"

namespace baton::perf {

/// Puts the calling thread on the first of its CPUs for as long as this lives.
class Placement {
 public:
  /// Without `apart`, or on a machine with one CPU, everything stays where the scheduler wants it.
  explicit Placement(bool apart) : before_(os::allowed_cpus()) {
    if (!apart || before_.size() < 2) return;
    os::stay_on_cpus({before_.front()}).or_throw();
    others_.assign(before_.begin() + 1, before_.end());
  }
  ~Placement() {
    if (!others_.empty()) (void)os::stay_on_cpus(before_);
  }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// What subscriber processes are told: comma-separated, empty if anywhere.
  std::string others() const {
    std::string text;
    for (const int cpu : others_) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    return text;
  }
  const char* description() const {
    return others_.empty() ? "CPUs as the scheduler chose" : "publisher on its own CPU";
  }

 private:
  std::vector<int> before_, others_;
};

}  // namespace baton::perf
