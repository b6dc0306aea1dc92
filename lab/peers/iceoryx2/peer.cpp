// SPDX-License-Identifier: Apache-2.0
// iceoryx2 (a crate): slices of bytes in loans, with an event service to sleep on or by polling. The work is in
// src/lib.rs.
#include <stdexcept>

#include "baton/os/clock.hpp"
#include "crate.h"
#include "keeper.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

[[noreturn]] void fail() { throw std::runtime_error(std::string("iceoryx2: ") + crate_error()); }

bool polls(const RunPlan& plan) { return plan.spin || plan.variant == "poll"; }

template <class End>
End* made(const RunPlan& plan, End* (*make)(const CratePlan*)) {
  const std::string prefix = "iox2_" + run_id(plan) + "_", directory = plan.directory + "/iceoryx2";
  KeeperTask task;
  task.own = {"/dev/shm/" + prefix + "*", "/tmp/" + prefix + "*"};
  join_keeper(plan, task);
  const CratePlan crate_plan{prefix.c_str(),  directory.c_str(), plan.topic.c_str(), plan.bytes,
                             plan.publishers, plan.subscribers,  plan.depth,         !polls(plan)};
  End* end = make(&crate_plan);
  if (end == nullptr) fail();
  return end;
}

class Iceoryx2Publisher : public PublisherEnd {
 public:
  explicit Iceoryx2Publisher(const RunPlan& plan) : publisher_(made(plan, crate_publisher_new)) {}
  ~Iceoryx2Publisher() override { crate_publisher_delete(publisher_); }
  std::byte* begin(std::size_t bytes) override {
    std::uint8_t* payload = crate_publisher_loan(publisher_, bytes);
    if (payload == nullptr) fail();
    return reinterpret_cast<std::byte*>(payload);
  }
  void publish(std::size_t) override {
    if (crate_publisher_send(publisher_) != 0) fail();
  }

 private:
  CratePublisher* publisher_;
};

class Iceoryx2Subscriber : public SubscriberEnd {
 public:
  Iceoryx2Subscriber(const RunPlan& plan, Receiver& receiver)
      : receiver_(receiver), polls_(polls(plan)), subscriber_(made(plan, crate_subscriber_new)) {}
  ~Iceoryx2Subscriber() override { crate_subscriber_delete(subscriber_); }

  void receive(std::chrono::nanoseconds timeout) override {
    any_ = false;
    if (!polls_) return look(timeout);
    const std::int64_t end = os::monotonic_ns() + timeout.count();
    do {
      look(std::chrono::nanoseconds(0));
    } while (!any_ && timeout.count() > 0 && os::monotonic_ns() < end);
  }

 private:
  void look(std::chrono::nanoseconds timeout) {
    const auto deliver = [](void* self, const std::uint8_t* data, std::size_t bytes) {
      auto* subscriber = static_cast<Iceoryx2Subscriber*>(self);
      subscriber->any_ = true;
      subscriber->receiver_.message(reinterpret_cast<const std::byte*>(data), bytes);
    };
    if (crate_subscriber_receive(subscriber_, static_cast<std::uint64_t>(timeout.count()), deliver, this) != 0) fail();
  }

  Receiver& receiver_;
  const bool polls_;
  bool any_ = false;
  CrateSubscriber* subscriber_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"iceoryx2",
                BATON_CRATE_VERSION,
                "loan_slice_uninit of u8, pool sized for the largest message, safe overflow; event: listener of an "
                "event service, notified "
                "after each send; poll: busy receive(), no events (also when event is asked to spin)",
                {"event", "poll"}};
  info.can_spin = true;
  info.polling_variants = {"poll"};
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<Iceoryx2Publisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<Iceoryx2Subscriber>(plan, receiver);
}

}  // namespace baton::perf
