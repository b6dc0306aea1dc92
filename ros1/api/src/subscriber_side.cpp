// SPDX-License-Identifier: Apache-2.0
// What roscpp calls of a subscription, and the subscription's beginning and end. Its messages: subscriber_state.hpp.
#include <ros/console.h>
#include <ros/subscribe_options.h>
#include <ros/subscription_callback_helper.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <exception>
#include <optional>

#include "baton/os/crash_point.hpp"
#include "graph_names.hpp"
#include "own_callbacks.hpp"
#include "subscriber_state.hpp"

namespace baton::ros1::detail {

/// The program's queue, for roscpp's subscription. roscpp removes what waits there when the subscription ends, in the thread that
/// ends it, and then nothing may be called any more. The helper may live on: of a message that roscpp decoded for several
/// subscriptions it keeps one's helper until all of them have it.
struct SubscriberSide::State::Queue final : ros::CallbackQueueInterface {
  Queue(std::weak_ptr<State> owner, ros::CallbackQueueInterface& of) : state(std::move(owner)), own(of) {}
  void addCallback(const ros::CallbackInterfacePtr& callback, std::uint64_t id) override {
    own.addCallback(callback, id);
  }
  void removeByID(std::uint64_t id) override {
    own.removeByID(id);
    if (const auto alive = state.lock()) alive->end();
  }
  const std::weak_ptr<State> state;
  ros::CallbackQueueInterface& own;
};

struct SubscriberSide::State::Helper final : ros::SubscriptionCallbackHelper {
  Helper(std::weak_ptr<State> owner, const std::type_info& of, ros::CallbackQueueInterface& calls)
      : state(std::move(owner)), type(of), queue(state, calls) {}
  /// What deserialize() returns: the owner of the message, and what came behind the message.
  struct Decoded {
    std::shared_ptr<const void> message;
    std::optional<Trailer> trailer;
    void operator()(const void*) const {}
  };
  ros::VoidConstPtr deserialize(const ros::SubscriptionCallbackHelperDeserializeParams& params) override {
    const auto alive = state.lock();
    if (!alive) return {};
    const PeerPtr peer = params.connection_header ? alive->peers.of(params.connection_header) : nullptr;
    const message::Bytes wire(params.buffer, params.length);
    if (const std::optional<Trailer> trailer = trailer_of(wire)) {
      try {
        return decoded_as(alive->callbacks.decode({wire.data, wire.size - kTrailerBytes}), trailer);
      } catch (const std::exception&) {
        // A message whose own last bytes are such words.
      }
    }
    if (peer && alive->has(*peer)) return {};
    try {
      return decoded_as(alive->callbacks.decode(wire), {});
    } catch (const Exception& error) {
      ROS_ERROR_THROTTLE(1.0, "baton: a message on %s is lost: %s", alive->topic.c_str(), error.what());
      return {};
    }
  }
  static ros::VoidConstPtr decoded_as(std::shared_ptr<const void> message, const std::optional<Trailer>& trailer) {
    BATON_CRASH_POINT("ros1.api.decoded");
    const void* const at = message.get();
    return {at, Decoded{std::move(message), trailer}};
  }
  void call(ros::SubscriptionCallbackHelperCallParams& params) override {
    const auto alive = state.lock();
    if (!alive) return;
    const auto decoded = params.event.getConstMessage();
    if (!alive->enter()) return;
    const Turn turn(alive->turns);
    const auto* const known = boost::get_deleter<Decoded>(decoded);
    const std::optional<Trailer> trailer = known != nullptr ? known->trailer : std::nullopt;
    if (trailer) {
      alive->take_unread_now();  // what was handed over before it
      if (alive->has_ended()) return;
    }
    if (alive->callbacks.call) {
      alive->callbacks.call(params);
    } else {
      alive->callbacks.deliver(std::shared_ptr<const void>(decoded.get(), [decoded](const void*) {}));
    }
    if (trailer && !alive->has_ended()) alive->came_by_bytes(*trailer);
  }
  const std::type_info& getTypeInfo() override { return type; }
  bool isConst() override { return true; }
  bool hasHeader() override { return false; }
  const std::weak_ptr<State> state;
  const std::type_info& type;
  Queue queue;
  std::unique_ptr<SubscriberSide> owned;  // give_to_roscpp()
};

/// Of the side topic. Its messages stay shared by all subscriptions of the process until each takes its own.
struct SubscriberSide::State::SideHelper final : ros::SubscriptionCallbackHelper {
  explicit SideHelper(std::weak_ptr<State> owner) : state(std::move(owner)) {}
  ros::VoidConstPtr deserialize(const ros::SubscriptionCallbackHelperDeserializeParams& params) override {
    const auto alive = state.lock();
    if (!alive) return {};
    const auto arrived = boost::make_shared<ArrivedHandle>();
    const std::optional<TopicHandle> handle = decode_handle({params.buffer, params.length});
    if (!handle || !params.connection_header) {
      alive->malformed.fetch_add(1, std::memory_order_relaxed);  // a statistic
      return {};
    }
    arrived->sender = alive->peers.of(params.connection_header);
    arrived->link = params.connection_header;
    arrived->handle = *handle;
    const auto* const content = reinterpret_cast<const std::uint8_t*>(handle->content.data);
    arrived->bytes.assign(content, content + handle->content.size);
    arrived->handle.content = {arrived->bytes.data(), arrived->bytes.size()};
    return arrived;
  }
  void call(ros::SubscriptionCallbackHelperCallParams& params) override {
    const auto alive = state.lock();
    if (!alive) return;
    alive->arrived(boost::static_pointer_cast<const ArrivedHandle>(params.event.getConstMessage()));
  }
  const std::type_info& getTypeInfo() override { return typeid(ArrivedHandle); }
  bool isConst() override { return true; }
  bool hasHeader() override { return false; }
  const std::weak_ptr<State> state;
};

SubscriberSide::SubscriberSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, Mode mode,
                               const ros::TransportHints& hints, const StockType& stock,
                               std::shared_ptr<baton::Node> node, std::shared_ptr<transport::Reader> reader,
                               Callbacks callbacks, bool own_thread)
    : state_(std::make_shared<State>(topic, mode, own_thread, stock, std::move(node), std::move(reader), queue_size,
                                     std::move(callbacks))) {
  if (own_thread && mode == Mode::kTzc) {
    throw Exception(
        Error{Errc::invalid_argument,
              topic + ": own_thread is for mode lotros; in mode tzc handles come through roscpp's callback queue"});
  }
  State& state = *state_;
  state.queue = handle.getCallbackQueue();
  if (mode == Mode::kTzc) {
    ros::SubscribeOptions options(side_topic(topic), queue_size, kHandleMd5, kHandleType);
    options.helper = boost::make_shared<State::SideHelper>(state_);
    options.callback_queue = state.queue;
    options.transport_hints = ros::TransportHints().tcpNoDelay();
    state.side = handle.subscribe(options);
    state.reader->on_event([weak = std::weak_ptr<State>(state_)](transport::Event event) {
      const auto alive = weak.lock();
      if (!alive || event != transport::Event::kMatched) return;
      alive->graph_changed = true;
      alive->waits.wake();
    });
  }
  ros::SubscribeOptions options(topic, queue_size, stock.md5sum, stock.datatype);
  const auto helper = boost::make_shared<State::Helper>(state_, *state.callbacks.type, *state.queue);
  state.helper = helper;
  options.helper = helper;
  options.transport_hints = hints;
  options.callback_queue = &helper->queue;
  state.subscriber = handle.subscribe(options);  // throws if the type conflicts; nothing is counted then
  // Not before roscpp has it: a stock subscription beside it would seem to be none.
  count_own_callback(topic, 1);
  state.puller = std::thread([alive = state_] { alive->pull(); });
}

SubscriberSide::~SubscriberSide() {
  State& state = *state_;
  state.end();
  state.reader->on_event({});
  state.side.shutdown();
  count_own_callback(state.topic, -1);
  state.subscriber.shutdown();
}

ros::Subscriber SubscriberSide::give_to_roscpp(std::unique_ptr<SubscriberSide> side) {
  State& state = *side->state_;
  ros::Subscriber given = std::exchange(state.subscriber, ros::Subscriber());
  // roscpp keeps the helper exactly as long as the subscription.
  if (const auto helper = state.helper.lock()) helper->owned = std::move(side);
  return given;
}

std::uint32_t SubscriberSide::publishers() const {
  const State& state = *state_;
  // roscpp has a link to each publisher of ROS 1, also to ours; Baton also knows those of Baton's own nodes.
  return std::max(state.subscriber.getNumPublishers(), state.reader->matched());
}

HandleCounters SubscriberSide::handles() const {
  State& state = *state_;
  const os::Lock lock(state.turns);
  HandleCounters out = state.arrivals.counters;
  out.refused += state.malformed.load(std::memory_order_relaxed);  // a statistic: orders nothing
  return out;
}

}  // namespace baton::ros1::detail
