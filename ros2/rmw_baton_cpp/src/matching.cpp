// SPDX-License-Identifier: Apache-2.0
#include "matching.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"

namespace baton::rmw {

std::size_t Matching::expected() const {
  const std::vector<transport::EndpointInfo> endpoints = participant_->endpoints_of(topic_);
  const auto matches = [&](const transport::EndpointInfo& each) {
    return each.is_writer != writes_ && each.type_hash == type_hash_ &&
           (partners_ == Partners::kAll || each.connection == 0) &&
           (writes_ ? first_incompatible(qos_, each.qos) : first_incompatible(each.qos, qos_)) == Policy::kNone;
  };
  return static_cast<std::size_t>(std::count_if(endpoints.begin(), endpoints.end(), matches));
}

void Matching::await(const std::function<bool(std::size_t)>& met, std::int64_t most_ns) {
  std::uint64_t version = participant_->graph_version();
  if (version == version_.load(std::memory_order_relaxed)) return;
  if (const std::size_t known = expected(); known != 0) {
    const std::int64_t end_ns = os::monotonic_ns() + most_ns;
    for (std::int64_t now_ns = os::monotonic_ns(); now_ns < end_ns && !met(known); now_ns = os::monotonic_ns()) {
      const Result<std::uint64_t> changed =
          participant_->wait_graph_change(version, std::chrono::nanoseconds(end_ns - now_ns));
      if (!changed) break;  // the time is over
      version = *changed;
    }
  }
  version_.store(version, std::memory_order_relaxed);
}

}  // namespace baton::rmw
