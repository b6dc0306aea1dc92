// SPDX-License-Identifier: Apache-2.0
#include <ros/callback_queue_interface.h>
#include <ros/console.h>
#include <ros/subscribe_options.h>
#include <ros/subscriber.h>

#include <algorithm>
#include <atomic>
#include <boost/make_shared.hpp>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "baton/os/crash_point.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"
#include "by_bytes.hpp"
#include "graph_names.hpp"
#include "handle_resolver.hpp"
#include "held_back.hpp"
#include "peer.hpp"
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
/// run take_waiting(), or with `own_thread` runs it itself; roscpp's own subscription runs decode() and deliver().
///
/// In mode tzc a third: roscpp's subscription of the side topic runs arrived() for each handle. The thread then waits for
/// messages only while a publisher of the topic sends no handles, and delivers those of all publishers.
struct SubscriberSide::State : std::enable_shared_from_this<SubscriberSide::State> {
  State(std::string topic_name, Mode own_mode, bool calls_in_own_thread, const StockType& stock,
        std::shared_ptr<baton::Node> own_node, std::shared_ptr<transport::Reader> own_reader, std::uint32_t queue_size,
        Callbacks functions)
      : topic(std::move(topic_name)),
        mode(own_mode),
        own_thread(calls_in_own_thread),
        node(std::move(own_node)),
        reader(std::move(own_reader)),
        callbacks(std::move(functions)),
        arrivals(reader, md5_of(stock.md5sum), depth_of(queue_size, Mode::kTzc)) {}

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

  /// The program's queue, for roscpp's subscription. roscpp removes what waits there when the subscription ends, in the thread that
  /// ends it, and then nothing may be called any more. The helper may live on: of a message that roscpp decoded for several
  /// subscriptions it keeps one's helper until all of them have it.
  struct Queue final : ros::CallbackQueueInterface {
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

