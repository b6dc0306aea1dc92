// SPDX-License-Identifier: Apache-2.0
// The wiring of a publisher's two ends: locks, Baton's writer, roscpp's callbacks and links. publisher_links.hpp decides which process gets a
// message by which way.
// Lock order: State::order, which keeps the order of messages on all ways, before State::mutex. No link is written with `mutex`: roscpp may
// drop a link then, which calls disconnected().
#include <ros/advertise_options.h>
#include <ros/connection.h>
#include <ros/publisher.h>
#include <ros/transport_subscriber_link.h>

#include <boost/make_shared.hpp>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "baton/memory/pool.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/lock.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"
#include "graph_names.hpp"
#include "handle.hpp"
#include "private_members.hpp"
#include "publisher_links.hpp"
#include "serialized.hpp"
#include "status_callback.hpp"

namespace baton::ros1::detail {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs callbacks at once, in roscpp's thread: a publisher must know its subscribers even if its program never spins.
class AtOnce final : public ros::CallbackQueueInterface {
 public:
  void addCallback(const ros::CallbackInterfacePtr& callback, std::uint64_t) override { callback->call(); }
  void removeByID(std::uint64_t) override {}
};

AtOnce& at_once() {
  static AtOnce queue;
  return queue;
}

/// Subscribed with any type, as rosbag and rostopic do.
bool is_onlooker(const ros::SubscriberLinkPtr& link) {
  const auto over_tcp = boost::dynamic_pointer_cast<ros::TransportSubscriberLink>(link);
  if (!over_tcp) return false;
  const ros::M_stringPtr header = over_tcp->getConnection()->getHeader().getValues();
  const auto found = header->find("md5sum");
  return found != header->end() && found->second == "*";
}

ros::SubscriberLinkPtr link_of(const ros::SingleSubscriberPublisher& subscriber) {
  return subscriber.*member_of(LinkOfPublisher());
}

void write(const PublisherLinks::Writes& writes) {
  for (const auto& [link, message] : writes) link->enqueueMessage(message, true, true);
}

void write(const std::vector<ros::SubscriberLinkPtr>& links, const ros::SerializedMessage& message) {
  for (const ros::SubscriberLinkPtr& each : links) each->enqueueMessage(message, true, true);
}

}  // namespace

struct PublisherSide::State {
  /// How long a message that Baton cannot carry waits for links, and how many times as long later messages do not wait.
  static constexpr std::chrono::milliseconds kLongestWait{1000};
  static constexpr int kPartOfWaits = 10;

  State(std::string topic_name, const StockType& stock, const message::Type& type,
        std::shared_ptr<baton::Node> own_node, std::shared_ptr<transport::Writer> own_writer, std::uint32_t queue_size,
        bool latched, Mode own_mode, bool numbers_messages)
      : topic(std::move(topic_name)),
        mode(own_mode),
        latch(latched),
        serializer(type),
        numbers(numbers_messages && serializer.has_header()),
        md5(md5_of(stock.md5sum)),
        node(std::move(own_node)),
        writer(std::move(own_writer)),
        links(own_mode, latched, depth_of(queue_size)) {}

  // --- roscpp's callbacks ---
  void connected(const ros::SingleSubscriberPublisher& subscriber, bool on_side) {
    const ros::SubscriberLinkPtr link = link_of(subscriber);
    SubscriberLink added{link, RoscppPeer::of(link, subscriber.getSubscriberName())};
    using Topic = PublisherLinks::Topic;
    const Topic kind = !on_side ? Topic::kOrdinary : is_onlooker(link) ? Topic::kOnlooker : Topic::kSide;
    const os::Lock ordered(order);
    {
      const os::Lock lock(mutex);
      look();
      if (!links.add(kind, added)) return;
    }
    if (on_side) send_early();
    send_last(added);
  }
  void disconnected(const ros::SingleSubscriberPublisher& subscriber) {
    const os::Lock lock(mutex);
    links.remove(link_of(subscriber));
  }
  void subscribers_changed() {
    boost::shared_ptr<StatusCallback> watch;
    {
      const os::Lock lock(mutex);
      watch = status;
    }
    if (watch) watch->look();
  }

