// SPDX-License-Identifier: Apache-2.0
#include <ros/advertise_options.h>
#include <ros/connection.h>
#include <ros/publisher.h>
#include <ros/transport_subscriber_link.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <chrono>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "baton/memory/pool.hpp"
#include "baton/message/ros1_codec.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"
#include "by_bytes.hpp"
#include "graph_names.hpp"
#include "handle.hpp"
#include "peer.hpp"
#include "private_members.hpp"
#include "status_callback.hpp"

namespace baton::ros1::detail {
namespace {

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

bool begins_with_header(const message::Type& type) {
  return type.field_count > 0 && type.fields[0].kind == message::Kind::kMessage &&
         type.fields[0].shape == message::Shape::kSingle && type.fields[0].offset == 0 &&
         std::string_view(type.fields[0].type->name) == "std_msgs/Header";
}

struct SubscriberLink {
  explicit SubscriberLink(const ros::SingleSubscriberPublisher& subscriber)
      : link(subscriber.*member_of(LinkOfPublisher())), peer(RoscppPeer::of(link, subscriber.getSubscriberName())) {}

  ros::SubscriberLinkPtr link;
  PeerPtr peer;
  std::optional<Process> process;  // which it is in Baton's graph, if it is there
  bool got_last = false;           // the latched message was written to it
  bool was_awaited = false;        // Baton had its time to meet the process, and has not
};

/// What Baton's graph knows of a process's subscriptions of the topic.
struct Subscriptions {
  std::vector<Gid> readers;
  std::size_t by_handle = 0;  // of them, in mode tzc
  bool stock = false;         // its process has stock ones, too
};

/// What is known of a link of roscpp; null: it is none of these.
template <class Links>
auto known(Links& among, const ros::SubscriberLinkPtr& link) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const SubscriberLink& each) { return each.link == link; });
  return found == among.end() ? nullptr : &*found;
}

/// The process's link; null: it has none of these.
template <class Links>
auto link_of(Links& among, const Process& process) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const SubscriberLink& each) { return each.process == process; });
  return found == among.end() ? nullptr : &*found;
}

void remove(std::vector<SubscriberLink>& links, const ros::SubscriberLinkPtr& gone) {
  links.erase(std::remove_if(links.begin(), links.end(), [&](const SubscriberLink& each) { return each.link == gone; }),
              links.end());
}

