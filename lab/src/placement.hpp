// SPDX-License-Identifier: Apache-2.0
// Publisher on the first CPU, subscribers on the others. Otherwise the scheduler often puts a woken subscriber on its
// publisher's CPU. The time until the subscriber runs then shows when the publisher goes to sleep, not how long the
// hand-over takes.
#pragma once

#include <string>
#include <vector>

#include "baton/os/process.hpp"

namespace baton::perf {

/// Puts the calling thread on the first of its CPUs for as long as this lives.
class Placement {
 public:
  /// Without `apart`, or on a machine with one CPU, the scheduler places everything.
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

  /// The CPUs for subscriber processes: comma-separated, empty if any.
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
