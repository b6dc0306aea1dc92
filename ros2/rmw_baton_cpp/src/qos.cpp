// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: the comparison of two profiles. And what endpoints make of a profile.
#include "qos.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "handles.hpp"
#include "interface.hpp"
#include "peer_faults.hpp"
#include "qos_profile.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/qos_profiles.h"
#include "rmw/qos_string_conversions.h"

namespace baton::rmw {
namespace {

constexpr std::size_t kDefaultDepth = 10;

bool asks_for_the_best(const rmw_qos_profile_t& asked) noexcept {
  return is_best_available(asked.reliability) || is_best_available(asked.durability) ||
         is_best_available(asked.liveliness) || is_best_available(asked.deadline) ||
         is_best_available(asked.liveliness_lease_duration);
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
  if (is_best_available(asked->reliability))
    asked->reliability = reliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  if (is_best_available(asked->durability))
    asked->durability = durable ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL : RMW_QOS_POLICY_DURABILITY_VOLATILE;
  if (is_best_available(asked->liveliness))
    asked->liveliness = manual ? RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC : RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  if (is_best_available(asked->deadline)) asked->deadline = limits.deadline;
  if (is_best_available(asked->liveliness_lease_duration))
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

namespace {

/// Of a policy with a weak and a strong kind, in the words of rmw_dds_common, which tools and their users know. An end that leaves the policy
/// to the system matters where the other one is undecided, too, a subscription requests the strong kind, or a publisher offers the weak one.
template <class Kind>
struct Words {
  Kind weak, strong, by_system, unknown;
  const char* (*name)(Kind);
  const char *both, *publisher, *subscription, *strong_request, *weak_offer;

  std::string error(Kind offered, Kind requested) const {
    return offered == weak && requested == strong ? std::string("ERROR: ") + both + ";" : "";
  }
  std::string warning(Kind offered, Kind requested) const {
    const bool open_offer = offered == by_system || offered == unknown;
    const bool open_request = requested == by_system || requested == unknown;
    const std::string begin = "WARNING: ";
    const auto text = [this](Kind kind) { return kind == unknown ? "unknown" : name(kind); };
    if (open_offer && open_request) return begin + publisher + text(offered) + subscription + text(requested) + ";";
    if (open_offer && requested == strong) return begin + strong_request + text(offered) + ";";
    if (open_request && offered == weak) return begin + weak_offer + text(requested) + ";";
    return "";
  }
};

constexpr Words<decltype(rmw_qos_profile_t::reliability)> kReliability{
    RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT,
    RMW_QOS_POLICY_RELIABILITY_RELIABLE,
    RMW_QOS_POLICY_RELIABILITY_SYSTEM_DEFAULT,
    RMW_QOS_POLICY_RELIABILITY_UNKNOWN,
    rmw_qos_reliability_policy_to_str,
    "Best effort publisher and reliable subscription",
    "Publisher reliability is ",
    " and subscription reliability is ",
    "Reliable subscription, but publisher is ",
    "Best effort publisher, but subscription is "};
constexpr Words<decltype(rmw_qos_profile_t::durability)> kDurability{
    RMW_QOS_POLICY_DURABILITY_VOLATILE,
    RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL,
    RMW_QOS_POLICY_DURABILITY_SYSTEM_DEFAULT,
    RMW_QOS_POLICY_DURABILITY_UNKNOWN,
    rmw_qos_durability_policy_to_str,
    "Volatile publisher and transient local subscription",
    "Publisher durability is ",
    " and subscription durability is ",
    "Transient local subscription, but publisher is ",
    "Volatile publisher, but subscription is "};
constexpr Words<decltype(rmw_qos_profile_t::liveliness)> kLiveliness{
    RMW_QOS_POLICY_LIVELINESS_AUTOMATIC,
    RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC,
    RMW_QOS_POLICY_LIVELINESS_SYSTEM_DEFAULT,
    RMW_QOS_POLICY_LIVELINESS_UNKNOWN,
    rmw_qos_liveliness_policy_to_str,
    "Publisher's liveliness is automatic and subscription's is manual by topic",
    "Publisher liveliness is ",
    " and subscription liveliness is ",
    "Subscription's liveliness is manual by topic, but publisher's is ",
    "Publisher's liveliness is automatic, but subscription's is "};

/// A subscription may not ask for a shorter time than the publisher offers. 0: for none.
std::string time_error(const rmw_time_t& offered, const rmw_time_t& requested, const char* has, const char* less) {
  const std::chrono::nanoseconds offer = duration_of(offered), request = duration_of(requested);
  if (request.count() == 0 || request == baton::kInfinite || (offer.count() != 0 && request >= offer)) return "";
  return offer.count() == 0 ? std::string("ERROR: Subscription has a ") + has + ", but publisher does not;"
                            : std::string("ERROR: Subscription ") + less + ";";
}

}  // namespace

extern "C" rmw_ret_t rmw_qos_profile_check_compatible(const rmw_qos_profile_t publisher_profile,
                                                      const rmw_qos_profile_t subscription_profile,
                                                      rmw_qos_compatibility_type_t* compatibility, char* reason,
                                                      size_t reason_size) try {
  if (const rmw_ret_t bad = checked(compatibility); bad != RMW_RET_OK) return bad;
  if (reason == nullptr && reason_size != 0) return invalid("reason is null, and reason_size is not 0");
  const rmw_qos_profile_t &offered = publisher_profile, &requested = subscription_profile;
  std::string text =
      kReliability.error(offered.reliability, requested.reliability) +
      kDurability.error(offered.durability, requested.durability) +
      time_error(offered.deadline, requested.deadline, "deadline", "deadline is less than publisher deadline") +
      kLiveliness.error(offered.liveliness, requested.liveliness) +
      time_error(offered.liveliness_lease_duration, requested.liveliness_lease_duration, "liveliness lease duration",
                 "liveliness lease duration is less than publisher");
  *compatibility = RMW_QOS_COMPATIBILITY_ERROR;
  if (text.empty()) {
    text = kReliability.warning(offered.reliability, requested.reliability) +
           kDurability.warning(offered.durability, requested.durability) +
           kLiveliness.warning(offered.liveliness, requested.liveliness);
    *compatibility = text.empty() ? RMW_QOS_COMPATIBILITY_OK : RMW_QOS_COMPATIBILITY_WARNING;
  }
  if (reason != nullptr && reason_size != 0) std::snprintf(reason, reason_size, "%s", text.c_str());
  return RMW_RET_OK;
} catch (const std::exception& error) {
  return failure(error);
}