/// Subscribed with any type, as rosbag and rostopic do.
bool is_onlooker(const ros::SubscriberLinkPtr& link) {
  const auto over_tcp = boost::dynamic_pointer_cast<ros::TransportSubscriberLink>(link);
  if (!over_tcp) return false;
  const ros::M_stringPtr header = over_tcp->getConnection()->getHeader().getValues();
  const auto found = header->find("md5sum");
  return found != header->end() && found->second == "*";
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
        most_early(depth_of(queue_size)),
        latch(latched),
        codec(message::Ros1Codec::compile(type).or_throw()),
        md5(md5_of(stock.md5sum)),
        node(std::move(own_node)),
        writer(std::move(own_writer)) {
    if (!begins_with_header(type)) return;
    header.emplace(message::Ros1Codec::compile(*type.fields[0].type).or_throw());
    numbers = numbers_messages;
  }

  void connected(const ros::SingleSubscriberPublisher& subscriber) {
    SubscriberLink added(subscriber);
    const std::lock_guard<std::mutex> lock_order(order);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      look();
      identify(added);
      if (known(links, added.link) != nullptr) return;  // roscpp may report a link twice while a publisher is added
      links.push_back(added);
    }
    send_last(added);
  }
  void disconnected(const ros::SingleSubscriberPublisher& subscriber) {
    const std::lock_guard<std::mutex> lock(mutex);
    remove(links, subscriber.*member_of(LinkOfPublisher()));
    drop_early([this](const Process& process) { return link_of(links, process) == nullptr; });
  }
  void side_connected(const ros::SingleSubscriberPublisher& subscriber) {
    SubscriberLink added(subscriber);
    const std::lock_guard<std::mutex> lock_order(order);
    {
      const std::lock_guard<std::mutex> lock(mutex);
      look();
      identify(added);
      std::vector<SubscriberLink>& own = is_onlooker(added.link) ? onlookers : sides;
      if (known(own, added.link) != nullptr) return;
      own.push_back(added);
    }
    send_early();
    send_last(added);
  }
  void side_disconnected(const ros::SingleSubscriberPublisher& subscriber) {
    const ros::SubscriberLinkPtr gone = subscriber.*member_of(LinkOfPublisher());
    const std::lock_guard<std::mutex> lock(mutex);
    remove(sides, gone);
    remove(onlookers, gone);
  }

  /// Gives the latched message to subscriptions of Baton that came after it. roscpp makes no link for a second subscription of a
  /// process, so nothing else would bring it there. A process without a link gets it from connected().
  void hand_last_to_new_readers() {
    const std::lock_guard<std::mutex> lock_order(order);
    const std::lock_guard<std::mutex> lock(mutex);
    if (!last.buf) return;
    look();
    for (const SubscriberLink& each : links) hand_last(each);
  }
  /// Gives the latched message to the process's subscriptions of Baton, if all are in mode lotros and none is roscpp's own. What went over
  /// the link stays with the process's roscpp, for later subscriptions, too.
  void hand_last(const SubscriberLink& link) {  // with `mutex`
    const Subscriptions* const found = of(link);
    if (found == nullptr || found->stock || found->by_handle > 0 || link.got_last || last_by_bytes) return;
    for (const Gid& reader : found->readers) {
      const bool handed = std::find(last_handed.begin(), last_handed.end(), reader) != last_handed.end();
      if (!handed && writer->hand_newest_to(reader)) last_handed.push_back(reader);
    }
  }

  void subscribers_changed() {
    boost::shared_ptr<StatusCallback> watch;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      watch = status;
    }
    if (watch) watch->look();
  }

  /// Gives the processes that have a link of the side topic now the handles that were published before it came.
  void send_early() {  // with `order`
    std::vector<std::pair<ros::SubscriberLinkPtr, std::deque<ros::SerializedMessage>>> wanted;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      for (auto each = early.begin(); each != early.end();) {
        SubscriberLink* const side = link_of(sides, each->first);
        if (side != nullptr) {
          side->got_last = latch && std::any_of(each->second.begin(), each->second.end(),
                                                [this](const auto& kept) { return kept.buf == last_handle.buf; });
          wanted.emplace_back(side->link, std::move(each->second));
        }
        each = side != nullptr ? early.erase(each) : std::next(each);
      }
    }
    for (const auto& [link, handles] : wanted) {
      for (const ros::SerializedMessage& each : handles) link->enqueueMessage(each, true, true);
    }
  }
  void keep_early(const Process& process, const ros::SerializedMessage& handle) {  // with `mutex`
    const SubscriberLink* const link = link_of(links, process);
    if (link == nullptr || !gets_handles(*link)) return;  // it has gone since the ways were chosen
    std::deque<ros::SerializedMessage>& kept = early[process];
    kept.push_back(handle);
    if (kept.size() > most_early) kept.pop_front();  // as roscpp's queues do
  }
  template <class Which>
  void drop_early(const Which& which) {  // with `mutex`
    for (auto each = early.begin(); each != early.end();) {
      each = which(each->first) ? early.erase(each) : std::next(each);
    }
  }

  /// Gives the latched message to a process that has connected, once and by the way that it gets messages.
  void send_last(const SubscriberLink& added) {  // with `order`
    std::vector<std::pair<ros::SubscriberLinkPtr, ros::SerializedMessage>> wanted;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!last.buf) return;
      hand_last(added);
      const auto is_of_added = [&](const SubscriberLink& each) {
        return each.link == added.link || (added.process && each.process == added.process);
      };
      const bool handles = gets_handles(added);
      // A process whose mode was not known yet has it by the other way.
      const bool elsewhere =
          handles_alone(added) && std::any_of(links.begin(), links.end(), [&](const SubscriberLink& each) {
            return is_of_added(each) && each.got_last;
          });
      for (SubscriberLink& each : sides) {
        if (!is_of_added(each) || each.got_last || !handles || elsewhere || last_by_bytes) continue;
        each.got_last = true;
        wanted.emplace_back(each.link, last_handle);
      }
      for (SubscriberLink& each : links) {
        if (!is_of_added(each) || each.got_last || got_last(each) || (handles_alone(each) && !last_by_bytes)) continue;
        each.got_last = true;
        wanted.emplace_back(each.link, last_by_bytes && has_own(each) ? last_with_trailer : last);
      }
    }
    BATON_CRASH_POINT("ros1.api.linked");
    for (const auto& each : wanted) each.first->enqueueMessage(each.second, true, true);
  }

  /// What publish_to() has for a process that wants handles: the bytes, which each of its subscriptions takes once. `number`: of the message in
  /// Baton, which one of them has. A latched message that the process has not got yet goes before it, since no handle of a lower number is heard
  /// afterwards. To be written to the link that it returns; null: it waits for that link.
  std::pair<ros::SubscriberLinkPtr, std::vector<ros::SerializedMessage>> handles_of_own(
      const SubscriberLink& to, const ros::SerializedMessage& message, std::uint64_t number) {  // with `mutex`
    const auto length =
        static_cast<std::size_t>(message.message_start - message.buf.get());  // TCPROS's, before the message
    const std::size_t size = message.num_bytes - length;
    const message::Bytes wire(message.message_start, size);
    std::vector<ros::SerializedMessage> out;
    SubscriberLink* const there = link_of(sides, *to.process);
    const bool has_last = to.got_last || (there != nullptr ? there->got_last : early.count(*to.process) != 0);
    if (last_handle.buf && !has_last) out.push_back(last_handle);
    out.push_back(detail::encode(header ? first_header(wire) : std::vector<std::uint8_t>(),
                                 {md5, writer->gid(), number, TopicHandle::Place::kHere, wire}));
    if (there != nullptr) {
      there->got_last = there->got_last || last_handle.buf;
      return {there->link, std::move(out)};
    }
    for (const ros::SerializedMessage& each : out) keep_early(*to.process, each);
    return {};
  }

  /// Waits for Baton to serve a process that has just connected, if Baton will: a subscription takes no message by TCP any
  /// more once one of Baton's has come. Not for long: a process that is stopped is never met. Once for each link: one such process of the
  /// domain, or a reader that never connects, must not delay every message to this one.
  void wait_until_met(const ros::SubscriberLinkPtr& link) {
    const auto late = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (std::chrono::steady_clock::now() < late) {
      const std::uint64_t version = node->participant()->graph_version();
      {
        const std::lock_guard<std::mutex> lock(mutex);
        look();
        const SubscriberLink* const found = known(links, link);
        if (found == nullptr || found->was_awaited) return;
        const Subscriptions* const subscriptions = of(*found);
        if (subscriptions == nullptr || subscriptions->readers.empty()) {
          if (node->participant()->unmet_count() == 0) return;
        } else if (all_among(*found, writer->matched_readers()) || writer->statuses().refused_now > 0) {
          return;
        }
      }
      static_cast<void>(node->participant()->wait_graph_change(version, std::chrono::milliseconds(10)));
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (SubscriberLink* const found = known(links, link)) found->was_awaited = true;
  }

  /// Waits for the links of the processes that Baton serves: Baton meets a process sooner than roscpp does. Once for each process, since nodes
  /// of Baton alone never have a link. Others can make such nodes without end, so the waits take a bounded part of the time.
  void wait_for_links() {
    const auto begin = std::chrono::steady_clock::now();
    const auto late = begin + kLongestWait;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      if (begin < next_wait) return;
    }
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      const bool gives_up = now >= late;
      bool misses = false;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        look();
        const std::vector<Gid> matched = writer->matched_readers();
        for (const auto& [process, subscriptions] : processes) {
          const bool served = std::any_of(
              subscriptions.readers.begin(), subscriptions.readers.end(),
              [&](const Gid& each) { return std::find(matched.begin(), matched.end(), each) != matched.end(); });
          if (!served || link_of(links, process) != nullptr || without_link.count(process) != 0) continue;
          misses = true;
          if (gives_up) without_link.insert(process);
        }
        if (!misses || gives_up) next_wait = now + kPartOfWaits * (now - begin);
      }
      if (!misses || gives_up) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// Brings `processes`, and what the links have of it, up to date.
  void look() {
    const std::uint64_t now = node->participant()->graph_version();
    if (now == seen) return;
    seen = now;
    processes.clear();
    const auto for_each_reader = [this](const std::string& of, const auto& function) {
      for (const transport::EndpointInfo& end : node->participant()->endpoints_of(of)) {
        if (!end.is_writer) function(processes[process_of(end)], end.gid);
      }
    };
    for_each_reader(topic, [](Subscriptions& found, const Gid& reader) { found.readers.push_back(reader); });
    for_each_reader(side_topic(topic), [](Subscriptions& found, const Gid&) { ++found.by_handle; });
    for_each_reader(stock_beside(topic), [](Subscriptions& found, const Gid&) { found.stock = true; });
    for (auto each = without_link.begin(); each != without_link.end();) {
      each = processes.count(*each) == 0 ? without_link.erase(each) : std::next(each);
    }
    forget_handed();
    for (SubscriberLink& each : links) identify(each);
    for (SubscriberLink& each : sides) identify(each);
    // For the subscriptions that it has now, not for later ones.
    drop_early([this](const Process& process) {
      const auto found = processes.find(process);
      return found == processes.end() || found->second.by_handle == 0;
    });
  }
  /// Of subscriptions that are gone. Others may come and leave without end while no newer message comes.
  void forget_handed() {
    if (last_handed.empty()) return;
    std::set<Gid> there;
    for (const auto& [process, subscriptions] : processes)
      there.insert(subscriptions.readers.begin(), subscriptions.readers.end());
    last_handed.erase(
        std::remove_if(last_handed.begin(), last_handed.end(), [&](const Gid& each) { return there.count(each) == 0; }),
        last_handed.end());
  }
  void identify(SubscriberLink& link) const {
    link.process.reset();
    for (const auto& [process, subscriptions] : processes) {
      if (!link.peer->is(process)) continue;
      link.process = process;
      if (link.peer->surely(process)) return;
    }
  }
  const Subscriptions* of(const SubscriberLink& link) const {
    const auto found = link.process ? processes.find(*link.process) : processes.end();
    return found == processes.end() ? nullptr : &found->second;
  }
  bool has_own(const SubscriberLink& link) const {
    const Subscriptions* const found = of(link);
    return found != nullptr && !found->readers.empty();
  }
  /// `message` with the words that make it no double (docs/format/tcpros.md).
  ros::SerializedMessage with_trailer(const ros::SerializedMessage& message) const {
    const auto at = static_cast<std::size_t>(message.message_start - message.buf.get());  // TCPROS's length
    ros::SerializedMessage out(boost::shared_array<std::uint8_t>(new std::uint8_t[message.num_bytes + kTrailerBytes]),
                               message.num_bytes + kTrailerBytes);
    out.message_start = out.buf.get() + at;
    std::memcpy(out.buf.get(), message.buf.get(), message.num_bytes);
    const auto length = static_cast<std::uint32_t>(out.num_bytes - at);
    for (int i = 0; i < 4; ++i) out.buf[i] = static_cast<std::uint8_t>(length >> (8 * i));
    put_trailer(out.buf.get() + message.num_bytes, {writer->gid(), by_bytes});
    return out;
  }
  /// Whether the link's process has subscriptions that want handles.
  bool gets_handles(const SubscriberLink& link) const {
    const Subscriptions* const found = of(link);
    return mode == Mode::kTzc && found != nullptr && found->by_handle > 0;
  }
  /// Whether all subscriptions of the process are such, so its link of the ordinary topic stays unused.
  bool handles_alone(const SubscriberLink& link) const {
    const Subscriptions* const found = of(link);
    return gets_handles(link) && !found->stock && found->by_handle >= found->readers.size();
  }
  /// Whether all of the process's subscriptions are among `matched`, the readers that Baton serves.
  bool all_among(const SubscriberLink& link, const std::vector<Gid>& matched) const {
    const Subscriptions* const found = of(link);
    return found != nullptr && !found->readers.empty() &&
           std::all_of(found->readers.begin(), found->readers.end(), [&](const Gid& reader) {
             return std::find(matched.begin(), matched.end(), reader) != matched.end();
           });
  }
  /// Whether Baton handed the latched message to the process's subscriptions, and to nobody else there.
  bool got_last(const SubscriberLink& link) const { return is_served(link, last_handed); }
  /// Whether Baton serves everybody in the link's process.
  bool is_served(const SubscriberLink& link, const std::vector<Gid>& matched) const {
    return all_among(link, matched) && !of(link)->stock;
  }
  /// The links whose process gets this message from nobody else. `matched`: the readers that Baton serves.
  std::vector<ros::SubscriberLinkPtr> unserved(const std::vector<Gid>& matched) const {
    std::vector<ros::SubscriberLinkPtr> found;
    for (const SubscriberLink& each : links) {
      if (handles_alone(each)) continue;
      if (!is_served(each, matched)) found.push_back(each.link);
    }
    return found;
  }
  /// How a message gets to the processes with links.
  struct Ways {
    std::vector<ros::SubscriberLinkPtr> there, here;  // of the side topic: a handle, without or with the bytes
    std::set<Process> early_there, early_here;        // the same, but the link has not come yet
    std::vector<ros::SubscriberLinkPtr> bytes;        // of the ordinary topic
  };
  /// `served`: the readers that Baton gives it.
  Ways ways(const std::vector<Gid>& served) const {
    Ways out;
    // A latched message stays with roscpp, for subscriptions that come later: its bytes, not a place in a queue.
    const auto wants_bytes = [&](const SubscriberLink& each) { return latch || !all_among(each, served); };
    for (const SubscriberLink& each : sides) {
      if (gets_handles(each)) (wants_bytes(each) ? out.here : out.there).push_back(each.link);
    }
    for (const SubscriberLink& each : onlookers) out.there.push_back(each.link);
    out.bytes = unserved(served);
    for (const SubscriberLink& each : links) {
      const bool has_bytes = std::find(out.bytes.begin(), out.bytes.end(), each.link) != out.bytes.end();
      if (has_bytes || !gets_handles(each) || link_of(sides, *each.process) != nullptr) continue;
      (wants_bytes(each) ? out.early_here : out.early_there).insert(*each.process);
    }
    return out;
  }
  /// Whether Baton serves all who have links, so nobody needs the bytes.
  bool serves_all(const std::vector<Gid>& matched) const {
    return std::all_of(links.begin(), links.end(),
                       [&](const SubscriberLink& each) { return is_served(each, matched); }) &&
           std::all_of(sides.begin(), sides.end(),
                       [&](const SubscriberLink& each) { return !gets_handles(each) || all_among(each, matched); });
  }
  ros::SerializedMessage encode(message::Bytes bytes) const {
    const std::size_t size = codec.encoded_size(bytes).or_throw();
    ros::SerializedMessage encoded(boost::shared_array<std::uint8_t>(new std::uint8_t[size + 4]), size + 4);
    encoded.message_start = encoded.buf.get() + 4;
    const auto length = static_cast<std::uint32_t>(size);
    for (int i = 0; i < 4; ++i) encoded.buf[i] = static_cast<std::uint8_t>(length >> (8 * i));
    static_cast<void>(codec.encode(bytes, {encoded.message_start, size}).or_throw());
    return encoded;
  }
  std::vector<std::uint8_t> header_of(message::Bytes bytes) const {
    std::vector<std::uint8_t> out;
    if (!header) return out;
    out.resize(header->encoded_size(bytes).or_throw());
    static_cast<void>(header->encode(bytes, {out.data(), out.size()}).or_throw());
    return out;
  }

  const std::string topic;
  const Mode mode;
  const std::size_t most_early;  // handles that wait for a link
  const bool latch;
  const message::Ros1Codec codec;
  std::optional<message::Ros1Codec> header;  // of a type that begins with one
  bool numbers = false;                      // its `seq`
  const Md5 md5;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Writer> writer;
  std::mutex order;  // of messages on all ways; before `mutex`
  std::mutex mutex;
  std::uint32_t next_number = 0;
  std::vector<SubscriberLink> links;             // of the ordinary topic
  std::vector<SubscriberLink> sides, onlookers;  // of the side topic
  std::uint64_t seen = UINT64_MAX;
  std::map<Process, Subscriptions> processes;
  std::set<Process> without_link;                               // of these: wait_for_links() was in vain
  std::chrono::steady_clock::time_point next_wait;              // of wait_for_links()
  ros::SerializedMessage last, last_with_trailer, last_handle;  // latched
  std::vector<Gid> last_handed;
  bool last_by_bytes = false;       // the latched message is not in Baton
  std::uint64_t by_bytes = 0;       // messages of publish_bytes()
  bool next_follows_bytes = false;  // the newest message is one of them
  /// Handles of messages that were published while a process had its link of the ordinary topic, and none of the side topic yet.
  std::map<Process, std::deque<ros::SerializedMessage>> early;
  boost::shared_ptr<StatusCallback> status;  // if the program watches its subscribers
  ros::Publisher publisher, side;
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
  const auto run = [&weak](void (State::*member)(const ros::SingleSubscriberPublisher&)) {
    return [weak, member](const ros::SingleSubscriberPublisher& subscriber) {
      const auto state = weak.lock();
      if (!state) return;
      (*state.*member)(subscriber);
      state->subscribers_changed();
    };
  };
  if (mode == Mode::kTzc) {
    ros::AdvertiseOptions options(side_topic(topic), queue_size, kHandleMd5, kHandleType, kHandleDefinition,
                                  run(&State::side_connected), run(&State::side_disconnected));
    options.latch = latch;
    options.callback_queue = &at_once();
    state_->side = handle.advertise(options);
  }
  ros::AdvertiseOptions options(topic, queue_size, stock.md5sum, stock.datatype, stock.definition,
                                run(&State::connected), run(&State::disconnected));
  options.latch = latch;                 // for the connection's header; the latched message is ours to send
  options.has_header = state_->numbers;  // for stock publishers of the topic in this process
  options.callback_queue = &at_once();
  state_->publisher = handle.advertise(options);
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
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->status = boost::make_shared<StatusCallback>(*queue_, count, std::move(changed));
  }
  state_->subscribers_changed();  // of those that came before
}

