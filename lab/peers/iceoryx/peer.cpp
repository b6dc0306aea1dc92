// SPDX-License-Identifier: Apache-2.0
// iceoryx 2.0: untyped publisher and subscriber, loans, wait set or polling.
#include <unistd.h>

#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_posh/runtime/posh_runtime.hpp>
#include <mutex>
#include <stdexcept>

#include "keeper.hpp"
#include "peer.hpp"
#include "roudi.hpp"

namespace baton::perf {
namespace {

constexpr std::uint32_t kAlignment = 64;

iox::capro::IdString_t word(const std::string& text) { return {iox::cxx::TruncateToCapacity, text}; }

iox::capro::ServiceDescription service_of(const RunPlan& plan) {
  return {"baton_perf", word(run_id(plan)), word(plan.topic)};
}

/// Starts the process's iceoryx runtime, once.
void start(const RunPlan& plan) {
  static std::once_flag once;
  std::call_once(once, [&] {
    join_roudi(plan);
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kWarn,
                                                             iox::log::LogLevelOutput::kHideLogLevel);
    iox::runtime::PoshRuntime::initRuntime(
        {iox::cxx::TruncateToCapacity, run_id(plan) + "_" + std::to_string(::getpid())});
  });
}

iox::popo::PublisherOptions publisher_options() {
  iox::popo::PublisherOptions options;
  options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::DISCARD_OLDEST_DATA;
  return options;
}

iox::popo::SubscriberOptions subscriber_options(const RunPlan& plan) {
  iox::popo::SubscriberOptions options;
  options.queueCapacity = plan.depth;
  options.queueFullPolicy = iox::popo::QueueFullPolicy::DISCARD_OLDEST_DATA;
  return options;
}

class IceoryxPublisher : public PublisherEnd {
 public:
  explicit IceoryxPublisher(const RunPlan& plan) : publisher_(service_of(plan), publisher_options()) {}
  ~IceoryxPublisher() override {
    if (loan_ != nullptr) publisher_.release(loan_);
  }
  std::byte* begin(std::size_t bytes) override {
    publisher_.loan(static_cast<std::uint32_t>(bytes), kAlignment)
        .and_then([&](void* payload) { loan_ = payload; })
        .or_else([](auto&) { throw std::runtime_error("iceoryx has no chunk to loan"); });
    return static_cast<std::byte*>(loan_);
  }
  void publish(std::size_t) override {
    publisher_.publish(loan_);
    loan_ = nullptr;
  }

 private:
  iox::popo::UntypedPublisher publisher_;
  void* loan_ = nullptr;
};

class IceoryxSubscriber : public SubscriberEnd {
 public:
  IceoryxSubscriber(const RunPlan& plan, Receiver& receiver)
      : receiver_(receiver), subscriber_(service_of(plan), subscriber_options(plan)) {
    // Polling subscribers are not attached: a publisher posts a semaphore for each attached subscriber.
    if (!plan.spin)
      wait_set_.attachEvent(subscriber_, iox::popo::SubscriberEvent::DATA_RECEIVED).or_else([](auto&) {
        throw std::runtime_error("iceoryx does not attach a subscriber to a wait set");
      });
  }
  void receive(std::chrono::nanoseconds timeout) override {
    if (take_all() || timeout.count() == 0) return;
    (void)wait_set_.timedWait(iox::units::Duration::fromNanoseconds(timeout.count()));
    take_all();
  }

 private:
  bool take_all() {
    bool any = false;
    for (bool more = true; more;) {
      more = false;
      subscriber_.take().and_then([&](const void* payload) {
        any = more = true;
        receiver_.message(static_cast<const std::byte*>(payload),
                          iox::mepoo::ChunkHeader::fromUserPayload(payload)->userPayloadSize());
        subscriber_.release(payload);
      });
    }
    return any;
  }

  Receiver& receiver_;
  iox::popo::UntypedSubscriber subscriber_;
  iox::popo::WaitSet<> wait_set_;
};

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"iceoryx",
                BATON_IOX_VERSION,
                "untyped loans from one pool of chunks of the message's size; WaitSet (semaphore), or polling take() "
                "without one; "
                "RouDi without monitoring, its CPU time is not counted",
                {"loan"}};
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  start(plan);
  return std::make_unique<IceoryxPublisher>(plan);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  start(plan);
  return std::make_unique<IceoryxSubscriber>(plan, receiver);
}

}  // namespace baton::perf
