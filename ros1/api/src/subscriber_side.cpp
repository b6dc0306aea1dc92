// SPDX-License-Identifier: Apache-2.0
#include <ros/callback_queue_interface.h>
#include <ros/console.h>
#include <ros/subscribe_options.h>
#include <ros/subscriber.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "baton/ros1/endpoints.hpp"
#include "graph_names.hpp"
#include "private_members.hpp"

namespace baton::ros1::detail {
namespace {

/// The callbacks that roscpp has for a topic of this process, whoever subscribed.
std::size_t callbacks_on(const std::string& topic) {
  const ros::TopicManagerPtr& manager = ros::TopicManager::instance();
  const boost::mutex::scoped_lock lock((*manager).*member_of(SubscriptionsMutexOfManager()));
  std::size_t count = 0;
  for (const ros::SubscriptionPtr& each : (*manager).*member_of(SubscriptionsOfManager())) {
    if (each->getName() == topic && !each->isDropped()) count += each->getNumCallbacks();
  }
  return count;
}

}  // namespace

/// Two sources, one callback: a thread waits for messages of Baton (LOT's puller) and asks roscpp's callback queue to
/// run take_waiting(); roscpp's own subscription runs decode() and deliver().
struct SubscriberSide::State : std::enable_shared_from_this<SubscriberSide::State> {
  State(std::string topic_name, std::shared_ptr<baton::Node> own_node, std::shared_ptr<transport::Reader> own_reader,
        Callbacks functions)
      : topic(std::move(topic_name)),
        node(std::move(own_node)),
        reader(std::move(own_reader)),
        callbacks(std::move(functions)) {}

  struct Turn final : ros::CallbackInterface {
    explicit Turn(std::weak_ptr<State> owner) : state(std::move(owner)) {}
    CallResult call() override {
      const auto alive = state.lock();
      if (!alive) return Invalid;
      alive->take_waiting();
      return Success;
    }
    const std::weak_ptr<State> state;
  };

  struct Helper final : ros::SubscriptionCallbackHelper {
    explicit Helper(std::weak_ptr<State> owner, const std::type_info& of) : state(std::move(owner)), type(of) {}
    ros::VoidConstPtr deserialize(const ros::SubscriptionCallbackHelperDeserializeParams& params) override {
      const auto alive = state.lock();
      if (!alive || (params.connection_header && alive->has((*params.connection_header)["callerid"]))) return {};
      try {
        const auto decoded = alive->callbacks.decode(message::Bytes(params.buffer, params.length));
        return ros::VoidConstPtr(decoded.get(), [decoded](const void*) {});
      } catch (const Exception& error) {
        ROS_ERROR_THROTTLE(1.0, "baton: a message on %s is lost: %s", alive->topic.c_str(), error.what());
        return {};
      }
    }
    void call(ros::SubscriptionCallbackHelperCallParams& params) override {
      const auto alive = state.lock();
      if (!alive) return;
      const auto decoded = params.event.getConstMessage();
      const std::lock_guard<std::recursive_mutex> lock(alive->one_at_a_time);
      alive->callbacks.deliver(std::shared_ptr<const void>(decoded.get(), [decoded](const void*) {}));
    }
    const std::type_info& getTypeInfo() override { return type; }
    bool isConst() override { return true; }
    bool hasHeader() override { return false; }
    const std::weak_ptr<State> state;
    const std::type_info& type;
  };

  /// In the callback queue's thread.
  void take_waiting() {
    struct Finally {
      ~Finally() { state.end_turn(); }  // also if the callback throws, as roscpp allows
      State& state;
    } const finally{*this};
    // What waits now, as ros::spinOnce() runs what waits; and not what comes meanwhile, which could be without end.
    for (std::size_t left = reader->unread(); left > 0; --left) {
      Result<transport::TakenSample> taken = reader->take();
      if (!taken) {
        ROS_ERROR_THROTTLE(1.0, "baton: no message on %s: %s", topic.c_str(), taken.error().message.c_str());
        return;
      }
      if (!*taken) return;
      note(taken->publisher());
      const std::lock_guard<std::recursive_mutex> lock(one_at_a_time);
      callbacks.take(std::move(*taken));
      if (has_ended()) return;  // the callback ended its own subscription
    }
  }
  bool has_ended() {
    const std::lock_guard<std::mutex> lock(mutex);
    return ended;
  }
  void end_turn() {
    const std::lock_guard<std::mutex> lock(mutex);
    turn_given = false;
    changed.notify_one();
  }
  std::uint64_t id() const { return reinterpret_cast<std::uint64_t>(this); }

