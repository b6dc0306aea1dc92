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
constexpr std::uint32_t kKeepAllDepth = 1000;  // what does not fit goes below
constexpr std::int64_t kSecond = 1'000'000'000;

std::chrono::nanoseconds duration(const rmw_time_t& policy) noexcept {
  return policy.sec == 0 && policy.nsec == 0 ? kInfinite : duration_of(policy);
}

std::string full_name(const std::string& space, const char* name) { return (space == "/" ? "" : space) + "/" + name; }

}  // namespace

[[gnu::hot]] std::chrono::nanoseconds duration_of(const rmw_time_t& time) noexcept {
  if (time.sec >= 9'000'000'000) return kInfinite;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time.sec) * kSecond + static_cast<std::int64_t>(time.nsec));
}

std::string full_name(const rmw_node_t& node) { return full_name(node.namespace_, node.name); }

bool may_be_served(const char* topic, const rmw_qos_profile_t& qos) noexcept {
  const std::string_view name = topic;
  return name != "/rosout" && name != "/parameter_events" && !qos.avoid_ros_namespace_conventions;
}

std::optional<QoS> qos_of(const rmw_qos_profile_t& profile) noexcept {
  QoS qos;
  switch (profile.reliability) {
    case RMW_QOS_POLICY_RELIABILITY_RELIABLE:
      qos.reliability = Reliability::kReliable;
      break;
    case RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT:
      qos.reliability = Reliability::kBestEffort;
      break;
    default:
      return std::nullopt;
  }
  switch (profile.history) {
    case RMW_QOS_POLICY_HISTORY_KEEP_LAST:
      qos.keep_last(static_cast<std::uint32_t>(std::clamp<std::size_t>(profile.depth, 1, kMostDepth)));
      break;
    case RMW_QOS_POLICY_HISTORY_KEEP_ALL:
      qos.keep_all(kKeepAllDepth);
      break;
    default:
      return std::nullopt;
  }
  switch (profile.durability) {
    case RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL:
      qos.durability = Durability::kTransientLocal;
      break;
    case RMW_QOS_POLICY_DURABILITY_VOLATILE:
      qos.durability = Durability::kVolatile;
      break;
    default:
      return std::nullopt;
  }
  switch (profile.liveliness) {
    case RMW_QOS_POLICY_LIVELINESS_AUTOMATIC:
      qos.liveliness = Liveliness::kAutomatic;
      break;
    case RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC:
      qos.liveliness = Liveliness::kManualByTopic;
      break;
    default:
      return std::nullopt;
  }
  qos.deadline = duration(profile.deadline);
  qos.lifespan = duration(profile.lifespan);
  qos.lease = duration(profile.liveliness_lease_duration);
  return qos;
}

std::vector<KnownSubscription> known_subscriptions(const rmw_node_t* inner_node, const char* topic) {
  std::vector<KnownSubscription> known;
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  if (underlying()->rmw_get_subscriptions_info_by_topic(inner_node, &allocator, topic, false, &infos) != RMW_RET_OK) {
    rcutils_reset_error();
    return known;
  }
  for (std::size_t i = 0; i < infos.size; ++i) {
    const rmw_topic_endpoint_info_t& info = infos.info_array[i];
    KnownSubscription& added = known.emplace_back();
    std::memcpy(added.gid.data(), info.endpoint_gid, added.gid.size());
    added.qos = info.qos_profile;
    added.node = full_name(info.node_namespace, info.node_name);
  }
  if (rmw_topic_endpoint_info_array_fini(&infos, &allocator) != RMW_RET_OK) rcutils_reset_error();
  return known;
}

std::optional<std::vector<transport::Gid>> known_publishers(const rmw_node_t* inner_node, const char* topic) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  if (underlying()->rmw_get_publishers_info_by_topic(inner_node, &allocator, topic, false, &infos) != RMW_RET_OK) {
    rcutils_reset_error();
    return std::nullopt;
  }
  std::vector<transport::Gid> known(infos.size);
  for (std::size_t i = 0; i < infos.size; ++i) {
    std::memcpy(known[i].data(), infos.info_array[i].endpoint_gid, known[i].size());
  }
  if (rmw_topic_endpoint_info_array_fini(&infos, &allocator) != RMW_RET_OK) rcutils_reset_error();
  return known;
}

}  // namespace baton::rmw
