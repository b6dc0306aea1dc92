// SPDX-License-Identifier: Apache-2.0
// Joins the endpoints of this host's Baton domain with those of a domain of ROS 2. Each change on either side makes step() compare what
// there should be with what there is.
// - Outward a local publisher has a DDS writer of its own, so that ROS 2 sees its node, its quality of service and its history. The
//   topic is subscribed in Baton while a reader is matched that Baton does not serve itself.
// - Inward a DDS writer has a publisher in Baton with its id while a local subscription of its type exists.
// Invariants: (1) what came from one side does not go back to it; (2) of one message at most one copy reaches an end, whichever of
// the ways there are: this side, a link to a host that has a side of its own, or rmw_baton_cpp (docs/format/ros2-two-paths.md).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "baton/os/clock.hpp"
#include "plan.hpp"
#include "refusals.hpp"
#include "ros2/arrivals.hpp"
#include "ros2/names.hpp"
#include "ros2/nodes.hpp"
#include "ros2/ros2.hpp"
#include "ros2/sender.hpp"
#include "ros2/ros_types.hpp"

namespace baton::link {
namespace ros2 {
namespace {

using Clock = std::chrono::steady_clock;
using Level = Saying::Level;
using transport::EndpointInfo;

/// How long a message waits for the readers of a new writer, or the subscriptions of a new publisher.
constexpr std::chrono::milliseconds kMatch{1000};
/// How long the last messages of a publisher that has ended may take.
constexpr std::chrono::seconds kDeparture{30};
/// How long a new DDS writer is left alone: rmw_baton_cpp gives its id to a publisher of its own.
constexpr std::chrono::milliseconds kSettle{100};
/// How long the name of its node may take, which comes apart: of a node of ROS 2 it comes for sure, of other programs it may not.
constexpr std::chrono::milliseconds kNamed{5'000}, kNamedPerhaps{400};
/// How long an endpoint of an rmw_baton_cpp process may be without its half in Baton.
constexpr std::chrono::seconds kServed{2};
/// How long a linked host's own side may take to be seen in the domain of ROS; after it, this host speaks for that host.
constexpr std::chrono::seconds kSeen{10};
/// Announcements of rmw_baton_cpp; the first bytes of their ids are those of all ids of the process.
constexpr const char* kContextTopic = "/_baton/ros2";
constexpr std::size_t kContextBytes = 12;
/// A publisher of this topic tells them which DDS writer repeats the messages of which publisher (ros2-two-paths.md, section 6).
constexpr const char* kWriterTopic = "/_baton/ros2_writer";
const std::string kOwnNode = "link";
const std::string kUnknownNode = "ros2";

using Prefix = std::array<std::uint8_t, kContextBytes>;
Prefix prefix_of(const Gid& gid) {
  Prefix prefix{};
  std::memcpy(prefix.data(), gid.data(), prefix.size());
  return prefix;
}

const std::string kHashKey = "typehash", kPublisherKey = "baton", kHostKey = "baton_host", kRosKey = "enclave";

std::string value(const std::string& user_data, const std::string& key) {
  const std::map<std::string, std::string> all = parse_user_data(user_data);
  const auto found = all.find(key);
  return found == all.end() ? std::string() : found->second;
}

/// Endpoints of one topic and definition that are matched alike.
struct Group {
  std::string topic, type;
  std::array<std::uint8_t, 16> hash{};
  Reliability reliability = Reliability::kReliable;
  Durability durability = Durability::kVolatile;
  bool operator<(const Group& other) const {
    return std::tie(topic, type, hash, reliability, durability) <
           std::tie(other.topic, other.type, other.hash, other.reliability, other.durability);
  }
};

struct Out {
  std::shared_ptr<DdsWriter> writer;
  std::shared_ptr<transport::Writer> announced;  ///< to rmw_baton_cpp, where there is any
  std::shared_ptr<const RosType> type;
  Group group;
  std::string node;
  std::uint32_t depth = 1;
  Clock::time_point since;
  bool ready = false;
  std::optional<Clock::time_point> gone;  ///< when its publisher ended; its last messages are still to be sent
  std::uint64_t empty_before = 0;         ///< Sender::times_empty() then
};
struct OutTopic {
  Sender::Subscription subscription;
  std::uint32_t depth = 0;
  std::set<Gid> readers;  ///< all that it has had
};
struct In {
  std::shared_ptr<transport::Writer> publisher;
  Group group;
  Clock::time_point since;
  bool joined = false;
};
struct InTopic {
  std::shared_ptr<const RosType> type;
  std::shared_ptr<Arrivals> arrivals;
  std::unique_ptr<DdsReader> reader;
  std::string node;  ///< that subscribes
};

/// What there is now.
struct View {
  std::vector<EndpointInfo> here;
  std::set<Gid> known;               ///< ids of `here`
  std::set<Prefix> contexts;         ///< of rmw_baton_cpp processes in the domain
  std::set<std::int32_t> processes;  ///< their numbers
  std::set<Prefix> linked;           ///< DDS participants of hosts that the link is connected to
  std::set<Gid> abroad;              ///< publishers of linked hosts that have a side of their own here
  Clock::time_point now;
};

class Side final : public Ros2Side {
 public:
  Side(std::shared_ptr<transport::Participant> participant, std::shared_ptr<Saying> saying,
       std::shared_ptr<Types> types, const Ros2Options& options)
      : participant_(std::move(participant)),
        saying_(std::move(saying)),
        options_(options),
        types_(std::move(types), saying_),
        sender_(saying_) {}

  ~Side() override {
    nodes_in_.reset();
    for (auto& [group, topic] : in_topics_) topic.reader.reset();  // no more calls of Arrivals
    for (auto& [group, topic] : out_topics_) {
      sender_.unsubscribe(topic.subscription);
    }
    for (auto& [gid, out] : outs_) sender_.remove(gid);
  }

  Result<void> start() {
    DdsOptions dds;
    dds.domain = options_.domain;
    dds.peers = options_.peers;
    dds.interface = options_.interface;
    dds.security = options_.security;
    dds.user_data = kRosKey + "=/;" + kHostKey + "=" + hexadecimal(options_.host) + ";";
    dds.changed = [this] {
      dirty_.store(true, std::memory_order_release);  // pairs with the exchange in step()
      options_.changed();
    };
    dds.say = [saying = saying_](Level level, std::string text) {
      saying->say_rarely(level == Level::kError ? "ROS 2 errors" : "ROS 2 warnings", level, Errc::system,
                         std::move(text));
    };
    dds.refused = [this](RefusedState refused) {
      refused.last_ns = os::monotonic_ns();
      refusals_.add(std::move(refused));
    };
    Result<std::unique_ptr<Dds>> made = make_dds(dds);
    if (!made) return made.error();
    dds_ = std::move(*made);
    if (Result<void> started = sender_.start(); !started) return started;
    DdsEnd end;
    end.topic = kNodesTopic;
    end.type = kNodesType;
    end.qos = QoS(1).transient_local();
    Result<std::unique_ptr<DdsReader>> in =
        dds_->open_reader(keep_all(end), [this](DdsMessage message) { on_nodes(message); });
    if (!in) return in.error();
    nodes_in_ = std::move(*in);
    end.is_writer = true;
    Result<std::unique_ptr<DdsWriter>> out = dds_->open_writer(end);
    if (!out) return out.error();
    nodes_out_ = std::move(*out);
    saying_->say(Level::kInfo, Errc{},
                 "joins ROS 2 nodes of domain " + std::to_string(options_.domain) +
                     (options_.security.empty() ? "" : ", with DDS Security"));
    return {};
  }

  bool step(const std::vector<LinkedHost>& hosts) override {
    if (dirty_.exchange(false, std::memory_order_acq_rel)) {  // pairs with the store in start()
      ends_ = dds_->ends();
      participants_ = dds_->participants();
      ros_participants_.clear();
      for (const auto& [gid, data] : participants_) {
        if (!value(data, kRosKey).empty()) ros_participants_.insert(prefix_of(gid));
      }
      forget();
    }
    bool again = false;
    const View view = look(hosts, again);
    complaints_now_.clear();
    announce_far(view);
    again = outward(view) || again;
    again = inward(view) || again;
    for (const std::string& complaint : complaints_now_) {
      if (complaints_.count(complaint) == 0) saying_->say(Level::kWarning, Errc::unsupported, complaint);
    }
    complaints_ = complaints_now_;
    say_nodes(view);
    return again;
  }

  const std::set<Gid>& publishers() const override { return publishers_; }
  std::vector<RefusedState> refused() const override { return refusals_.all(os::monotonic_ns()); }

 private:
  static DdsEnd keep_all(DdsEnd end) {
    end.qos.history = History::kKeepAll;
    return end;
  }

  /// On a thread of the DDS.
  void on_nodes(const DdsMessage& message) {
    const std::optional<NodesOf> said = decode_nodes(message.serialized);
    // A participant speaks for itself alone.
    if (!said || prefix_of(said->participant) != prefix_of(message.publisher)) return;
    {
      const std::lock_guard<std::mutex> lock(names_mutex_);
      if (names_.size() >= kMostNamed && names_.count(prefix_of(said->participant)) == 0) {
        dirty_.store(
            true, std::memory_order_release);  // pairs with the exchange in step(), which forgets those that have left
        return;
      }
      std::map<Gid, std::string>& names = names_[prefix_of(said->participant)];
      names.clear();
      for (const auto& [name, ends] : said->nodes) {
        const std::string full = name.first == "/" ? name.second : name.first + "/" + name.second;
        for (const std::vector<Gid>* gids : {&ends.readers, &ends.writers}) {
          for (const Gid& gid : *gids) {
            if (names.size() < kMostNamedEnds) names[gid] = full;
          }
        }
      }
    }
    options_.changed();
  }

  /// Empty: not said yet.
  std::string name_of(const Gid& end) const {
    const std::lock_guard<std::mutex> lock(names_mutex_);
    const auto of_participant = names_.find(prefix_of(end));
    if (of_participant == names_.end()) return {};
    const auto found = of_participant->second.find(end);
    return found == of_participant->second.end() ? std::string() : found->second;
  }

  /// What is remembered of ends and participants that have left.
  void forget() {
    std::set<Gid> there;
    for (const DdsEnd& end : ends_) there.insert(end.gid);
    for (auto at = first_seen_.begin(); at != first_seen_.end();)
      at = there.count(at->first) != 0 ? std::next(at) : first_seen_.erase(at);
    std::set<Prefix> prefixes;
    for (const auto& [gid, data] : participants_) prefixes.insert(prefix_of(gid));
    for (const DdsEnd& end : ends_) prefixes.insert(prefix_of(end.gid));
    const std::lock_guard<std::mutex> lock(names_mutex_);
    // A list may come before its participant is seen; so the number is bounded, too.
    if (names_.size() < kMostNamed) return;
    for (auto at = names_.begin(); at != names_.end();)
      at = prefixes.count(at->first) != 0 ? std::next(at) : names_.erase(at);
  }

  View look(const std::vector<LinkedHost>& hosts, bool& again) {
    View view;
    view.now = Clock::now();
    view.here = participant_->endpoints();
    for (const EndpointInfo& end : view.here) {
      view.known.insert(end.gid);
      if (end.is_writer && end.topic == kContextTopic) {
        view.contexts.insert(prefix_of(end.gid));
        view.processes.insert(end.pid);
      }
    }
    std::map<Gid, Prefix> sides;
    for (const auto& [gid, data] : participants_) {
      if (const std::optional<Gid> host = gid_of(value(data, kHostKey))) sides[*host] = prefix_of(gid);
    }
    std::map<Gid, Clock::time_point> linked_since;
    for (const LinkedHost& host : hosts) {
      const auto known = linked_since_.find(host.host);
      const Clock::time_point since = known != linked_since_.end() ? known->second : view.now;
      linked_since[host.host] = since;
      const auto side = sides.find(host.host);
      if (side != sides.end()) {
        view.linked.insert(side->second);
      } else if (host.ros2_domain != options_.domain) {
        continue;
      } else if (view.now - since >= kSeen) {
        continue;
      } else {
        again = true;
      }
      view.abroad.insert(host.publishers.begin(), host.publishers.end());
    }
    linked_since_ = std::move(linked_since);
    return view;
  }

  static Group group_of(const std::string& topic, const RosType& type, const QoS& qos) {
    return {topic, type.info.name, type.info.hash, qos.reliability, qos.durability};
  }

  // --- outward ---

  bool goes_out(const View& view, const EndpointInfo& end) const {
    return end.is_writer && is_topic(end.topic) && publishers_.count(end.gid) == 0 &&
           view.contexts.count(prefix_of(end.gid)) == 0 && view.abroad.count(end.gid) == 0;
  }

  void open_out(const EndpointInfo& end, Clock::time_point now) {
    std::shared_ptr<const RosType> type = types_.of(end);
    if (!type) return;
    DdsEnd opened;
    opened.is_writer = true;
    opened.topic = dds_topic(end.topic);
    opened.type = dds_type(end.type_name);
    opened.user_data = kHashKey + "=" + type->hash + ";" + kPublisherKey + "=" + hexadecimal(end.gid) + ";";
    opened.qos = end.qos;
    // A publisher in Baton never waits for a node of ROS 2.
    opened.qos.history = History::kKeepLast;
    Result<std::unique_ptr<DdsWriter>> writer = dds_->open_writer(opened);
    if (!writer) {
      saying_->say_rarely("ROS 2 writer " + end.topic, Level::kError, writer.error().code, writer.error().message);
      return;  // at the next step it is tried again, which need not be soon
    }
    Out& out = outs_[end.gid];
    out.writer = std::move(*writer);
    out.type = type;
    out.group = group_of(end.topic, *type, end.qos);
    out.node = end.node;
    out.depth = std::max(end.qos.depth, 1U);
    out.since = now;
    sender_.add(end.gid, end.topic, out.writer, type, out.depth);
  }

  /// Null: it failed, and was said.
  std::shared_ptr<transport::Writer> announce(const Gid& publisher, const Gid& dds_writer, const RosType& type) {
    transport::Participant::WriterOptions options;
    options.topic = kWriterTopic;
    options.node = hexadecimal(publisher);
    options.type = type.info;
    options.qos = QoS(1);
    options.gid = dds_writer;
    Result<std::shared_ptr<transport::Writer>> announced = participant_->create_writer(options);
    if (announced) return std::move(*announced);
    saying_->say_rarely("ROS 2 announcement", Level::kError, announced.error().code, announced.error().message);
    return nullptr;
  }

  /// The DDS writers of linked hosts, whose publishers the link has brought here.
  void announce_far(const View& view) {
    std::map<Gid, const EndpointInfo*> publishers;
    for (const EndpointInfo& end : view.here) {
      if (end.is_writer && end.topic != kWriterTopic) publishers[end.gid] = &end;
    }
    std::set<Gid> wanted;
    for (const DdsEnd& end : ends_) {
      if (!end.is_writer || view.linked.count(prefix_of(end.gid)) == 0 || view.contexts.empty()) continue;
      const std::optional<Gid> publisher = gid_of(value(end.user_data, kPublisherKey));
      const auto here = publisher ? publishers.find(*publisher) : publishers.end();
      if (here == publishers.end()) continue;
      wanted.insert(end.gid);
      if (far_announced_.count(end.gid) != 0) continue;
      const std::shared_ptr<const RosType> type = types_.of(*here->second);
      std::shared_ptr<transport::Writer> announced = type ? announce(*publisher, end.gid, *type) : nullptr;
      if (announced) far_announced_[end.gid] = std::move(announced);
    }
    for (auto at = far_announced_.begin(); at != far_announced_.end();)
      at = wanted.count(at->first) != 0 ? std::next(at) : far_announced_.erase(at);
  }

  bool outward(const View& view) {
    bool again = false;
    std::set<Gid> wanted;
    for (const EndpointInfo& end : view.here) {
      if (goes_out(view, end)) wanted.insert(end.gid);
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
    for (const EndpointInfo& end : view.here) {
      if (wanted.count(end.gid) != 0 && outs_.count(end.gid) == 0) open_out(end, view.now);
    }

    struct Topic {
      std::uint32_t depth = 0, publishers = 0;
      bool matched = false;
      const Out* out = nullptr;
    };
    std::map<Group, Topic> topics;
    for (auto& [gid, out] : outs_) {
      const bool matched = is_wanted(view, out);
      Topic& topic = topics[out.group];
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
        saying_->say_rarely("ROS 2 refused " + out.group.topic, Level::kWarning, Errc::incompatible_qos,
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
      if (topic.matched && out_topics_.count(group) == 0)
        again = !subscribe(group, *topic.out, depth_of(topic)) || again;
    }
    complain_of_readers(topics);
    return again;
  }

  /// Whether the last messages of a publisher that has ended have been sent.
  bool is_done(Out& out, Clock::time_point now) {
    const auto topic = out_topics_.find(out.group);
    if (topic == out_topics_.end()) return true;
    const std::uint64_t empty = sender_.times_empty(topic->second.subscription);
    if (!out.gone) {
      out.gone = now;
      out.empty_before = empty;
    }
    return (out.ready && empty > out.empty_before) || now - *out.gone >= kDeparture;
  }

  /// KEEP_LAST is over all publishers of a subscription; here each publisher is to have its own history. In powers of two, because another
  /// depth needs another reader.
  template <class Topic>
  static std::uint32_t depth_of(const Topic& topic) {
    std::uint32_t histories = 1;
    while (histories < topic.publishers) histories *= 2;
    return std::min<std::uint32_t>(topic.depth, 65536U / histories) * histories;
  }

  /// Whether a reader of ROS 2 is matched that gets the messages by no other way.
  bool is_wanted(const View& view, const Out& out) const {
    const std::vector<Gid> matched = out.writer->matched();
    return std::any_of(matched.begin(), matched.end(), [&](const Gid& reader) {
      return view.known.count(reader) == 0 && view.linked.count(prefix_of(reader)) == 0 &&
             misfits_.count({out.group, reader}) == 0;
    });
  }

  /// Null: it failed, and was said.
  std::shared_ptr<transport::Reader> make_reader(const Group& group, const Out& out, std::uint32_t depth) {
    transport::Participant::ReaderOptions options;
    options.topic = group.topic;
    options.node = kOwnNode;
    options.type = out.type->info;
    options.qos = QoS(depth).hold(1);
    options.qos.reliability = group.reliability;
    options.qos.durability = group.durability;
    Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
    if (reader) return std::move(*reader);
    saying_->say_rarely("ROS 2 subscription " + group.topic, Level::kError, reader.error().code,
                        reader.error().message);
    return nullptr;
  }

  bool subscribe(const Group& group, const Out& out, std::uint32_t depth) {
    const std::shared_ptr<transport::Reader> reader = make_reader(group, out, depth);
    Sender::Subscription subscription = reader ? sender_.subscribe(reader) : nullptr;
    if (!subscription) return false;
    out_topics_[group] = {std::move(subscription), depth, {reader->gid()}};
    return true;
  }

  /// False: not yet; the reader before must be done with first.
  bool deepen(const Group& group, const Out& out, OutTopic& topic, std::uint32_t depth) {
    if (depth <= topic.depth) return true;
    if (sender_.is_replacing(topic.subscription)) return false;
    const std::shared_ptr<transport::Reader> reader = make_reader(group, out, depth);
    if (!reader || !sender_.replace(topic.subscription, reader)) return false;
    topic.readers.insert(reader->gid());
    topic.depth = depth;
    return true;
  }

  /// Of readers whose types differ. DDS does not match other names; it matches other definitions of one name, as all of ROS 2 does.
  template <class Topics>
  void complain_of_readers(const Topics& topics) {
    std::set<std::pair<Group, Gid>> misfits;
    std::map<std::string, std::vector<const Out*>> by_topic;
    for (const auto& [group, topic] : topics) by_topic[dds_topic(group.topic)].push_back(topic.out);
    for (const DdsEnd& end : ends_) {
      if (end.is_writer) continue;
      const auto found = by_topic.find(end.topic);
      if (found == by_topic.end()) continue;
      for (const Out* out : found->second) {
        const std::string why = difference(*out->type, end);
        if (why.empty()) continue;
        if (end.type == dds_type(out->type->info.name)) misfits.insert({out->group, end.gid});
        complaints_now_.insert("publisher of '" + out->group.topic + "' (node '" + out->node +
                               "') is not connected to the subscription of ROS 2 node '" + node_of(end.gid) +
                               "': the publisher has type " + why);
      }
    }
    misfits_ = std::move(misfits);
  }

  std::string node_of(const Gid& end) const {
    std::string name = name_of(end);
    return name.empty() ? kUnknownNode : name;
  }

  /// Why a type and an endpoint do not fit; empty: they do.
  static std::string difference(const RosType& type, const DdsEnd& end) {
    if (end.type != dds_type(type.info.name)) return type.info.name + ", the other " + type_of(end.type);
    const std::string hash = value(end.user_data, kHashKey);
    if (type.matches(hash)) return {};
    return type.info.name + " in another definition (" + type.hash + ", the other " + hash +
           "); build both from the same .msg files";
  }

  // --- inward ---

  struct Wanted {
    const DdsEnd* end = nullptr;
    const EndpointInfo* subscription = nullptr;
    std::shared_ptr<const RosType> type;
    Group group;
    Gid publisher{};
  };

  std::map<std::string, std::vector<const EndpointInfo*>> subscriptions(const View& view) const {
    std::set<Gid> own;
    for (const auto& [group, topic] : out_topics_) own.insert(topic.readers.begin(), topic.readers.end());
    std::map<std::string, std::vector<const EndpointInfo*>> found;
    for (const EndpointInfo& end : view.here) {
      if (end.is_writer || !is_topic(end.topic) || own.count(end.gid) != 0) continue;
      if (view.contexts.count(prefix_of(end.gid)) == 0) found[dds_topic(end.topic)].push_back(&end);
    }
    return found;
  }

  /// Whether an endpoint of DDS has a half in Baton by another way, or gets one soon.
  bool is_served(const View& view, const DdsEnd& end, Clock::duration age, bool& again) const {
    if (view.linked.count(prefix_of(end.gid)) != 0) return true;
    const bool is_own = publishers_.count(end.gid) != 0;
    if (view.known.count(end.gid) != 0 && !is_own) return true;
    if (view.contexts.count(prefix_of(end.gid)) == 0 || age >= kServed) return false;
    again = true;
    return true;
  }

  Clock::duration settling_time(const Gid& writer) const {
    if (!name_of(writer).empty()) return kSettle;
    return ros_participants_.count(prefix_of(writer)) != 0 ? kNamed : kNamedPerhaps;
  }

  std::map<Gid, Wanted> wanted_in(const View& view, std::set<Gid>& settling, bool& again) {
    std::map<Gid, Wanted> wanted;
    const auto subscribed = subscriptions(view);
    for (const DdsEnd& end : ends_) {
      const auto seen = first_seen_.emplace(end.gid, view.now).first->second;
      if (!end.is_writer) continue;
      const auto mine = subscribed.find(end.topic);
      if (mine == subscribed.end()) continue;
      const Clock::duration age = view.now - seen;
      if (is_served(view, end, age, again)) continue;
      if (ins_.count(end.gid) == 0 && age < settling_time(end.gid)) {
        settling.insert(end.gid);
        again = true;
        continue;
      }
      add_wanted(end, mine->second, wanted);
    }
    return wanted;
  }

  void add_wanted(const DdsEnd& end, const std::vector<const EndpointInfo*>& mine, std::map<Gid, Wanted>& wanted) {
    std::set<std::string> differences;
    for (const EndpointInfo* subscription : mine) {
      std::string why;
      if (dds_type(subscription->type_name) != end.type) {
        why = subscription->type_name + ", the other " + type_of(end.type);
      } else {
        const std::shared_ptr<const RosType> type = types_.of(*subscription);
        if (!type) continue;
        why = difference(*type, end);
        if (why.empty()) {
          Wanted& added = wanted[end.gid];
          if (added.end != nullptr) continue;
          added.end = &end;
          added.subscription = subscription;
          added.type = type;
          added.group = group_of(subscription->topic, *type, end.qos);
          // A publisher of a Baton host that the link does not reach keeps its id.
          added.publisher = gid_of(value(end.user_data, kPublisherKey)).value_or(end.gid);
          continue;
        }
      }
      complaints_now_.insert("subscription of '" + subscription->topic + "' (node '" + subscription->node +
                             "') is not connected to the publisher of ROS 2 node '" + node_of(end.gid) +
                             "': the subscription has type " + why);
    }
  }

  bool open_in(const Wanted& wanted, Clock::time_point now) {
    transport::Participant::WriterOptions options;
    options.topic = wanted.subscription->topic;
    options.node = node_of(wanted.end->gid);
    options.qos = wanted.end->qos;
    options.gid = wanted.publisher;
    options.relayed = true;
    options.type = wanted.type->info;
    Result<std::shared_ptr<transport::Writer>> publisher = participant_->create_writer(options);
    if (!publisher) {
      // already_exists: the link has it from another host, or rmw_baton_cpp serves it after all.
      if (publisher.error().code != Errc::already_exists) {
        saying_->say_rarely("ROS 2 publisher " + options.topic, Level::kError, publisher.error().code,
                            publisher.error().message);
      }
      return false;
    }
    In& in = ins_[wanted.end->gid];
    in.publisher = std::move(*publisher);
    in.group = wanted.group;
    in.since = now;
    publishers_.insert(wanted.publisher);
    return true;
  }

  void close_in(std::map<Gid, In>::iterator in) {
    const auto topic = in_topics_.find(in->second.group);
    if (topic != in_topics_.end()) topic->second.arrivals->remove(in->first);
    publishers_.erase(in->second.publisher->gid());
    ins_.erase(in);
  }

  /// If it fails, it is tried again at the next step, which need not be soon.
  void open_reader(const Group& group, InTopic& topic) {
    DdsEnd end;
    end.topic = dds_topic(group.topic);
    end.type = dds_type(group.type);
    end.user_data = kHashKey + "=" + topic.type->hash + ";";
    end.qos.reliability = group.reliability;
    end.qos.durability = group.durability;
    Result<std::unique_ptr<DdsReader>> reader = dds_->open_reader(
        keep_all(end), [arrivals = topic.arrivals](DdsMessage message) { arrivals->arrived(std::move(message)); });
    if (!reader) {
      saying_->say_rarely("ROS 2 reader " + group.topic, Level::kError, reader.error().code, reader.error().message);
      return;
    }
    topic.reader = std::move(*reader);
  }

  bool inward(const View& view) {
    bool again = false;
    std::set<Gid> settling;
    const std::map<Gid, Wanted> wanted = wanted_in(view, settling, again);
    for (auto at = ins_.begin(); at != ins_.end();) {
      const auto in = at++;
      const auto found = wanted.find(in->first);
      if (found == wanted.end() || in->second.group < found->second.group || found->second.group < in->second.group)
        close_in(in);
    }
    std::set<Group> groups;
    for (const auto& [gid, each] : wanted) groups.insert(each.group);
    for (auto at = in_topics_.begin(); at != in_topics_.end();) {
      if (groups.count(at->first) != 0) {
        ++at;
        continue;
      }
      at->second.reader.reset();
      at = in_topics_.erase(at);
    }
    for (const auto& [gid, each] : wanted) {
      if (ins_.count(gid) == 0 && !open_in(each, view.now)) {
        again = true;
        continue;
      }
      InTopic& topic = in_topics_[each.group];
      topic.node = each.subscription->node;
      if (!topic.arrivals) {
        topic.type = each.type;
        topic.arrivals = std::make_shared<Arrivals>(each.group.topic, each.type, saying_);
      }
      In& in = ins_[gid];
      if (!in.joined && in.publisher->matched() == 0 && view.now - in.since < kMatch) {
        again = true;
        continue;
      }
      if (!std::exchange(in.joined, true)) topic.arrivals->add(gid, in.publisher);
      if (!topic.reader) open_reader(each.group, topic);
    }
    for (auto& [group, topic] : in_topics_) {
      const std::string name = dds_topic(group.topic);
      std::set<Gid> ignored;
      for (const DdsEnd& end : ends_) {
        if (!end.is_writer || end.topic != name || settling.count(end.gid) != 0) continue;
        const auto in = ins_.find(end.gid);
        if (in == ins_.end() || in->second.group < group || group < in->second.group) ignored.insert(end.gid);
      }
      if (topic.arrivals) topic.arrivals->set_ignored(std::move(ignored));
    }
    return again;
  }

  // --- nodes ---

  void say_nodes(const View& view) {
    Nodes nodes;
    std::set<std::string> relayed;
    for (const EndpointInfo& end : view.here) {
      if (publishers_.count(end.gid) != 0) relayed.insert(end.node);
    }
    for (const auto& [node, pid] : participant_->nodes()) {
      if (node != kOwnNode && view.processes.count(pid) == 0 && relayed.count(node) == 0) nodes[node_name(node)];
    }
    for (const auto& [gid, out] : outs_) nodes[node_name(out.node)].writers.push_back(out.writer->gid());
    for (const auto& [group, topic] : in_topics_) {
      if (topic.reader) nodes[node_name(topic.node)].readers.push_back(topic.reader->gid());
    }
    nodes[{"/", "baton_link"}];
    const Result<Serialized> encoded = encode_nodes(dds_->participant(), nodes);
    if (!encoded) {
      saying_->say_rarely("ROS 2 nodes", Level::kError, encoded.error().code, encoded.error().message);
      return;
    }
    std::vector<std::byte> bytes(encoded->bytes.get(), encoded->bytes.get() + encoded->size_bytes);
    if (bytes == said_) return;
    Serialized copy(bytes.size());
    std::memcpy(copy.bytes.get(), bytes.data(), bytes.size());
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (const Result<void> written = nodes_out_->write(std::move(copy), now); written) {
      said_ = std::move(bytes);
    } else {
      saying_->say_rarely("ROS 2 nodes", Level::kWarning, written.error().code,
                          "ROS 2 does not see the nodes of this host: " + written.error().message);
    }
  }

  static constexpr std::size_t kMostNamed = 1000, kMostNamedEnds = 10'000;
  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<Saying> saying_;
  const Ros2Options options_;
  std::atomic<bool> dirty_{true};
  mutable std::mutex names_mutex_;
  std::map<Prefix, std::map<Gid, std::string>> names_;  // nodes of endpoints, by participant
  Refusals refusals_;
  std::unique_ptr<Dds> dds_;  // ends after all its endpoints
  RosTypes types_;
  std::vector<DdsEnd> ends_;
  std::map<Gid, std::string> participants_;
  std::set<Prefix> ros_participants_;
  std::map<Gid, Clock::time_point> first_seen_, linked_since_;
  std::set<std::string> complaints_, complaints_now_;
  std::set<std::pair<Group, Gid>> misfits_;  // readers with another definition of a type

  std::map<Gid, Out> outs_;                                          // by publisher
  std::map<Gid, std::shared_ptr<transport::Writer>> far_announced_;  // by DDS writer, of linked hosts
  std::map<Group, OutTopic> out_topics_;
  Sender sender_;             // ends before the writers
  std::map<Gid, In> ins_;     // by DDS writer
  std::set<Gid> publishers_;  // of ins_
  std::map<Group, InTopic> in_topics_;
  std::unique_ptr<DdsReader> nodes_in_;
  std::unique_ptr<DdsWriter> nodes_out_;
  std::vector<std::byte> said_;
};

}  // namespace
}  // namespace ros2

Result<void> ros2_side_available(const std::string& security) {
  return security.empty() ? Result<void>() : ros2::check_security(security);
}

Result<std::unique_ptr<Ros2Side>> make_ros2_side(std::shared_ptr<transport::Participant> participant,
                                                 std::shared_ptr<Saying> saying, std::shared_ptr<Types> types,
                                                 const Ros2Options& options) {
  auto side = std::make_unique<ros2::Side>(std::move(participant), std::move(saying), std::move(types), options);
  if (Result<void> started = side->start(); !started) return started.error();
  return std::unique_ptr<Ros2Side>(std::move(side));
}

}  // namespace baton::link
