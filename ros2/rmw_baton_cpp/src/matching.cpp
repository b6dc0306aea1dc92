// SPDX-License-Identifier: Apache-2.0
#include "matching.hpp"

#include <algorithm>

#include "baton/os/clock.hpp"

namespace baton::rmw {

std::vector<transport::Gid> Matching::partners() const {
  std::vector<transport::Gid> gids;
  for (const transport::EndpointInfo& each : participant_->endpoints_of(topic_))
    if (each.is_writer != writes_ && each.type_hash == type_hash_ &&
        (partners_ == Partners::kAll || each.connection == 0) &&
        (writes_ ? first_incompatible(qos_, each.qos) : first_incompatible(each.qos, qos_)) == Policy::kNone)
      gids.push_back(each.gid);
  std::sort(gids.begin(), gids.end());
  return gids;
}

bool Matching::had_their_time(const std::vector<transport::Gid>& gids) const {
  const os::Lock lock(mutex_);
  return std::includes(had_their_time_.begin(), had_their_time_.end(), gids.begin(), gids.end());
}

void Matching::await(const std::function<bool(std::size_t)>& met, std::int64_t most_ns) {
  std::uint64_t version = participant_->graph_version();
  if (version == version_.load(std::memory_order_relaxed)) return;
  const std::int64_t end_ns = os::monotonic_ns() + most_ns;
  std::vector<transport::Gid> first = partners(), known = first;
  while (!had_their_time(known) && !met(known.size())) {
    const std::int64_t left_ns = end_ns - os::monotonic_ns();
    const Result<std::uint64_t> changed = participant_->wait_graph_change(version, std::chrono::nanoseconds(left_ns));
    if (!changed || left_ns <= 0) {  // those that have come meanwhile have a time of their own
      const os::Lock lock(mutex_);
      had_their_time_ = std::move(first);
      return;
    }
    version = *changed;
    known = partners();
  }
  version_.store(version, std::memory_order_relaxed);
}

}  // namespace baton::rmw
