// SPDX-License-Identifier: Apache-2.0
#include "baton/transport/qos.hpp"

namespace baton {
namespace {

std::string duration_text(std::chrono::nanoseconds duration) {
  if (duration == kInfinite) return "infinite";
  return std::to_string(duration.count()) + " ns";
}

void add(std::string& out, const char* policy, const std::string& offered, const std::string& requested) {
  if (!out.empty()) out += "; ";
  out += std::string(policy) + ": offered " + offered + ", requested " + requested;
}

/// DDS 1.4, 2.2.3: an offer satisfies a request if it is at least as strong.
bool is_refused(Policy policy, const QoS& offered, const QoS& requested) noexcept {
  switch (policy) {
    case Policy::kReliability:
      return requested.reliability == Reliability::kReliable && offered.reliability == Reliability::kBestEffort;
    case Policy::kDurability:
      return requested.durability == Durability::kTransientLocal && offered.durability == Durability::kVolatile;
    case Policy::kLiveliness:
      return requested.liveliness == Liveliness::kManualByTopic && offered.liveliness == Liveliness::kAutomatic;
    case Policy::kDeadline:
      return requested.deadline < offered.deadline;
    case Policy::kLease:
      return requested.lease < offered.lease;
    case Policy::kNone:
      break;
  }
  return false;
}

constexpr Policy kPolicies[] = {Policy::kReliability, Policy::kDurability, Policy::kLiveliness, Policy::kDeadline,
                                Policy::kLease};

}  // namespace

Policy first_incompatible(const QoS& offered, const QoS& requested) noexcept {
  for (const Policy policy : kPolicies) {
    if (is_refused(policy, offered, requested)) return policy;
  }
  return Policy::kNone;
}

std::string incompatibility(const QoS& offered, const QoS& requested) {
  std::string out;
  if (is_refused(Policy::kReliability, offered, requested)) add(out, "reliability", "best_effort", "reliable");
  if (is_refused(Policy::kDurability, offered, requested)) add(out, "durability", "volatile", "transient_local");
  if (is_refused(Policy::kLiveliness, offered, requested)) add(out, "liveliness", "automatic", "manual_by_topic");
  if (is_refused(Policy::kDeadline, offered, requested))
    add(out, "deadline", duration_text(offered.deadline), duration_text(requested.deadline));
  if (is_refused(Policy::kLease, offered, requested))
    add(out, "liveliness lease", duration_text(offered.lease), duration_text(requested.lease));
  return out;
}

}  // namespace baton
