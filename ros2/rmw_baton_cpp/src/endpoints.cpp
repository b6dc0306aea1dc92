// SPDX-License-Identifier: Apache-2.0
#include "endpoints.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "rmw/error_handling.h"
#include "rmw/topic_endpoint_info_array.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kMostDepth = 65536;      // docs/format/qos.md
constexpr std::uint32_t kKeepAllDepth = 1000;  // a greater depth takes the underlying RMW
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

/// Calls act(info) for each endpoint of the topic. False after an error, whose text is dropped.
template <class Ask, class Act>
bool each_endpoint(Ask ask, const rmw_node_t* inner_node, const char* topic, Act&& act) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  if (ask(inner_node, &allocator, topic, false, &infos) != RMW_RET_OK) {
    rcutils_reset_error();
    return false;
  }
  for (std::size_t i = 0; i < infos.size; ++i) act(infos.info_array[i]);
  if (rmw_topic_endpoint_info_array_fini(&infos, &allocator) != RMW_RET_OK) rcutils_reset_error();
  return true;
}

std::string full_name(const std::string& space, const char* name) { return (space == "/" ? "" : space) + "/" + name; }

}  // namespace

[[gnu::hot]] std::chrono::nanoseconds duration_of(const rmw_time_t& time) noexcept {
  if (time.sec >= 9'000'000'000) return kInfinite;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time.sec) * kSecond + static_cast<std::int64_t>(time.nsec));
}

std::string full_name(const rmw_node_t& node) { return full_name(node.namespace_, node.name); }

bool may_be_served(const rmw_qos_profile_t& qos) noexcept { return !qos.avoid_ros_namespace_conventions; }

bool may_publish(const char* topic, const rmw_qos_profile_t& qos) noexcept {
  return may_be_served(qos) && std::string_view(topic) != "/parameter_events";
}

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

std::vector<KnownSubscription> known_subscriptions(const rmw_node_t* inner_node, const char* topic) {
  std::vector<KnownSubscription> known;
  each_endpoint(underlying()->rmw_get_subscriptions_info_by_topic, inner_node, topic,
                [&](const rmw_topic_endpoint_info_t& info) {
                  KnownSubscription& added = known.emplace_back();
                  std::memcpy(added.gid.data(), info.endpoint_gid, added.gid.size());
                  added.qos = info.qos_profile;
                  added.node = full_name(info.node_namespace, info.node_name);
                });
  return known;
}

std::optional<std::vector<transport::Gid>> known_publishers(const rmw_node_t* inner_node, const char* topic) {
  std::vector<transport::Gid> known;
  const bool answered = each_endpoint(
      underlying()->rmw_get_publishers_info_by_topic, inner_node, topic, [&](const rmw_topic_endpoint_info_t& info) {
        std::memcpy(known.emplace_back().data(), info.endpoint_gid, sizeof(transport::Gid));
      });
  return answered ? std::optional(std::move(known)) : std::nullopt;
}

}  // namespace baton::rmw
