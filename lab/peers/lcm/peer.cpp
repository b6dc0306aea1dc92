// SPDX-License-Identifier: Apache-2.0
// LCM over its UDP multicast, which does not leave the machine (ttl 0). The payload is
// published without LCM's type encoding. Group and port belong to the run.
#include <lcm/lcm.h>

#include <fstream>
#include <stdexcept>

#include "peer.hpp"

namespace baton::perf {
namespace {

std::string url_of(const RunPlan& plan) {
  // FNV-1a of the run's unique word.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : plan.directory) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  const unsigned port = 20000 + static_cast<unsigned>(hash % 12000), low = static_cast<unsigned>(hash >> 32) % 250 + 1;
  std::uint64_t most = 2 << 20;
  std::ifstream("/proc/sys/net/core/rmem_max") >> most;
  return "udpm://239.255.66." + std::to_string(low) + ":" + std::to_string(port) +
         "?ttl=0&recv_buf_size=" + std::to_string(most);
}

struct Connection {
  explicit Connection(const RunPlan& plan) : lcm(::lcm_create(url_of(plan).c_str())) {
    if (lcm == nullptr) throw std::runtime_error("LCM cannot be initialised (is there a multicast route?)");
  }
  ~Connection() { ::lcm_destroy(lcm); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  lcm_t* const lcm;
};

class LcmPublisher : public PublisherEnd {
 public:
  explicit LcmPublisher(const RunPlan& plan) : connection_(plan), channel_(plan.topic), buffer_(plan.bytes) {}
  std::byte* begin(std::size_t) override { return buffer_.data(); }
  void publish(std::size_t bytes) override {
    if (::lcm_publish(connection_.lcm, channel_.c_str(), buffer_.data(), static_cast<unsigned>(bytes)) != 0)
      throw std::runtime_error("lcm_publish failed");
  }

 private:
  Connection connection_;
  const std::string channel_;
  std::vector<std::byte> buffer_;
};

class LcmSubscriber : public SubscriberEnd {
 public:
  LcmSubscriber(const RunPlan& plan, Receiver& receiver) : connection_(plan) {
    lcm_subscription_t* const subscription = ::lcm_subscribe(
        connection_.lcm, plan.topic.c_str(),
        [](const lcm_recv_buf_t* buffer, const char*, void* to) {
          static_cast<Receiver*>(to)->message(static_cast<const std::byte*>(buffer->data), buffer->data_size);
        },
        &receiver);
    if (subscription == nullptr) throw std::runtime_error("lcm_subscribe failed");
    ::lcm_subscription_set_queue_capacity(subscription, static_cast<int>(plan.depth));
  }
  void receive(std::chrono::nanoseconds timeout) override {
    ::lcm_handle_timeout(connection_.lcm, static_cast<int>(timeout.count() / 1'000'000));
  }

 private:
  Connection connection_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"LCM",
                LCM_VERSION_STRING,
                "UDP multicast, ttl 0, by the machine's own multicast route, receive buffer as large as the system "
                "allows; lcm_handle_timeout()",
                {"udpm"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<LcmPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<LcmSubscriber>(plan, receiver);
}

}  // namespace baton::perf