void PublisherSide::publish(void* message, std::size_t capacity_bytes,
                            const std::function<std::uint64_t()>& hand_over) {
  State& state = *state_;
  const std::lock_guard<std::mutex> order(state.order);
  // Header is {seq, stamp, frame_id}.
  if (state.numbers) *static_cast<std::uint32_t*>(message) = state.next_number;
  State::Ways ways;
  std::vector<std::uint8_t> header;
  ros::SerializedMessage encoded;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.look();
    std::vector<Gid> matched;
    if (!state.links.empty() || !state.sides.empty()) matched = state.writer->matched_readers();
    if (state.latch || !state.serves_all(matched)) {
      encoded = state.encode({message, capacity_bytes});
    } else {
      ways = state.ways(matched);
    }
    if (state.mode == Mode::kTzc &&
        (state.latch || !state.links.empty() || !state.sides.empty() || !state.onlookers.empty())) {
      header = state.header_of({message, capacity_bytes});
    }
  }
  BATON_CRASH_POINT("ros1.api.serialized");
  const std::uint64_t number = hand_over();
  BATON_CRASH_POINT("ros1.api.published");
  ++state.next_number;
  state.next_follows_bytes = false;
  if (state.mode == Mode::kTzc) state.send_early();
  ros::SerializedMessage there, here;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    std::vector<Gid> served;
    if (encoded.buf) {
      // Readers may have come meanwhile, before or after the message was handed over; links have not, `order` keeps them out.
      state.look();
      if (state.latch) {
        for (const Gid& reader : state.writer->matched_readers()) state.writer->hand_newest_to(reader);
      }
      served = state.writer->readers_of(number);
      ways = state.ways(served);
    }
    TopicHandle handle{state.md5, state.writer->gid(), number, TopicHandle::Place::kSharedMemory, {}};
    if (!ways.there.empty() || !ways.early_there.empty()) there = encode(header, handle);
    if ((state.latch && state.side) || !ways.here.empty() || !ways.early_here.empty()) {
      handle.place = TopicHandle::Place::kHere;
      handle.content = {encoded.message_start, encoded.num_bytes - 4};
      here = encode(header, handle);
    }
    const auto is_among = [](const std::vector<ros::SubscriberLinkPtr>& links, const SubscriberLink& link) {
      return std::find(links.begin(), links.end(), link.link) != links.end();
    };
    if (state.latch) {
      state.last = encoded;
      state.last_with_trailer = {};
      state.last_by_bytes = false;
      state.last_handle = here;
      state.last_handed = std::move(served);
      for (SubscriberLink& each : state.links) each.got_last = is_among(ways.bytes, each);
      for (SubscriberLink& each : state.sides) each.got_last = is_among(ways.here, each);
    }
    // What waits for a process that gets the bytes would come after messages that are newer.
    for (const SubscriberLink& each : state.links) {
      if (each.process && is_among(ways.bytes, each)) state.early.erase(*each.process);
    }
    for (const Process& each : ways.early_there) state.keep_early(each, there);
    for (const Process& each : ways.early_here) state.keep_early(each, here);
  }
  // Without `mutex`: roscpp may drop a link here, which calls disconnected().
  for (const ros::SubscriberLinkPtr& each : ways.there) each->enqueueMessage(there, true, true);
  for (const ros::SubscriberLinkPtr& each : ways.here) each->enqueueMessage(here, true, true);
  BATON_CRASH_POINT("ros1.api.handles_given");
  if (!encoded.buf) return;
  for (const ros::SubscriberLinkPtr& each : ways.bytes) each->enqueueMessage(encoded, true, true);
  BATON_CRASH_POINT("ros1.api.bytes_given");
}

