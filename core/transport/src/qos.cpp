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

}  // namespace

// DDS 1.4, 2.2.3: an offer satisfies a request if it is at least as strong.
std::string incompatibility(const QoS& offered, const QoS& requested) {
  std::string out;
  if (requested.reliability == Reliability::kReliable && offered.reliability == Reliability::kBestEffort) {
    add(out, "reliability", "best_effort", "reliable");
  }
  if (requested.durability == Durability::kTransientLocal && offered.durability == Durability::kVolatile) {
    add(out, "durability", "volatile", "transient_local");
  }
  if (requested.liveliness == Liveliness::kManualByTopic && offered.liveliness == Liveliness::kAutomatic) {
    add(out, "liveliness", "automatic", "manual_by_topic");
  }
  if (requested.deadline < offered.deadline) {
    add(out, "deadline", duration_text(offered.deadline), duration_text(requested.deadline));
  }
  if (requested.lease < offered.lease) {
    add(out, "liveliness lease", duration_text(offered.lease), duration_text(requested.lease));
  }
  return out;
}

}  // namespace baton
