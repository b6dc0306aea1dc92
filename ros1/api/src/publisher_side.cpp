// SPDX-License-Identifier: Apache-2.0
#include <ros/advertise_options.h>
#include <ros/publisher.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "baton/message/ros1_codec.hpp"
#include "baton/ros1/endpoints.hpp"
#include "graph_names.hpp"
#include "private_members.hpp"

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

struct Link {
  ros::SubscriberLinkPtr link;
  std::string node;
};

}  // namespace

struct PublisherSide::State {
  State(std::string topic_name, const message::Type& type, std::shared_ptr<baton::Node> own_node,
        std::shared_ptr<transport::Writer> own_writer, bool latched)
      : topic(std::move(topic_name)),
        numbered(begins_with_header(type)),
        latch(latched),
        codec(message::Ros1Codec::compile(type).or_throw()),
        node(std::move(own_node)),
        writer(std::move(own_writer)) {}

  void connected(const ros::SingleSubscriberPublisher& subscriber) {
    const Link added{subscriber.*member_of(LinkOfPublisher()), subscriber.getSubscriberName()};
    const std::lock_guard<std::mutex> lock_order(order);
    ros::SerializedMessage wanted;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      links.push_back(added);
      if (last.buf && !got_last(added.node)) wanted = last;
    }
    if (wanted.buf) added.link->enqueueMessage(wanted, true, true);
  }
  void disconnected(const ros::SingleSubscriberPublisher& subscriber) {
    const ros::SubscriberLinkPtr gone = subscriber.*member_of(LinkOfPublisher());
    const std::lock_guard<std::mutex> lock(mutex);
    links.erase(std::remove_if(links.begin(), links.end(), [&](const Link& each) { return each.link == gone; }),
                links.end());
  }

  /// Whether Baton handed the latched message to this node's subscriptions.
  bool got_last(const std::string& name) {
    look();
    const auto found = readers.find(name);
    return found != readers.end() && std::all_of(found->second.begin(), found->second.end(), [this](const Gid& reader) {
             return std::find(last_handed.begin(), last_handed.end(), reader) != last_handed.end();
           });
  }
  /// Brings `readers` up to date.
  void look() {
    const std::uint64_t now = node->participant()->graph_version();
    if (now == seen) return;
    seen = now;
    readers.clear();
    std::set<std::string> mixed;
    for (const transport::EndpointInfo& end : node->endpoints()) {
      if (end.is_writer) continue;
      if (end.topic == topic) readers[ros_name(end.node)].push_back(end.gid);
      if (end.topic == stock_beside(topic)) mixed.insert(ros_name(end.node));
    }
    for (const std::string& name : mixed) readers.erase(name);
  }
  /// The links whose node gets this message from nobody else. `matched`: the readers that Baton serves.
  std::vector<ros::SubscriberLinkPtr> unserved(const std::vector<Gid>& matched) {
    std::vector<ros::SubscriberLinkPtr> found;
    for (const Link& each : links) {
      const auto own = readers.find(each.node);
      const bool served =
          own != readers.end() && std::all_of(own->second.begin(), own->second.end(), [&](const Gid& reader) {
            return std::find(matched.begin(), matched.end(), reader) != matched.end();
          });
      if (!served) found.push_back(each.link);
    }
    return found;
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

  const std::string topic;
  const bool numbered, latch;
  const message::Ros1Codec codec;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Writer> writer;
  std::mutex order;  // of messages on both ways; before `mutex`
  std::mutex mutex;
  std::uint32_t next_number = 0;
  std::vector<Link> links;
  std::uint64_t seen = UINT64_MAX;
  std::map<std::string, std::vector<Gid>> readers;  // of nodes all of whose subscriptions are Baton's
  ros::SerializedMessage last;                      // latched
  std::vector<Gid> last_handed;
  ros::Publisher publisher;
};

PublisherSide::PublisherSide(ros::NodeHandle& handle, const std::string& topic, std::uint32_t queue_size, bool latch,
                             const StockType& stock, const message::Type& type, std::shared_ptr<baton::Node> node,
                             std::shared_ptr<transport::Writer> writer)
    : state_(std::make_shared<State>(topic, type, std::move(node), std::move(writer), latch)) {
  const std::weak_ptr<State> weak = state_;
  ros::AdvertiseOptions options(
      topic, queue_size, stock.md5sum, stock.datatype, stock.definition,
      [weak](const ros::SingleSubscriberPublisher& subscriber) {
        if (const auto state = weak.lock()) state->connected(subscriber);
      },
      [weak](const ros::SingleSubscriberPublisher& subscriber) {
        if (const auto state = weak.lock()) state->disconnected(subscriber);
      });
  options.latch = latch;  // for the connection's header; the latched message is ours to send
  options.callback_queue = &at_once();
  state_->publisher = handle.advertise(options);
}

PublisherSide::~PublisherSide() { state_->publisher.shutdown(); }

void PublisherSide::publish(void* message, std::size_t capacity_bytes, const std::function<void()>& hand_over) {
  State& state = *state_;
  const std::lock_guard<std::mutex> order(state.order);
  // Header is {seq, stamp, frame_id}.
  if (state.numbered) *static_cast<std::uint32_t*>(message) = state.next_number;
  std::vector<Gid> matched;
  ros::SerializedMessage encoded;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    state.look();
    if (!state.links.empty() || state.latch) matched = state.writer->matched_readers();
    if (state.latch || !state.unserved(matched).empty()) encoded = state.encode({message, capacity_bytes});
  }
  hand_over();
  ++state.next_number;
  if (!encoded.buf) return;
  std::vector<ros::SubscriberLinkPtr> links;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    // A reader that Baton began to serve meanwhile may have the message already.
    state.look();
    for (const Gid& reader : state.writer->matched_readers()) {
      if (std::find(matched.begin(), matched.end(), reader) == matched.end()) matched.push_back(reader);
    }
    links = state.unserved(matched);
    if (state.latch) {
      state.last = encoded;
      state.last_handed = std::move(matched);
    }
  }
  // Without `mutex`: roscpp may drop a link here, which calls disconnected().
  for (const ros::SubscriberLinkPtr& link : links) link->enqueueMessage(encoded, true, true);
}

std::uint32_t PublisherSide::unserved() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->look();
  return static_cast<std::uint32_t>(state_->unserved(state_->writer->matched_readers()).size());
}

}  // namespace baton::ros1::detail
