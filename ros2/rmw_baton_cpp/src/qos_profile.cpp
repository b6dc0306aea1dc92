// SPDX-License-Identifier: Apache-2.0
#include "qos_profile.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>

namespace baton::rmw {
namespace {

constexpr std::size_t kMostDepth = 65536;      // docs/format/qos.md
constexpr std::uint32_t kKeepAllDepth = 1000;  // of a queue without a depth of its own
constexpr std::int64_t kSecond = 1'000'000'000;

std::chrono::nanoseconds duration(const rmw_time_t& policy) noexcept {
  return policy.sec == 0 && policy.nsec == 0 ? kInfinite : duration_of(policy);
}

/// Translates a policy of two values. False for any other value.
template <class Policy, class Ours>
bool either(Policy policy, Policy first, Ours if_first, Policy second, Ours if_second, Ours* ours) noexcept {
  *ours = policy == first ? if_first : if_second;
  return policy == first || policy == second;
}

rmw_time_t time_of(std::chrono::nanoseconds duration) noexcept {
  if (duration == kInfinite) return RMW_DURATION_INFINITE;
  return {static_cast<std::uint64_t>(duration.count() / kSecond),
          static_cast<std::uint64_t>(duration.count() % kSecond)};
}

}  // namespace

BATON_HOT std::chrono::nanoseconds duration_of(const rmw_time_t& time) noexcept {
  if (time.sec >= 9'000'000'000) return kInfinite;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time.sec) * kSecond + static_cast<std::int64_t>(time.nsec));
}

std::string full_name(const std::string& space, const char* name) { return (space == "/" ? "" : space) + "/" + name; }
std::string full_name(const rmw_node_t& node) { return full_name(node.namespace_, node.name); }

std::optional<QoS> qos_of(const rmw_qos_profile_t& profile) noexcept {
  QoS qos;
  const bool known = either(profile.reliability, RMW_QOS_POLICY_RELIABILITY_RELIABLE, Reliability::kReliable,
                            RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT, Reliability::kBestEffort, &qos.reliability) &&
                     either(profile.durability, RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL, Durability::kTransientLocal,
                            RMW_QOS_POLICY_DURABILITY_VOLATILE, Durability::kVolatile, &qos.durability) &&
                     either(profile.liveliness, RMW_QOS_POLICY_LIVELINESS_AUTOMATIC, Liveliness::kAutomatic,
                            RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC, Liveliness::kManualByTopic, &qos.liveliness);
  if (!known) return std::nullopt;
  if (profile.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST)
    qos.keep_last(static_cast<std::uint32_t>(std::clamp<std::size_t>(profile.depth, 1, kMostDepth)));
  else if (profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL)
    qos.keep_all(kKeepAllDepth);
  else
    return std::nullopt;
  qos.deadline = duration(profile.deadline);
  qos.lifespan = duration(profile.lifespan);
  qos.lease = duration(profile.liveliness_lease_duration);
  return qos;
}

rmw_qos_profile_t profile_of(const QoS& qos) noexcept {
  rmw_qos_profile_t profile{};
  profile.history =
      qos.history == History::kKeepAll ? RMW_QOS_POLICY_HISTORY_KEEP_ALL : RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  profile.depth = qos.depth;
  profile.reliability = qos.reliability == Reliability::kReliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE
                                                                  : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  profile.durability = qos.durability == Durability::kTransientLocal ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL
                                                                     : RMW_QOS_POLICY_DURABILITY_VOLATILE;
  profile.liveliness = qos.liveliness == Liveliness::kManualByTopic ? RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC
                                                                    : RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  profile.deadline = time_of(qos.deadline);
  profile.lifespan = time_of(qos.lifespan);
  profile.liveliness_lease_duration = time_of(qos.lease);
  profile.avoid_ros_namespace_conventions = false;
  return profile;
}

}  // namespace baton::rmw
