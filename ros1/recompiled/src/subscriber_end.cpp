// SPDX-License-Identifier: Apache-2.0
#include "subscriber_end.hpp"

#include <ros/this_node.h>

#include <atomic>
#include <map>
#include <memory>
#include <utility>

#include "baton/node/node.hpp"
#include "baton/os/clock.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"

namespace baton::ros1::recompiled {
namespace {

/// Messages of one publisher that stay in its memory while the program keeps them. Further ones are copied.
constexpr std::uint32_t kHeld = 16;
/// Publishers whose headers are kept. Of one more the headers of all are made again.
constexpr std::size_t kMostHeaders = 1024;

/// Calls the program's callback with messages of Baton and of roscpp. One call at a time.
class Delivery {
 public:
  Delivery(const ros::SubscribeOptions& options, const MessageClass& message, std::shared_ptr<baton::Node> node)
      : helper_(options.helper),
        is_tracked_(options.tracked_object != nullptr),
        tracked_(options.tracked_object),
        topic_(options.topic),
        md5sum_(options.md5sum),
        message_(message),
        node_(std::move(node)) {}

  void take(transport::TakenSample&& taken) {
    const transport::Gid publisher = taken.publisher();
    boost::shared_ptr<const void> message;
    if (*held_ + 1 >= kHeld) {  // the program keeps many: this one must not be the last that comes
      message = message_.clone(taken.message());
      taken.release();
    } else {
      struct Held {
        Held(transport::TakenSample&& from, std::shared_ptr<std::atomic<std::uint32_t>> of)
            : sample(std::move(from)), count(std::move(of)) {
          count->fetch_add(1, std::memory_order_relaxed);  // counts only: orders nothing
        }
        ~Held() {
          sample.release();
          count->fetch_sub(1, std::memory_order_release);  // pairs with take()'s load: the sample is released before
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        transport::TakenSample sample;
        const std::shared_ptr<std::atomic<std::uint32_t>> count;
      };
      const auto held = boost::make_shared<Held>(std::move(taken), held_);
      message = boost::shared_ptr<const void>(held, held->sample.message());
    }
    call_with(message, publisher);
  }

  /// Of a message of Baton, or one whose bytes came in a handle.
  void call_with(const boost::shared_ptr<const void>& message, const transport::Gid& publisher) {
    const std::int64_t received_ns = os::realtime_ns();
    const ros::Time received(static_cast<std::uint32_t>(received_ns / 1'000'000'000),
                             static_cast<std::uint32_t>(received_ns % 1'000'000'000));
    // Read-only memory, which other processes read: a callback that may change its message gets a copy.
    ros::SubscriptionCallbackHelperCallParams call;
    call.event = ros::MessageEvent<const void>(message, header_of(publisher), received, true, {});
    this->call(call);
  }

  std::shared_ptr<const void> decode(message::Bytes wire) const {
    ros::SubscriptionCallbackHelperDeserializeParams params;
    params.buffer = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(wire.data));
    params.length = static_cast<std::uint32_t>(wire.size);
    const boost::shared_ptr<const void> message = helper_->deserialize(params);
    return std::shared_ptr<const void>(message.get(), [message](const void*) {});
  }

  void call(ros::SubscriptionCallbackHelperCallParams& params) {
    const boost::shared_ptr<const void> tracked = tracked_.lock();
    if (is_tracked_ && !tracked) return;
    helper_->call(params);
  }

 private:
  /// What roscpp has from a connection's beginning.
  const boost::shared_ptr<ros::M_string>& header_of(const transport::Gid& publisher) {
    if (headers_.size() >= kMostHeaders && headers_.count(publisher) == 0) headers_.clear();
    boost::shared_ptr<ros::M_string>& header = headers_[publisher];
    if (header) return header;
    header = boost::make_shared<ros::M_string>();
    (*header)["callerid"] = "unknown_publisher";  // as roscpp names one whose header says nothing
    for (const transport::EndpointInfo& end : node_->participant()->endpoints_of(topic_)) {
      if (end.gid != publisher) continue;
      (*header)["callerid"] = end.node.empty() || end.node.front() == '/' ? end.node : "/" + end.node;
    }
    (*header)["topic"] = topic_;
    (*header)["type"] = message_.type.name;
    (*header)["md5sum"] = md5sum_;
    return header;
  }

  const ros::SubscriptionCallbackHelperPtr helper_;
  const bool is_tracked_;
  const boost::weak_ptr<const void> tracked_;
  const std::string topic_, md5sum_;
  const MessageClass& message_;
  const std::shared_ptr<baton::Node> node_;
  std::map<transport::Gid, boost::shared_ptr<ros::M_string>> headers_;
  const std::shared_ptr<std::atomic<std::uint32_t>> held_ = std::make_shared<std::atomic<std::uint32_t>>(0);
};

}  // namespace

ros::Subscriber subscribe(ros::NodeHandle& given, ros::SubscribeOptions& options, const MessageClass& message) {
  const std::string topic = given.resolveName(options.topic);
  ros::NodeHandle handle(given);
  if (options.callback_queue != nullptr) handle.setCallbackQueue(options.callback_queue);
  const std::shared_ptr<baton::Node> node = ros1::node();
  const Mode mode = ros1::default_mode();
  const auto reader = ros1::detail::make_reader_for_ros(*node, topic, message.type, options.queue_size, mode, kHeld);
  ros::SubscribeOptions resolved = options;
  resolved.topic = topic;
  const auto delivery = std::make_shared<Delivery>(resolved, message, node);
  ros1::detail::SubscriberSide::Callbacks callbacks;
  callbacks.take = [delivery](transport::TakenSample&& taken) { delivery->take(std::move(taken)); };
  callbacks.decode = [delivery](message::Bytes wire) { return delivery->decode(wire); };
  callbacks.call = [delivery](ros::SubscriptionCallbackHelperCallParams& params) { delivery->call(params); };
  callbacks.carried = [delivery](const std::shared_ptr<const void>& decoded, const transport::Gid& publisher) {
    delivery->call_with(boost::shared_ptr<const void>(decoded.get(), [decoded](const void*) {}), publisher);
  };
  callbacks.type = &message.info;
  return ros1::detail::SubscriberSide::give_to_roscpp(std::make_unique<ros1::detail::SubscriberSide>(
      handle, topic, options.queue_size, mode, options.transport_hints,
      ros1::detail::StockType{options.datatype, options.md5sum, {}}, node, reader, std::move(callbacks)));
}

}  // namespace baton::ros1::recompiled
