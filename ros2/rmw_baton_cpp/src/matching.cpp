// SPDX-License-Identifier: Apache-2.0
#include "matching.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"

namespace baton::rmw {

bool Matching::is_expected() const {
  const std::vector<transport::EndpointInfo> endpoints = participant_->endpoints_of(topic_);
  return std::any_of(endpoints.begin(), endpoints.end(), [&](const transport::EndpointInfo& each) {
    return !each.is_writer && each.type_hash == type_hash_ && (readers_ == Readers::kAll || each.connection == 0) &&
           first_incompatible(qos_, each.qos) == Policy::kNone;
  });
}

void Matching::await(const std::function<bool()>& met, std::int64_t most_ns) {
  std::uint64_t version = participant_->graph_version();
  if (version == version_.load(std::memory_order_relaxed)) return;
  if (is_expected()) {
    const std::int64_t end_ns = os::monotonic_ns() + most_ns;
    for (std::int64_t now_ns = os::monotonic_ns(); now_ns < end_ns && !met(); now_ns = os::monotonic_ns()) {
      const Result<std::uint64_t> changed =
          participant_->wait_graph_change(version, std::chrono::nanoseconds(end_ns - now_ns));
      if (!changed) break;  // the time is over
      version = *changed;
    }
  }
  version_.store(version, std::memory_order_relaxed);
}

}  // namespace baton::rmw