  struct Helper final : ros::SubscriptionCallbackHelper {
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
      const Turns lock = alive->enter();
      if (!lock) return;
      const auto* const known = boost::get_deleter<Decoded>(decoded);
      const std::optional<Trailer> trailer = known != nullptr ? known->trailer : std::nullopt;
      if (trailer) {
        alive->take_unread();  // what was handed over before it
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
  struct SideHelper final : ros::SubscriptionCallbackHelper {
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

  /// In the callback queue's thread.
  void arrived(const ArrivedHandlePtr& handle) {
    const Turns lock = enter();
    if (!lock) return;
    BATON_CRASH_POINT("ros1.api.handle");
    look_for_writers();
    arrivals.arrive(handle);
    deliver_arrived();
  }
  void deliver_arrived() {  // with `one_at_a_time`
    while (HandleResolver::ResolvedMessage next = arrivals.next()) {
      if (next.carried) {
        if (next.sample) note(next.sample.publisher());  // from Baton: a handle alone may name anyone
        if (next.sample && hold_back(next.sample))
          continue;  // in the place of its bytes, which would overtake what it follows
        next.sample = {};
        deliver_carried(*next.carried);
        if (has_ended()) return;
      } else {
        BATON_CRASH_POINT("ros1.api.found");
        note(next.sample.publisher());
        if (!deliver(std::move(next.sample))) return;
      }
    }
    for (transport::TakenSample& each : arrivals.left_behind()) {
      if (!deliver(std::move(each))) return;
    }
    plan_look();
  }
  /// With `one_at_a_time`: the thread gives a turn in a while, also if nothing comes, as long as something may be due then.
  void plan_look() {
    std::chrono::nanoseconds time = arrivals.waits() ? kLate : arrivals.may_be_left() ? kLeft : kInfinite;
    if (!held_back.empty()) time = std::min<std::chrono::nanoseconds>(time, kLeft);
    const std::int64_t before = look_again_ns.exchange(time.count());
    if (time.count() < before) waits.wake();
  }
  void deliver_carried(const ArrivedHandle& arrived) {
    std::shared_ptr<const void> decoded;
    try {
      decoded = callbacks.decode(arrived.handle.content);
    } catch (const Exception& error) {
      ROS_ERROR_THROTTLE(1.0, "baton: a message on %s is lost: %s", topic.c_str(), error.what());
      return;
    }
    if (callbacks.carried) {
      callbacks.carried(decoded, arrived.handle.writer);
    } else {
      callbacks.deliver(decoded);
    }
  }
  /// With `one_at_a_time`.
  void look_for_writers() {
    const std::uint64_t now = node->participant()->graph_version();
    if (now == writers_seen) return;
    writers_seen = now;
    std::map<Gid, Process> alive, gone;
    for (const transport::EndpointInfo& end : node->participant()->endpoints_of(topic)) {
      if (end.is_writer) alive[end.gid] = process_of(end);
    }
    for (const transport::EndpointInfo& end : reader->gone_publishers()) gone[end.gid] = process_of(end);
    arrivals.set_writers(alive, gone);
  }
  /// Whether a publisher that Baton knows sends no handles.
  bool some_send_no_handles() const {
    std::map<Process, std::pair<std::size_t, std::size_t>> processes;  // publishers, and those in mode tzc
    for (const transport::EndpointInfo& end : node->participant()->endpoints_of(topic)) {
      if (end.is_writer) ++processes[process_of(end)].first;
    }
    for (const transport::EndpointInfo& end : node->participant()->endpoints_of(side_publisher(topic))) {
      if (!end.is_writer) ++processes[process_of(end)].second;
    }
    return std::any_of(processes.begin(), processes.end(),
                       [](const auto& each) { return each.second.first > each.second.second; });
  }

  /// In the callback queue's thread, or in the subscription's own.
  void take_waiting() {
    struct Finally {
      ~Finally() { state.end_turn(); }  // also if the callback throws, as roscpp allows
      State& state;
    } const finally{*this};
    if (mode == Mode::kTzc) {
      const Turns lock = enter();
      if (!lock) return;
      look_for_writers();
      deliver_arrived();
      if (has_ended() || !pulls) return;
    }
    take_unread();
  }
  /// What waits now, as ros::spinOnce() runs what waits; and not what comes meanwhile, which could be without end.
  void take_unread() {
    {
      const Turns lock = enter();
      if (!lock || !release_held_back()) return;
    }
    for (std::size_t left = reader->unread(); left > 0; --left) {
      const Turns lock = enter();
      if (!lock || !take_one()) return;
    }
  }
  /// With `one_at_a_time`. False: there is no message, or the subscription has ended.
  bool take_one() {
    Result<transport::TakenSample> taken = reader->take();
    if (!taken) {
      ROS_ERROR_THROTTLE(1.0, "baton: no message on %s: %s", topic.c_str(), taken.error().message.c_str());
      return false;
    }
    if (!*taken) return false;
    BATON_CRASH_POINT("ros1.api.taken");
    note(taken->publisher());
    if (mode == Mode::kLotros) return deliver(std::move(*taken));
    look_for_writers();
    for (transport::TakenSample& each : arrivals.without_handle(std::move(*taken))) {
      if (!deliver(std::move(each))) return false;
    }
    return true;
  }
  /// With `one_at_a_time`: now, or after the message by TCPROS that it follows. False: the subscription has ended.
  bool deliver(transport::TakenSample&& sample) { return hold_back(sample) || call_back(std::move(sample)); }
  /// With `one_at_a_time`. True: `sample` was taken over, and is delivered later.
  bool hold_back(transport::TakenSample& sample) {
    if (!held_back.hold(sample, std::chrono::steady_clock::now())) return false;
    plan_look();
    return true;
  }
  bool call_back(transport::TakenSample&& sample) {
    callbacks.take(std::move(sample));
    return !has_ended();  // the callback may have ended its own subscription
  }
  /// With `one_at_a_time`. False: the subscription has ended.
  bool release_held_back() {
    const bool goes_on = held_back.release(std::chrono::steady_clock::now(), [this](transport::TakenSample&& sample) {
      return call_back(std::move(sample));
    });
    if (goes_on) plan_look();
    return goes_on;
  }
  /// With `one_at_a_time`: this message was delivered. What waited for it follows.
  void came_by_bytes(const Trailer& trailer) {
    held_back.came(trailer, std::chrono::steady_clock::now());
    release_held_back();
  }
  /// The turn of this thread to call back; without the lock if the subscription has ended. Its destructor may run in a
  /// callback, that is with the lock, and waits for the threads that roscpp has called here.
  using Turns = std::unique_lock<std::recursive_timed_mutex>;
  Turns enter() {
    Turns lock(one_at_a_time, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
      if (has_ended()) return lock;
    }
    // A thread may have taken a callback out of the queue before end(), and begin it now.
    if (has_ended()) lock.unlock();
    return lock;
  }
  /// Calls nothing back afterwards, and waits for a callback in another thread. Only the first call does it.
  void end() {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (ended) return;
      ended = true;
      changed.notify_one();
    }
    waits.wake();
    if (puller.get_id() == std::this_thread::get_id()) {
      puller.detach();  // a callback in the own thread ended its own subscription; the thread ends after the callback
    } else {
      puller.join();
    }
    queue->removeByID(id());
    // removeByID() of Debian's roscpp 1.15.15 does not wait for a callback that runs; roscpp's own subscriptions wait by a lock, too.
    const std::lock_guard<std::recursive_timed_mutex> waits_for_it(one_at_a_time);
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
    bool added = false;
    bool some_are_left = false;  // perhaps of publishers that sent no handles and are gone
    std::unique_lock<std::mutex> lock(mutex);
    while (!ended) {
      lock.unlock();
      const bool looks = mode == Mode::kTzc && graph_changed.exchange(false);  // a turn finds out what has come or gone
      if (mode == Mode::kLotros) {
        pulls = true;
      } else if (looks || some_are_left) {
        const bool needed = some_send_no_handles();
        some_are_left = !needed && pulls && reader->has_data();
        pulls = needed || some_are_left;
      }
      Result<void> joined;
      if (pulls && !added) joined = waits.add(reader);
      if (!pulls && added) waits.remove(reader);
      added = pulls;
      // A late message has nobody to wait for it while the reader is not pulled, nor has what a dead publisher left.
      const std::chrono::nanoseconds patience(looks ? 0 : look_again_ns.load());
      const Result<bool> ready = joined ? waits.wait(patience) : joined.error();
      lock.lock();
      if (!ready) {
        ROS_ERROR("baton: %s gets no messages any more: %s", topic.c_str(), ready.error().message.c_str());
        return;
      }
      if (ended || (!looks && look_again_ns == kInfinite.count() && !(pulls && reader->has_data()))) continue;
      turn_given = true;
      lock.unlock();
      BATON_CRASH_POINT("ros1.api.turn");
      if (own_thread) {
        if (!ros::ok()) return;  // after ros::shutdown() there are no callbacks, as roscpp's queues have none
        take_waiting();
        lock.lock();
        continue;
      }
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
      reached.emplace(publisher, Process());
      std::map<Gid, Process> alive;
      for (const transport::EndpointInfo& end : node->participant()->endpoints_of(topic)) {
        if (end.is_writer && reached.count(end.gid) != 0) alive[end.gid] = process_of(end);
      }
      alive.emplace(publisher, Process());
      reached = std::move(alive);
    }
  }
  std::shared_ptr<transport::Reader> mark() {
    static const message::Type nothing{"baton_ros1/Stock", 0, 1, nullptr, 0, true, {}, ""};
    return node->make_reader(stock_beside(topic), nothing, QoS(1));
  }
  /// Whether messages of this process come over Baton, so that its serialized ones are older than those, or doubles.
  bool has(const RoscppPeer& peer) {
    if (mode == Mode::kTzc) {
      const Turns lock = enter();
      if (!lock || arrivals.has(peer)) return true;
    }
    if (reader->statuses().refused_now > 0) return false;
    const std::lock_guard<std::mutex> lock(mutex);
    return std::any_of(reached.begin(), reached.end(), [&](const auto& each) { return peer.is(each.second); });
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

  static constexpr std::chrono::milliseconds kLate{1}, kLeft{100};

  const std::string topic;
  const Mode mode;
  const bool own_thread;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Reader> reader;
  const Callbacks callbacks;
  ros::CallbackQueueInterface* queue = nullptr;
  transport::WaitSet waits;
  std::thread puller;
  std::recursive_timed_mutex one_at_a_time;  // recursive: a callback may spin. See enter()
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool turn_given = false;  // a Turn is in the callback queue, or runs
  std::uint64_t seen = 0;
  std::map<Gid, Process> reached;  // publishers of which a message of Baton came
  PublisherPeers peers;
  std::shared_ptr<transport::Reader> stock_mark;
  ros::Subscriber subscriber;
  boost::weak_ptr<Helper> helper;  // of the subscriber

  // With `one_at_a_time`.
  HeldBack<transport::TakenSample> held_back;

  // In mode tzc.
  HandleResolver arrivals;  // with `one_at_a_time`
  std::uint64_t writers_seen = UINT64_MAX;
  std::atomic<std::uint64_t> malformed{0};
  // Flags without data behind them: each is looked at again after the wake-up that follows its change.
  std::atomic<bool> graph_changed{true}, pulls{false};
  std::atomic<std::int64_t> look_again_ns{kInfinite.count()};
  ros::Subscriber side;
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
  State::count_own(topic, 1);
  state.puller = std::thread([alive = state_] { alive->pull(); });
}

SubscriberSide::~SubscriberSide() {
  State& state = *state_;
  state.end();
  state.reader->on_event({});
  state.side.shutdown();
  State::count_own(state.topic, static_cast<std::size_t>(-1));
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
  const std::lock_guard<std::recursive_timed_mutex> lock(state.one_at_a_time);
  HandleCounters out = state.arrivals.counters;
  out.refused += state.malformed.load(std::memory_order_relaxed);  // a statistic: orders nothing
  return out;
}

}  // namespace baton::ros1::detail