  void pull() {
    std::unique_lock<std::mutex> lock(mutex);
    while (!ended) {
      lock.unlock();
      const Result<bool> ready = waits.wait(kInfinite);
      lock.lock();
      if (!ready) {
        ROS_ERROR("baton: %s gets no messages any more: %s", topic.c_str(), ready.error().message.c_str());
        return;
      }
      if (ended || !reader->has_data()) continue;
      turn_given = true;
      lock.unlock();
      queue->addCallback(boost::make_shared<Turn>(weak_from_this()), id());
      lock.lock();
      changed.wait(lock, [this] { return ended || !turn_given; });
    }
  }

  /// Records that `publisher` reaches us over Baton, and looks for stock subscriptions beside us.
  void note(const Gid& publisher) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (callbacks_on(topic) <= own_callbacks(topic)) {
      stock_mark.reset();
    } else if (!stock_mark) {
      try {
        stock_mark = mark();
      } catch (const Exception& error) {  // the next message tries again
        ROS_ERROR_THROTTLE(1.0, "baton: stock subscriptions of %s in this process get no messages: %s", topic.c_str(),
                           error.what());
      }
    }
    const std::uint64_t now = node->participant()->graph_version();
    if (now != seen || reached.count(publisher) == 0) {
      seen = now;
      reached.emplace(publisher, std::string());
      std::map<Gid, std::string> alive;
      for (const transport::EndpointInfo& end : node->endpoints()) {
        if (end.is_writer && end.topic == topic && reached.count(end.gid) != 0) alive[end.gid] = ros_name(end.node);
      }
      alive.emplace(publisher, std::string());
      reached = std::move(alive);
    }
  }
  std::shared_ptr<transport::Reader> mark() {
    static const message::Type nothing{"baton_ros1/Stock", 0, 1, nullptr, 0, true, {}, ""};
    return node->make_reader(stock_beside(topic), nothing, QoS(1));
  }
  /// Whether messages of this node come over Baton, so that its serialized ones are older than those, or doubles.
  bool has(const std::string& name) {
    if (reader->statuses().refused_now > 0) return false;
    const std::lock_guard<std::mutex> lock(mutex);
    return std::any_of(reached.begin(), reached.end(), [&](const auto& each) { return each.second == name; });
  }

  /// How many callbacks of roscpp on `topic` are ours.
  static std::size_t own_callbacks(const std::string& topic) {
    const std::lock_guard<std::mutex> lock(own_mutex());
    return own()[topic];
  }
  static void count_own(const std::string& topic, std::size_t added) {
    const std::lock_guard<std::mutex> lock(own_mutex());
    own()[topic] += added;
  }
  static std::map<std::string, std::size_t>& own() {
    static auto& counts = *new std::map<std::string, std::size_t>;  // a Subscriber with static storage may end later
    return counts;
  }
  static std::mutex& own_mutex() {
    static std::mutex one;
    return one;
  }

  const std::string topic;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Reader> reader;
  const Callbacks callbacks;
  ros::CallbackQueueInterface* queue = nullptr;
  transport::WaitSet waits;
  std::thread puller;
  std::recursive_mutex one_at_a_time;  // recursive: a callback may spin
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool turn_given = false;  // a Turn is in the callback queue, or runs
  std::uint64_t seen = 0;
  std::map<Gid, std::string> reached;  // publishers of which a message of Baton came, and their nodes
  std::shared_ptr<transport::Reader> stock_mark;
  ros::Subscriber subscriber;
};

SubscriberSide::SubscriberSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size,
                               const StockType& stock, std::shared_ptr<baton::Node> node,
                               std::shared_ptr<transport::Reader> reader, Callbacks callbacks)
    : state_(std::make_shared<State>(topic, std::move(node), std::move(reader), std::move(callbacks))) {
  State& state = *state_;
  state.queue = handle.getCallbackQueue();
  state.waits.add(state.reader).or_throw();
  ros::SubscribeOptions options(topic, queue_size, stock.md5sum, stock.datatype);
  options.helper = boost::make_shared<State::Helper>(state_, *state.callbacks.type);
  options.callback_queue = state.queue;
  state.subscriber = handle.subscribe(options);  // throws if the type conflicts; nothing is counted then
  State::count_own(topic, 1);
  state.puller = std::thread([&state] { state.pull(); });
}

SubscriberSide::~SubscriberSide() {
  State& state = *state_;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.ended = true;
    state.changed.notify_one();
  }
  state.waits.wake();
  state.puller.join();
  state.queue->removeByID(state.id());
  state.subscriber.shutdown();
  State::count_own(state.topic, static_cast<std::size_t>(-1));
}

std::uint32_t SubscriberSide::publishers() const {
  const State& state = *state_;
  // roscpp has a link to each publisher of ROS 1, also to ours; Baton also knows those of Baton's own nodes.
  return std::max(state.subscriber.getNumPublishers(), state.reader->matched());
}

}  // namespace baton::ros1::detail