void PublisherSide::publish_to(const ros::SingleSubscriberPublisher& subscriber, const ros::SerializedMessage& message,
                               const std::function<std::uint64_t(const Gid&)>& hand_over) {
  State& state = *state_;
  const ros::SubscriberLinkPtr link = subscriber.*member_of(LinkOfPublisher());
  state.wait_until_met(link);
  const std::lock_guard<std::mutex> order(state.order);
  std::vector<Gid> readers;
  bool is_served = false;
  ros::SerializedMessage bytes = message;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.look();
    const SubscriberLink* const found = known(state.links, link);
    if (found == nullptr) return;                 // it has gone
    if (state.last.buf) state.hand_last(*found);  // before this one
    const std::vector<Gid> matched = state.writer->matched_readers();
    if (const Subscriptions* const of_process = state.of(*found)) {
      std::copy_if(
          of_process->readers.begin(), of_process->readers.end(), std::back_inserter(readers),
          [&](const Gid& reader) { return std::find(matched.begin(), matched.end(), reader) != matched.end(); });
    }
    is_served = state.is_served(*found, matched);
    if (state.handles_alone(*found) && !readers.empty()) {
      readers.resize(1);  // its number is the handle's, and the handle brings the bytes to the others
      is_served = true;
    }
    // No handle names it. Subscriptions that have had handles would take the bytes alone for a double.
    if (readers.empty() && state.gets_handles(*found)) bytes = state.with_trailer(message);
  }
  std::uint64_t number = 0;
  for (const Gid& reader : readers) number = hand_over(reader);
  std::pair<ros::SubscriberLinkPtr, std::vector<ros::SerializedMessage>> handles;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    const SubscriberLink* const found = known(state.links, link);
    if (number != 0 && found != nullptr && state.gets_handles(*found)) {
      handles = state.handles_of_own(*found, message, number);
    }
  }
  for (const ros::SerializedMessage& each : handles.second) handles.first->enqueueMessage(each, true, true);
  if (!is_served) link->enqueueMessage(bytes, true, true);
}

