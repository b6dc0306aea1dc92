// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: the comparison of two profiles. And what endpoints make of a profile.
#include "qos.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "handles.hpp"
#include "peer_faults.hpp"
#include "qos_profile.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/qos_profiles.h"

namespace baton::rmw {
namespace {

constexpr rmw_time_t kBestDeadline = RMW_QOS_DEADLINE_BEST_AVAILABLE;
constexpr rmw_time_t kBestLease = RMW_QOS_LIVELINESS_LEASE_DURATION_BEST_AVAILABLE;
constexpr std::size_t kDefaultDepth = 10;

bool equal(const rmw_time_t& one, const rmw_time_t& other) noexcept {
  return one.sec == other.sec && one.nsec == other.nsec;
}

bool asks_for_the_best(const rmw_qos_profile_t& asked) noexcept {
  return asked.reliability == RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE ||
         asked.durability == RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE ||
         asked.liveliness == RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE || equal(asked.deadline, kBestDeadline) ||
         equal(asked.liveliness_lease_duration, kBestLease);
}

/// The best that `others`, of the other kind on the topic, allow: for a subscription the strongest that each of them offers, for a publisher
/// the strongest of all, but for what costs its subscriptions something that none of them asks for.
void choose_the_best(rmw_qos_profile_t* asked, const std::vector<QoS>& others, bool publisher) {
  const auto all = [&](auto&& has) { return std::all_of(others.begin(), others.end(), has); };
  const bool reliable = publisher || all([](const QoS& qos) { return qos.reliability == Reliability::kReliable; });
  const bool durable = publisher || (!others.empty() &&
                                     all([](const QoS& qos) { return qos.durability == Durability::kTransientLocal; }));
  const bool automatic = all([](const QoS& qos) { return qos.liveliness == Liveliness::kAutomatic; });
  const bool manual =
      publisher ? !automatic
                : !others.empty() && all([](const QoS& qos) { return qos.liveliness == Liveliness::kManualByTopic; });
  QoS limit;  // of the durations
  if (!publisher && !others.empty()) limit.deadline = limit.lease = std::chrono::nanoseconds(0);
  for (const QoS& each : others) {
    limit.deadline = publisher ? std::min(limit.deadline, each.deadline) : std::max(limit.deadline, each.deadline);
    limit.lease = publisher ? std::min(limit.lease, each.lease) : std::max(limit.lease, each.lease);
  }
  const rmw_qos_profile_t limits = profile_of(limit);
  if (asked->reliability == RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE)
    asked->reliability = reliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  if (asked->durability == RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE)
    asked->durability = durable ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL : RMW_QOS_POLICY_DURABILITY_VOLATILE;
  if (asked->liveliness == RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE)
    asked->liveliness = manual ? RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC : RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  if (equal(asked->deadline, kBestDeadline)) asked->deadline = limits.deadline;
  if (equal(asked->liveliness_lease_duration, kBestLease))
    asked->liveliness_lease_duration = limits.liveliness_lease_duration;
}

Result<QoS> with_defaults(rmw_qos_profile_t asked) {
  if (asked.history == RMW_QOS_POLICY_HISTORY_SYSTEM_DEFAULT) asked.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  if (asked.depth == RMW_QOS_POLICY_DEPTH_SYSTEM_DEFAULT) asked.depth = kDefaultDepth;
  if (asked.reliability == RMW_QOS_POLICY_RELIABILITY_SYSTEM_DEFAULT)
    asked.reliability = RMW_QOS_POLICY_RELIABILITY_RELIABLE;
  if (asked.durability == RMW_QOS_POLICY_DURABILITY_SYSTEM_DEFAULT)
    asked.durability = RMW_QOS_POLICY_DURABILITY_VOLATILE;
  if (asked.liveliness == RMW_QOS_POLICY_LIVELINESS_SYSTEM_DEFAULT)
    asked.liveliness = RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  if (const std::optional<QoS> qos = qos_of(asked)) {
    if (qos->history == History::kKeepLast && qos->depth < asked.depth)
      RCUTILS_LOG_WARN_NAMED(kLogger, "a depth of %zu is taken as %u, the greatest", asked.depth, qos->depth);
    return *qos;
  }
  return Error{Errc::invalid_argument, "the profile has a policy that is not known"};
}

}  // namespace

Result<QoS> actual_qos(rmw_qos_profile_t asked, const transport::Participant& participant, const char* topic,
                       bool publisher) {
  if (asks_for_the_best(asked)) {
    std::vector<QoS> others;
    for (const transport::EndpointInfo& endpoint : participant.endpoints_of(topic))
      if (endpoint.is_writer != publisher) others.push_back(endpoint.qos);
    choose_the_best(&asked, others, publisher);
  }
  return with_defaults(asked);
}

Result<QoS> actual_service_qos(rmw_qos_profile_t asked) {
  choose_the_best(&asked, {}, true);
  if (asked.durability == RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL)
    asked.durability = RMW_QOS_POLICY_DURABILITY_VOLATILE;  // an old request, or a response to nobody, helps nobody
  return with_defaults(asked);
}

}  // namespace baton::rmw

