// SPDX-License-Identifier: Apache-2.0
// Zenoh (a crate): sessions connected to each other directly, without router and scouting. The work is in src/lib.rs.
#include <cstdlib>
#include <stdexcept>

#include "arrivals.hpp"
#include "crate.h"
#include "keeper.hpp"
#include "peer.hpp"

namespace baton::perf {
namespace {

/// Zenoh's own threshold for putting payloads into shared memory.
constexpr std::size_t kSharedFrom = 3072;

[[noreturn]] void fail() { throw std::runtime_error(std::string("Zenoh: ") + crate_error()); }

std::string endpoint(const RunPlan& plan, unsigned publisher) {
  if (plan.variant == "shm")
    return "\"unixsock-stream/" + plan.directory + "/" + plan.topic + "_" + std::to_string(publisher) + "\"";
  // Below the range of outgoing connections; a return path has ports of its own.
  const unsigned port = 12000 + run_number(plan, 600) * 32 + (plan.topic == "perf" ? 0 : 16) + publisher % 16;
  return "\"tcp/" + plan.publishers_address() + ":" + std::to_string(port) + "\"";
}

std::string configuration(const RunPlan& plan, const std::string& listen, const std::string& connect) {
  const bool shm = plan.variant == "shm";
  std::string text = "{mode: 'peer', listen: {endpoints: [" + listen + "]}, connect: {endpoints: [" + connect +
                     "], timeout_ms: 50000, exit_on_failure: true, retry: {period_init_ms: 5, period_max_ms: 20}}, "
                     "scouting: {multicast: {enabled: false}, gossip: {enabled: false}}, transport: {";
  // With shared memory the packets on the socket are small: the publisher's thread writes them at once.
  if (shm) text += "unicast: {lowlatency: true, qos: {enabled: false}}, ";
  text += std::string("shared_memory: {enabled: ") + (shm ? "true" : "false") + ", mode: 'init'}}}";
  return text;
}

void join(const RunPlan& plan) {
  KeeperTask task;
  task.leftovers = {"/dev/shm/[0-9]*.zenoh", "/tmp/[0-9]*.zenoh"};
  join_keeper(plan, task);
  ::setenv("RUST_LOG", "off", 0);
}

class ZenohPublisher : public PublisherEnd {
 public:
  ZenohPublisher(const RunPlan& plan, unsigned index) {
    join(plan);
    const std::string text = configuration(plan, endpoint(plan, index), "");
    const std::size_t chunks =
        plan.variant == "shm" && plan.bytes >= kSharedFrom ? plan.depth + 2 * plan.subscribers + 4 : 0;
    const CratePlan crate_plan{text.c_str(), plan.topic.c_str(), plan.bytes, chunks, plan.reliable};
    publisher_ = crate_publisher_new(&crate_plan);
    if (publisher_ == nullptr) fail();
  }
  ~ZenohPublisher() override { crate_publisher_delete(publisher_); }
  std::byte* begin(std::size_t bytes) override {
    std::uint8_t* payload = crate_publisher_begin(publisher_, bytes);
    if (payload == nullptr) fail();
    return reinterpret_cast<std::byte*>(payload);
  }
  void publish(std::size_t) override {
    if (crate_publisher_send(publisher_) != 0) fail();
  }

 private:
  CratePublisher* publisher_;
};

class ZenohSubscriber : public SubscriberEnd {
 public:
  ZenohSubscriber(const RunPlan& plan, Receiver& receiver) : receiver_(receiver), arrivals_(plan) {
    join(plan);
    std::string all;
    for (unsigned i = 0; i < plan.publishers; ++i) all += (i == 0 ? "" : ", ") + endpoint(plan, i);
    const std::string text = configuration(plan, "", all);
    const CratePlan crate_plan{text.c_str(), plan.topic.c_str(), plan.bytes, 0, plan.reliable};
    const auto deliver = [](void* self, const std::uint8_t* data, std::size_t bytes) {
      auto* subscriber = static_cast<ZenohSubscriber*>(self);
      {
        // Each publisher's connection has a thread of its own.
        const std::lock_guard<std::mutex> one_at_a_time(subscriber->delivering_);
        subscriber->receiver_.message(reinterpret_cast<const std::byte*>(data), bytes);
      }
      subscriber->arrivals_.notify();
    };
    subscriber_ = crate_subscriber_new(&crate_plan, deliver, this);
    if (subscriber_ == nullptr) fail();
  }
  ~ZenohSubscriber() override { crate_subscriber_delete(subscriber_); }
  void receive(std::chrono::nanoseconds timeout) override { arrivals_.wait(timeout); }

 private:
  Receiver& receiver_;
  Arrivals arrivals_;
  std::mutex delivering_;
  CrateSubscriber* subscriber_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{
      "Zenoh",
      BATON_CRATE_VERSION,
      "direct sessions, express, real-time priority, blocking when congested, callback on the session's thread; "
      "shm: loans of its "
      "shared memory from 3 KB on (its own threshold), low-latency transport over Unix sockets; tcp: no shared memory",
      {"shm", "tcp"}};
  info.network_variants = {"tcp"};
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<ZenohPublisher>(plan, index);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<ZenohSubscriber>(plan, receiver);
}

}  // namespace baton::perf
