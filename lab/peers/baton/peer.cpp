// SPDX-License-Identifier: Apache-2.0
#include "ends.hpp"

namespace baton::perf {
namespace {

/// Live runs meet other processes in the domain's usual directory; other runs have a directory of their own.
NodeOptions options_of(const RunPlan& plan) {
  return NodeOptions{plan.domain, plan.live ? std::string() : plan.directory, {}};
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Baton",
                BATON_VERSION_STRING,
                "loans of real message types, wait set (futex) or polling take(); executor: a callback, by spin_once()",
                {"loan", "copy", "executor"}};
  info.has_qos = true;
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<PublisherEnd> {
    using T = std::remove_pointer_t<decltype(type)>;
    if (plan.variant == "copy") return std::make_unique<CopyingPublisher<T>>(plan, index, options_of(plan));
    return std::make_unique<BatonPublisher<T>>(plan, index, options_of(plan));
  });
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<SubscriberEnd> {
    using T = std::remove_pointer_t<decltype(type)>;
    if (plan.variant == "executor")
      return std::make_unique<CalledSubscriber<T>>(plan, index, receiver, options_of(plan));
    return std::make_unique<BatonSubscriber<T>>(plan, index, receiver, options_of(plan));
  });
}

}  // namespace baton::perf