// What follows is rmw.h's function, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" rmw_ret_t rmw_qos_profile_check_compatible(const rmw_qos_profile_t publisher_profile,
                                                      const rmw_qos_profile_t subscription_profile,
                                                      rmw_qos_compatibility_type_t* compatibility, char* reason,
                                                      size_t reason_size) try {
  if (const rmw_ret_t bad = checked(compatibility); bad != RMW_RET_OK) return bad;
  if (reason == nullptr && reason_size != 0) return invalid("reason is null, and reason_size is not 0");
  const auto undecided = [](const rmw_qos_profile_t& profile) {
    return profile.reliability == RMW_QOS_POLICY_RELIABILITY_SYSTEM_DEFAULT ||
           profile.reliability == RMW_QOS_POLICY_RELIABILITY_UNKNOWN ||
           profile.durability == RMW_QOS_POLICY_DURABILITY_SYSTEM_DEFAULT ||
           profile.durability == RMW_QOS_POLICY_DURABILITY_UNKNOWN ||
           profile.liveliness == RMW_QOS_POLICY_LIVELINESS_UNKNOWN;
  };
  // Of an undecided policy, a publisher may offer the strongest and a subscription may request the weakest.
  const auto decided = [](rmw_qos_profile_t profile, bool publisher) {
    if (profile.reliability != RMW_QOS_POLICY_RELIABILITY_RELIABLE &&
        profile.reliability != RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT)
      profile.reliability = publisher ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
    if (profile.durability != RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL &&
        profile.durability != RMW_QOS_POLICY_DURABILITY_VOLATILE)
      profile.durability = publisher ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL : RMW_QOS_POLICY_DURABILITY_VOLATILE;
    if (profile.liveliness == RMW_QOS_POLICY_LIVELINESS_SYSTEM_DEFAULT)
      profile.liveliness = RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
    if (profile.liveliness != RMW_QOS_POLICY_LIVELINESS_AUTOMATIC &&
        profile.liveliness != RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC)
      profile.liveliness = publisher ? RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC : RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
    profile.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
    return *qos_of(profile);
  };
  const std::string difference =
      baton::incompatibility(decided(publisher_profile, true), decided(subscription_profile, false));
  std::string text;
  if (!difference.empty()) {
    *compatibility = RMW_QOS_COMPATIBILITY_ERROR;
    text = "ERROR: " + difference;
  } else if (undecided(publisher_profile) || undecided(subscription_profile)) {
    *compatibility = RMW_QOS_COMPATIBILITY_WARNING;
    text = "WARNING: the profiles leave a policy to the system's default";
  } else {
    *compatibility = RMW_QOS_COMPATIBILITY_OK;
  }
  if (reason != nullptr && reason_size != 0) std::snprintf(reason, reason_size, "%s", text.c_str());
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}