  // --- the latched message, and handles that waited ---
  /// Gives the latched message to subscriptions of Baton that came after it. roscpp makes no link for a second subscription of a
  /// process, so nothing else would bring it there. A process without a link gets it from connected().
  void hand_last_to_new_readers() {
    const os::Lock ordered(order);
    const os::Lock lock(mutex);
    if (!links.has_latched()) return;
    look();
    for (const SubscriberLink& each : links.links()) hand_last(each);
  }
  void hand_last(const SubscriberLink& to) BATON_REQUIRES(mutex) {
    links.hand_latched(to, [this](const transport::Gid& reader) { return writer->hand_newest_to(reader); });
  }
  void send_early() BATON_REQUIRES(order) {
    PublisherLinks::Writes wanted;
    {
      const os::Lock lock(mutex);
      wanted = links.take_early();
    }
    write(wanted);
  }
  void send_last(const SubscriberLink& added) BATON_REQUIRES(order) {
    PublisherLinks::Writes wanted;
    {
      const os::Lock lock(mutex);
      if (!links.has_latched()) return;
      hand_last(added);
      wanted = links.latched_for(added);
    }
    BATON_CRASH_POINT("ros1.api.linked");
    write(wanted);
  }

  // --- waiting ---
  /// Waits for Baton to serve a process that has just connected, if Baton will: a subscription takes no message by TCP any
  /// more once one of Baton's has come. Not for long: a process that is stopped is never met. Once for each link: one such process of the
  /// domain, or a reader that never connects, must not delay every message to this one.
  void wait_until_met(const ros::SubscriberLinkPtr& link) {
    const auto late = Clock::now() + std::chrono::milliseconds(200);
    while (Clock::now() < late) {
      const std::uint64_t version = node->participant()->graph_version();
      {
        const os::Lock lock(mutex);
        look();
        const SubscriberLink* const found = links.find(link);
        if (found == nullptr || found->was_awaited) return;
        const ProcessSubscriptions* const subscriptions = links.of(*found);
        if (subscriptions == nullptr || subscriptions->readers.empty()) {
          if (node->participant()->unmet_count() == 0) return;
        } else if (links.all_among(*found, writer->matched_readers()) || writer->statuses().refused_now > 0) {
          return;
        }
      }
      static_cast<void>(node->participant()->wait_graph_change(version, std::chrono::milliseconds(10)));
    }
    const os::Lock lock(mutex);
    if (SubscriberLink* const found = links.find(link)) found->was_awaited = true;
  }
  /// Waits for the links of the processes that Baton serves: Baton meets a process sooner than roscpp does. Once for each process, since nodes
  /// of Baton alone never have a link. Others can make such nodes without end, so the waits take a bounded part of the time.
  void wait_for_links() {
    const auto begin = Clock::now();
    {
      const os::Lock lock(mutex);
      if (begin < next_wait) return;
    }
    for (;;) {
      const auto now = Clock::now();
      {
        const os::Lock lock(mutex);
        look();
        const bool gives_up = now >= begin + kLongestWait;
        if (!links.misses_links(writer->matched_readers(), gives_up) || gives_up) {
          next_wait = now + kPartOfWaits * (now - begin);
          return;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// Brings what the links know of Baton's graph up to date.
  void look() BATON_REQUIRES(mutex) {
    const std::uint64_t now = node->participant()->graph_version();
    if (now == seen) return;
    seen = now;
    PublisherLinks::Processes processes;
    const auto for_each_reader = [&](const std::string& of, const auto& function) {
      for (const transport::EndpointInfo& end : node->participant()->endpoints_of(of)) {
        if (!end.is_writer) function(processes[process_of(end)], end.gid);
      }
    };
    using Found = ProcessSubscriptions;
    for_each_reader(topic, [](Found& found, const transport::Gid& reader) { found.readers.push_back(reader); });
    for_each_reader(side_topic(topic), [](Found& found, const transport::Gid&) { ++found.by_handle; });
    for_each_reader(stock_beside(topic), [](Found& found, const transport::Gid&) { found.stock = true; });
    links.set_processes(std::move(processes));
  }

  /// Header is {seq, stamp, frame_id}.
  void number(void* message) const BATON_REQUIRES(order) {
    if (numbers) std::memcpy(message, &next_number, sizeof next_number);
  }
  ros::SerializedMessage trailed(const ros::SerializedMessage& message) const BATON_REQUIRES(order) {
    return with_trailer(message, {writer->gid(), by_bytes});
  }
  /// The message by TCPROS that the next one of Baton follows; 0: none. For `hand_over`, which publish() calls with `order`.
  std::uint64_t followed() const BATON_UNCHECKED_LOCKS { return next_follows_bytes ? by_bytes : 0; }

  const std::string topic;
  const Mode mode;
  const bool latch;
  const StockSerializer serializer;
  const bool numbers;  // the `seq` of headers
  const Md5 md5;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Writer> writer;
  os::Mutex order;
  os::Mutex mutex;
  std::uint32_t next_number BATON_GUARDED_BY(order) = 0;
  std::uint64_t by_bytes BATON_GUARDED_BY(order) = 0;       // messages of publish_bytes()
  bool next_follows_bytes BATON_GUARDED_BY(order) = false;  // the newest message is one of them
  PublisherLinks links BATON_GUARDED_BY(mutex);
  std::uint64_t seen BATON_GUARDED_BY(mutex) = UINT64_MAX;
  Clock::time_point next_wait BATON_GUARDED_BY(mutex);               // of wait_for_links()
  boost::shared_ptr<StatusCallback> status BATON_GUARDED_BY(mutex);  // if the program watches its subscribers
  ros::Publisher publisher, side;                                    // set by the constructor
};

std::shared_ptr<baton::detail::PublisherCore> make_publisher_for_ros(baton::Node& node, const std::string& topic,
                                                                     const message::Type& type, const QoS& qos) {
  PublisherOptions memory;
  memory.max_message_bytes = std::size_t{1} << 30;
  memory.memory_limit_bytes = std::size_t{4} << 30;
  memory.policy = memory::Policy::kNone;  // a message that waits is not given up for one that can go by TCPROS
  try {
    return node.make_publisher(topic, type, qos, memory);
  } catch (const Exception& error) {
    if (error.code() != Errc::window_exhausted) throw;
    memory.max_message_bytes = 0;
    return node.make_publisher(topic, type, qos, memory);
  }
}

PublisherSide::PublisherSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, bool latch,
                             Mode mode, const StockType& stock, const message::Type& type,
                             std::shared_ptr<baton::Node> node, std::shared_ptr<transport::Writer> writer, bool numbers)
    : state_(std::make_shared<State>(topic, stock, type, std::move(node), std::move(writer), queue_size, latch, mode,
                                     numbers)),
      queue_(handle.getCallbackQueue()) {
  const std::weak_ptr<State> weak = state_;
  const auto advertise = [&](ros::AdvertiseOptions options, bool side) {
    options.connect_cb = [weak, side](const ros::SingleSubscriberPublisher& subscriber) {
      const auto state = weak.lock();
      if (!state) return;
      state->connected(subscriber, side);
      state->subscribers_changed();
    };
    options.disconnect_cb = [weak](const ros::SingleSubscriberPublisher& subscriber) {
      const auto state = weak.lock();
      if (!state) return;
      state->disconnected(subscriber);
      state->subscribers_changed();
    };
    options.latch = latch;                          // for the connection's header; the latched message is ours to send
    options.has_header = !side && state_->numbers;  // for stock publishers of the topic in this process
    options.callback_queue = &at_once();
    return handle.advertise(options);
  };
  if (mode == Mode::kTzc)
    state_->side = advertise({side_topic(topic), queue_size, kHandleMd5, kHandleType, kHandleDefinition}, true);
  state_->publisher = advertise({topic, queue_size, stock.md5sum, stock.datatype, stock.definition}, false);
  state_->writer->on_event([weak](transport::Event event) {
    const auto state = weak.lock();
    if (!state || event != transport::Event::kMatched) return;
    if (state->latch) state->hand_last_to_new_readers();
    state->subscribers_changed();
  });
}

PublisherSide::~PublisherSide() {
  state_->writer->on_event({});
  state_->publisher.shutdown();
  state_->side.shutdown();
  if (state_->status) state_->status->end();
}

void PublisherSide::watch_subscribers(std::function<void()> changed) {
  const auto count = [this] {  // until the destructor's end()
    const Subscribers all = subscribers();
    return all.own + all.handles + all.serialized;
  };
  {
    const os::Lock lock(state_->mutex);
    state_->status = boost::make_shared<StatusCallback>(*queue_, count, std::move(changed));
  }
  state_->subscribers_changed();  // of those that came before
}

void PublisherSide::publish(void* message, std::size_t capacity_bytes,
                            const std::function<std::uint64_t()>& hand_over) {
  State& state = *state_;
  const os::Lock ordered(state.order);
  state.number(message);
  PublisherLinks::Ways ways;
  std::vector<std::uint8_t> header;
  ros::SerializedMessage encoded;
  {
    const os::Lock lock(state.mutex);
    state.look();
    std::vector<transport::Gid> matched;
    if (!state.links.empty()) matched = state.writer->matched_readers();
    if (state.latch || !state.links.serves_all(matched)) {
      encoded = state.serializer.encode({message, capacity_bytes});
    } else {
      ways = state.links.ways(matched);
    }
    if (state.mode == Mode::kTzc && (state.latch || !state.links.empty() || state.links.has_side_links()))
      header = state.serializer.header_of({message, capacity_bytes});
  }
  BATON_CRASH_POINT("ros1.api.serialized");
  const std::uint64_t number = hand_over();
  BATON_CRASH_POINT("ros1.api.published");
  ++state.next_number;
  state.next_follows_bytes = false;
  if (state.mode == Mode::kTzc) state.send_early();
  ros::SerializedMessage there, here;
  {
    const os::Lock lock(state.mutex);
    std::vector<transport::Gid> served;
    if (encoded.buf) {
      // Readers may have come meanwhile, before or after the message was handed over; links have not, `order` keeps them out.
      state.look();
      if (state.latch) {
        for (const transport::Gid& reader : state.writer->matched_readers()) state.writer->hand_newest_to(reader);
      }
      served = state.writer->readers_of(number);
      ways = state.links.ways(served);
    }
    TopicHandle handle{state.md5, state.writer->gid(), number, TopicHandle::Place::kSharedMemory, {}};
    if (!ways.there.empty() || !ways.early_there.empty()) there = encode(header, handle);
    if ((state.latch && state.side) || !ways.here.empty() || !ways.early_here.empty()) {
      handle.place = TopicHandle::Place::kHere;
      handle.content = {encoded.message_start, encoded.num_bytes - 4};
      here = encode(header, handle);
    }
    if (state.latch) {
      std::vector<ros::SubscriberLinkPtr> given = ways.bytes;
      given.insert(given.end(), ways.here.begin(), ways.here.end());
      state.links.set_latched({encoded, {}, here, std::move(served), false}, given);
    }
    state.links.keep_early(ways, there, here);
  }
  write(ways.there, there);
  write(ways.here, here);
  BATON_CRASH_POINT("ros1.api.handles_given");
  if (!encoded.buf) return;
  write(ways.bytes, encoded);
  BATON_CRASH_POINT("ros1.api.bytes_given");
}

void PublisherSide::publish_to(const ros::SingleSubscriberPublisher& subscriber, const ros::SerializedMessage& message,
                               const std::function<std::uint64_t(const Gid&)>& hand_over) {
  State& state = *state_;
  const ros::SubscriberLinkPtr link = link_of(subscriber);
  state.wait_until_met(link);
  const os::Lock ordered(state.order);
  PublisherLinks::OneWay way;
  {
    const os::Lock lock(state.mutex);
    state.look();
    const SubscriberLink* const found = state.links.find(link);
    if (found == nullptr) return;                            // it has gone
    if (state.links.has_latched()) state.hand_last(*found);  // before this one
    way = state.links.one_way(*found, state.writer->matched_readers());
  }
  std::uint64_t number = 0;
  for (const transport::Gid& reader : way.readers) number = hand_over(reader);
  PublisherLinks::Writes handles;
  {
    const os::Lock lock(state.mutex);
    const SubscriberLink* const found = state.links.find(link);
    if (number != 0 && found != nullptr && state.links.gets_handles(*found)) {
      // The bytes, which each of its subscriptions takes once. `number` is of the message in Baton, which one of them has.
      const auto length = static_cast<std::size_t>(message.message_start - message.buf.get());
      const message::Bytes wire(message.message_start, message.num_bytes - length);
      const auto header = state.serializer.has_header() ? first_header(wire) : std::vector<std::uint8_t>();
      handles = state.links.handles_of_own(
          *found, encode(header, {state.md5, state.writer->gid(), number, TopicHandle::Place::kHere, wire}));
    }
  }
  write(handles);
  if (way.bytes) write({link}, way.trailed ? state.trailed(message) : message);
}

bool PublisherSide::mark(transport::PublishInfo& info) const {
  const std::uint64_t followed = state_->followed();
  if (followed != 0) put_follows(info, followed);
  return followed != 0;
}

void PublisherSide::publish_bytes(const ros::SerializedMessage& message) {
  State& state = *state_;
  state.wait_for_links();
  const os::Lock ordered(state.order);
  state.number(message.message_start);
  ++state.next_number;
  ++state.by_bytes;
  state.next_follows_bytes = true;
  PublisherLinks::Writes wanted;
  {
    const os::Lock lock(state.mutex);
    state.look();
    ros::SerializedMessage trailed;
    if (state.latch || state.links.some_have_own()) trailed = state.trailed(message);
    wanted = state.links.by_bytes(message, trailed);
    if (state.latch) {
      std::vector<ros::SubscriberLinkPtr> given;
      for (const auto& [link, bytes] : wanted) given.push_back(link);
      state.links.set_latched({message, trailed, {}, {}, true}, given);
    }
  }
  write(wanted);
}

PublisherSide::Subscribers PublisherSide::subscribers() const {
  State& state = *state_;
  const os::Lock lock(state.mutex);
  const std::vector<transport::Gid> matched = state.writer->matched_readers();
  state.look();  // after that: it knows which of them are in mode tzc
  return state.links.count(matched);
}

}  // namespace baton::ros1::detail
