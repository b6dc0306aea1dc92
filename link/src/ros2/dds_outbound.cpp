// SPDX-License-Identifier: Apache-2.0
#include "ros2/dds_outbound.hpp"

#include <algorithm>

#include "baton/os/hexadecimal.hpp"
#include "forwarding_plan.hpp"

namespace baton::link::ros2 {
namespace {

using Level = LinkLog::Level;
using transport::EndpointInfo;

/// How long the last messages of a publisher that has ended may take.
constexpr std::chrono::seconds kDeparture{30};
/// A publisher of this topic announces to them which DDS writer repeats the messages of which publisher (ros2-two-paths.md, section 6).
constexpr const char* kWriterTopic = "/_baton/ros2_writer";

}  // namespace

DdsOutbound::~DdsOutbound() {
  for (auto& [group, topic] : out_topics_) {
    sender_.unsubscribe(topic.subscription);
  }
  for (auto& [gid, out] : outs_) sender_.remove(gid);
}

std::set<Gid> DdsOutbound::readers() const {
  std::set<Gid> own;
  for (const auto& [group, topic] : out_topics_) own.insert(topic.readers.begin(), topic.readers.end());
  return own;
}

void DdsOutbound::add_writers(Nodes& nodes) const {
  for (const auto& [gid, out] : outs_) nodes[node_name(out.node)].writers.push_back(out.writer->gid());
}

bool DdsOutbound::goes_out(const DomainView& view, const EndpointInfo& endpoint) const {
  return endpoint.is_writer && is_topic(endpoint.topic) && view.relayed.count(endpoint.gid) == 0 &&
         view.contexts.count(prefix_of(endpoint.gid)) == 0 && view.abroad.count(endpoint.gid) == 0;
}

void DdsOutbound::open_out(const EndpointInfo& endpoint, Clock::time_point now) {
  std::shared_ptr<const RosType> type = types_.of(endpoint);
  if (!type) return;
  DdsEndpoint opened;
  opened.is_writer = true;
  opened.topic = dds_topic(endpoint.topic);
  opened.type = dds_type(endpoint.type_name);
  opened.user_data = kHashKey + "=" + type->hash + ";" + kPublisherKey + "=" + os::hexadecimal(endpoint.gid) + ";";
  opened.qos = endpoint.qos;
  // A publisher in Baton never waits for a node of ROS 2.
  opened.qos.history = History::kKeepLast;
  Result<std::unique_ptr<DdsWriter>> writer = dds_.open_writer(opened);
  if (!writer) {
    log_->write(About::kRos2, Level::kError, writer.error().code, writer.error().message);
    return;  // the next step tries again; it need not come soon
  }
  OutwardWriter& out = outs_[endpoint.gid];
  out.writer = std::move(*writer);
  out.type = type;
  out.group = group_of(endpoint.topic, *type, endpoint.qos);
  out.node = endpoint.node;
  out.depth = std::max(endpoint.qos.depth, 1U);
  out.since = now;
  sender_.add(endpoint.gid, endpoint.topic, out.writer, type, out.depth);
}

/// Null: it failed, which was reported.
std::shared_ptr<transport::Writer> DdsOutbound::announce(const Gid& publisher, const Gid& dds_writer,
                                                         const RosType& type) {
  transport::Participant::WriterOptions options;
  options.topic = kWriterTopic;
  options.node = os::hexadecimal(publisher);
  options.type = type.info;
  options.qos = QoS(1);
  options.gid = dds_writer;
  Result<std::shared_ptr<transport::Writer>> announced = participant_->create_writer(options);
  if (announced) return std::move(*announced);
  log_->write(About::kRos2, Level::kError, announced.error().code, announced.error().message);
  return nullptr;
}

/// The DDS writers of linked hosts, whose publishers the link has brought here.
void DdsOutbound::announce_far(const DomainView& view) {
  std::map<Gid, const EndpointInfo*> publishers;
  for (const EndpointInfo& endpoint : view.here) {
    if (endpoint.is_writer && endpoint.topic != kWriterTopic) publishers[endpoint.gid] = &endpoint;
  }
  std::set<Gid> wanted;
  for (const DdsEndpoint& endpoint : view.endpoints) {
    if (!endpoint.is_writer || view.linked.count(prefix_of(endpoint.gid)) == 0 || view.contexts.empty()) continue;
    const std::optional<Gid> publisher = gid_of(value(endpoint.user_data, kPublisherKey));
    const auto here = publisher ? publishers.find(*publisher) : publishers.end();
    if (here == publishers.end()) continue;
    wanted.insert(endpoint.gid);
    if (far_announced_.count(endpoint.gid) != 0) continue;
    const std::shared_ptr<const RosType> type = types_.of(*here->second);
    std::shared_ptr<transport::Writer> announced = type ? announce(*publisher, endpoint.gid, *type) : nullptr;
    if (announced) far_announced_[endpoint.gid] = std::move(announced);
  }
  for (auto at = far_announced_.begin(); at != far_announced_.end();)
    at = wanted.count(at->first) != 0 ? std::next(at) : far_announced_.erase(at);
}

bool DdsOutbound::step(const DomainView& view) {
  bool again = false;
  std::set<Gid> wanted;
  for (const EndpointInfo& endpoint : view.here) {
    if (goes_out(view, endpoint)) wanted.insert(endpoint.gid);
  }
  for (auto at = outs_.begin(); at != outs_.end();) {
    if (wanted.count(at->first) != 0) {
      at->second.gone.reset();
      ++at;
    } else if (view.known.count(at->first) == 0 && !is_done(at->second, view.now)) {
      again = true;
      ++at;
    } else {
      sender_.remove(at->first);
      at = outs_.erase(at);
    }
  }
  for (const EndpointInfo& endpoint : view.here) {
    if (wanted.count(endpoint.gid) != 0 && outs_.count(endpoint.gid) == 0) open_out(endpoint, view.now);
  }

  std::map<MatchGroup, GroupDemand> topics;
  for (auto& [gid, out] : outs_) {
    const bool matched = is_wanted(view, out);
    GroupDemand& topic = topics[out.group];
    topic.depth = std::max(topic.depth, out.depth);
    ++topic.publishers;
    topic.matched = topic.matched || matched;
    topic.out = &out;
    if (!out.ready && (matched || view.now - out.since >= kMatch)) {
      sender_.set_ready(gid);
      out.ready = true;
    }
    again = again || !out.ready;
    if (!out.announced && !view.contexts.empty()) out.announced = announce(gid, out.writer->gid(), *out.type);
    if (const std::string policy = out.writer->refused(); !policy.empty()) {
      log_->write(About::kMatches, Level::kWarning, Errc::incompatible_qos,
                  "publisher of '" + out.group.topic + "' (node '" + out.node +
                      "') is not connected to a ROS 2 subscription: " + policy + " is not compatible");
    }
  }
  for (auto at = out_topics_.begin(); at != out_topics_.end();) {
    const auto topic = topics.find(at->first);
    if (topic != topics.end() && topic->second.matched) {
      again = !deepen(at->first, *topic->second.out, at->second, depth_of(topic->second)) || again;
      ++at;
      continue;
    }
    sender_.unsubscribe(at->second.subscription);
    at = out_topics_.erase(at);
  }
  for (const auto& [group, topic] : topics) {
    if (topic.matched && out_topics_.count(group) == 0) again = !subscribe(group, *topic.out, depth_of(topic)) || again;
  }
  complain_of_readers(view, topics);
  return again;
}

/// Whether the last messages of a publisher that has ended have been sent.
bool DdsOutbound::is_done(OutwardWriter& out, Clock::time_point now) {
  const auto topic = out_topics_.find(out.group);
  if (topic == out_topics_.end()) return true;
  const std::uint64_t empty = sender_.times_empty(topic->second.subscription);
  if (!out.gone) {
    out.gone = now;
    out.empty_before = empty;
  }
  return (out.ready && empty > out.empty_before) || now - *out.gone >= kDeparture;
}

/// A KEEP_LAST depth counts the messages of all publishers. Here each publisher gets a history of its own. In powers of two, because another
/// depth needs another reader.
std::uint32_t DdsOutbound::depth_of(const GroupDemand& topic) {
  std::uint32_t histories = 1;
  while (histories < topic.publishers) histories *= 2;
  return std::min<std::uint32_t>(topic.depth, 65536U / histories) * histories;
}

/// Whether a reader of ROS 2 is matched that gets the messages by no other path.
bool DdsOutbound::is_wanted(const DomainView& view, const OutwardWriter& out) const {
  const std::vector<Gid> matched = out.writer->matched();
  return std::any_of(matched.begin(), matched.end(), [&](const Gid& reader) {
    return view.known.count(reader) == 0 && view.linked.count(prefix_of(reader)) == 0 &&
           misfits_.count({out.group, reader}) == 0;
  });
}

/// Null: it failed, which was reported.
std::shared_ptr<transport::Reader> DdsOutbound::make_reader(const MatchGroup& group, const OutwardWriter& out,
                                                            std::uint32_t depth) {
  transport::Participant::ReaderOptions options;
  options.topic = group.topic;
  options.node = kOwnNode;
  options.type = out.type->info;
  options.qos = QoS(depth).hold(1);
  options.qos.reliability = group.reliability;
  options.qos.durability = group.durability;
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (reader) return std::move(*reader);
  log_->write(About::kRos2, Level::kError, reader.error().code, reader.error().message);
  return nullptr;
}

bool DdsOutbound::subscribe(const MatchGroup& group, const OutwardWriter& out, std::uint32_t depth) {
  const std::shared_ptr<transport::Reader> reader = make_reader(group, out, depth);
  Sender::Subscription subscription = reader ? sender_.subscribe(reader) : nullptr;
  if (!subscription) return false;
  out_topics_[group] = {std::move(subscription), depth, {reader->gid()}};
  return true;
}

/// False: not now; the subscription still reads two readers.
bool DdsOutbound::deepen(const MatchGroup& group, const OutwardWriter& out, OutwardTopic& topic, std::uint32_t depth) {
  if (depth <= topic.depth) return true;
  if (sender_.is_replacing(topic.subscription)) return false;
  const std::shared_ptr<transport::Reader> reader = make_reader(group, out, depth);
  if (!reader || !sender_.replace(topic.subscription, reader)) return false;
  topic.readers.insert(reader->gid());
  topic.depth = depth;
  return true;
}

/// Complains of readers whose types differ. DDS does not match types of different names, but it matches different definitions of one name.
void DdsOutbound::complain_of_readers(const DomainView& view, const std::map<MatchGroup, GroupDemand>& topics) {
  std::set<std::pair<MatchGroup, Gid>> misfits;
  std::map<std::string, std::vector<const OutwardWriter*>> by_topic;
  for (const auto& [group, topic] : topics) by_topic[dds_topic(group.topic)].push_back(topic.out);
  for (const DdsEndpoint& endpoint : view.endpoints) {
    if (endpoint.is_writer) continue;
    const auto found = by_topic.find(endpoint.topic);
    if (found == by_topic.end()) continue;
    for (const OutwardWriter* out : found->second) {
      const std::string why = difference(*out->type, endpoint);
      if (why.empty()) continue;
      if (endpoint.type == dds_type(out->type->info.name)) misfits.insert({out->group, endpoint.gid});
      view.complaints.insert("publisher of '" + out->group.topic + "' (node '" + out->node +
                             "') is not connected to the subscription of ROS 2 node '" + view.node_of(endpoint.gid) +
                             "': the publisher has type " + why);
    }
  }
  misfits_ = std::move(misfits);
}

}  // namespace baton::link::ros2