bool PublisherSide::mark(transport::PublishInfo& info) const {
  if (!state_->next_follows_bytes) return false;  // with `order`, which publish() holds
  put_follows(info, state_->by_bytes);
  return true;
}

void PublisherSide::publish_bytes(const ros::SerializedMessage& message) {
  State& state = *state_;
  state.wait_for_links();
  const std::lock_guard<std::mutex> order(state.order);
  // Header is {seq, stamp, frame_id}.
  if (state.numbers) std::memcpy(message.message_start, &state.next_number, sizeof state.next_number);
  ++state.next_number;
  ++state.by_bytes;
  state.next_follows_bytes = true;
  std::vector<std::pair<ros::SubscriberLinkPtr, ros::SerializedMessage>> wanted;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.look();
    ros::SerializedMessage for_baton;
    if (state.latch || std::any_of(state.links.begin(), state.links.end(),
                                   [&](const SubscriberLink& each) { return state.has_own(each); })) {
      for_baton = state.with_trailer(message);
    }
    if (state.latch) {
      state.last = message;
      state.last_with_trailer = for_baton;
      state.last_by_bytes = true;
      state.last_handle = {};
      state.last_handed.clear();
    }
    for (SubscriberLink& each : state.links) {
      wanted.emplace_back(each.link, state.has_own(each) ? for_baton : message);
      if (state.latch) each.got_last = true;
    }
  }
  for (const auto& [link, bytes] : wanted) link->enqueueMessage(bytes, true, true);
}

PublisherSide::Subscribers PublisherSide::subscribers() const {
  State& state = *state_;
  const std::lock_guard<std::mutex> lock(state.mutex);
  const std::vector<Gid> matched = state.writer->matched_readers();
  state.look();  // after that: it knows which of them are in mode tzc
  Subscribers out;
  for (const auto& [process, subscriptions] : state.processes) {
    std::size_t own = 0;
    for (const Gid& reader : subscriptions.readers) {
      own += std::find(matched.begin(), matched.end(), reader) != matched.end();
    }
    // Which of a process's readers are in mode tzc is not known, but how many.
    if (state.mode == Mode::kTzc) own -= std::min(own, subscriptions.by_handle);
    out.own += static_cast<std::uint32_t>(own);
  }
  out.serialized = static_cast<std::uint32_t>(state.unserved(matched).size());
  for (const SubscriberLink& each : state.sides) out.handles += state.gets_handles(each);
  return out;
}

}  // namespace baton::ros1::detail
