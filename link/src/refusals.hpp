// SPDX-License-Identifier: Apache-2.0
// The hosts that are refused or refuse this host: the newest ones, at most kMost. Each address has one entry, since a stranger that connects
// again and again may send another name each time.
// Thread rules: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/os/lock.hpp"

namespace baton::link {

class Refusals {
 public:
  static constexpr std::size_t kMost = 32;
  /// An entry older than this is left out.
  static constexpr std::int64_t kKept_ns = std::int64_t{3600} * 1'000'000'000;

  /// `refused` without `times`. Of too many the one that was refused longest ago goes.
  void add(RefusedState refused) {
    const os::Lock lock(mutex_);
    const auto known = find(refused.address);
    refused.times = 1;
    if (known != all_.end()) {
      refused.times += known->times;
      all_.erase(known);
    } else if (all_.size() >= kMost) {
      all_.erase(all_.begin());
    }
    all_.push_back(std::move(refused));
  }
  /// A host of this address is connected.
  void remove(const std::string& address) {
    const os::Lock lock(mutex_);
    if (const auto known = find(address); known != all_.end()) all_.erase(known);
  }
  /// The newest first.
  std::vector<RefusedState> all(std::int64_t now_ns) const {
    std::vector<RefusedState> out;
    const os::Lock lock(mutex_);
    std::copy_if(all_.rbegin(), all_.rend(), std::back_inserter(out),
                 [&](const RefusedState& each) { return now_ns - each.last_ns <= kKept_ns; });
    return out;
  }

 private:
  std::vector<RefusedState>::iterator find(const std::string& address) BATON_REQUIRES(mutex_) {
    return std::find_if(all_.begin(), all_.end(), [&](const RefusedState& each) { return each.address == address; });
  }
  mutable os::Mutex mutex_;
  std::vector<RefusedState> all_ BATON_GUARDED_BY(mutex_);  // the newest last
};

}  // namespace baton::link
