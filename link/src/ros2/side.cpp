// SPDX-License-Identifier: Apache-2.0
// Joins the endpoints of this host's Baton domain with those of a domain of ROS 2. Each change on either side makes step() compare what
// there should be with what there is.
// - Outbound (dds_outbound.hpp): local publishers have DDS writers.
// - Inbound (dds_inbound.hpp): a DDS writer has a proxy, a publisher in Baton with its id, while a local subscription of its type exists.
// Invariants: (1) a message that came from one side does not go back to it; (2) at most one copy of a message reaches an endpoint, whichever
// paths exist: this side, a link to a host that has a side of its own, or rmw_baton_cpp.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "baton/os/clock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "forwarding_plan.hpp"
#include "refusals.hpp"
#include "ros2/dds_inbound.hpp"
#include "ros2/dds_outbound.hpp"
#include "ros2/names.hpp"
#include "ros2/nodes.hpp"
#include "ros2/ros2.hpp"
#include "ros2/ros_types.hpp"
#include "ros2/view.hpp"

namespace baton::link {
namespace ros2 {
namespace {

using Level = LinkLog::Level;
using transport::EndpointInfo;

/// How long a new DDS writer gets no proxy: rmw_baton_cpp may have a publisher of its own with the same id.
constexpr std::chrono::milliseconds kSettle{100};
/// How long to wait for the name of its node, which comes separately. Nodes of ROS 2 always send it, other programs may not.
constexpr std::chrono::milliseconds kNamed{5'000}, kNamedPerhaps{400};
/// How long to wait for the Baton endpoint that belongs to a DDS endpoint of an rmw_baton_cpp process.
constexpr std::chrono::seconds kServed{2};
/// How long to wait until a linked host's own side is visible in the domain of ROS. After that, this host relays for that host.
constexpr std::chrono::seconds kSeen{10};
/// Announcements of rmw_baton_cpp; the first bytes of their ids are those of all ids of the process.
constexpr const char* kContextTopic = "/_baton/ros2";
const std::string kUnknownNode = "ros2";

struct InwardWriter {
  std::shared_ptr<transport::Writer> publisher;
  MatchGroup group;
  Clock::time_point since;
  bool joined = false;
};
struct InwardTopic {
  std::shared_ptr<const RosType> type;
  std::shared_ptr<DdsInbound> arrivals;
  std::unique_ptr<DdsReader> reader;
  std::string node;  ///< that subscribes
};

class Side final : public Ros2Side {
 public:
  Side(std::shared_ptr<transport::Participant> participant, std::shared_ptr<LinkLog> log,
       std::shared_ptr<TypeCache> types, const Ros2Options& options)
      : participant_(std::move(participant)), log_(std::move(log)), options_(options), types_(std::move(types), log_) {}

  ~Side() override {
    nodes_in_.reset();
    for (auto& [group, topic] : in_topics_) topic.reader.reset();  // no more calls of DdsInbound
  }

  Result<void> start() {
    DdsOptions dds;
    dds.domain = options_.domain;
    dds.peers = options_.peers;
    dds.interface = options_.interface;
    dds.security = options_.security;
    dds.user_data = kRosKey + "=/;" + kHostKey + "=" + os::hexadecimal(options_.host) + ";";
    dds.changed = [this] {
      dirty_.store(true, std::memory_order_release);  // pairs with the exchange in step()
      options_.changed();
    };
    dds.say = [log = log_](Level level, std::string text) {
      log->write(About::kRos2Log, level, Errc::system, std::move(text));
    };
    dds.refused = [this](RefusedState refused) {
      refused.last_ns = os::monotonic_ns();
      refusals_.add(std::move(refused));
    };
    Result<std::unique_ptr<Dds>> made = make_dds(dds);
    if (!made) return made.error();
    dds_ = std::move(*made);
    outward_ = std::make_unique<DdsOutbound>(participant_, log_, types_, *dds_);
    if (Result<void> started = outward_->start(); !started) return started;
    DdsEndpoint endpoint;
    endpoint.topic = kNodesTopic;
    endpoint.type = kNodesType;
    endpoint.qos = QoS(1).transient_local();
    Result<std::unique_ptr<DdsReader>> in =
        dds_->open_reader(keep_all(endpoint), [this](DdsMessage message) { on_nodes(message); });
    if (!in) return in.error();
    nodes_in_ = std::move(*in);
    endpoint.is_writer = true;
    Result<std::unique_ptr<DdsWriter>> out = dds_->open_writer(endpoint);
    if (!out) return out.error();
    nodes_out_ = std::move(*out);
    log_->write(About::kRos2, Level::kInfo, Errc{},
                "joins ROS 2 nodes of domain " + std::to_string(options_.domain) +
                    (options_.security.empty() ? "" : ", with DDS Security"));
    return {};
  }

  bool step(const std::vector<LinkedHost>& hosts) override {
    if (dirty_.exchange(false, std::memory_order_acq_rel)) {  // pairs with the store in start()
      ends_ = dds_->endpoints();
      participants_ = dds_->participants();
      ros_participants_.clear();
      for (const auto& [gid, data] : participants_) {
        if (!value(data, kRosKey).empty()) ros_participants_.insert(prefix_of(gid));
      }
      forget();
    }
    bool again = false;
    const DomainView view = look(hosts, again);
    complaints_now_.clear();
    outward_->announce_far(view);
    again = outward_->step(view) || again;
    again = inward(view) || again;
    for (const std::string& complaint : complaints_now_) {
      if (complaints_.count(complaint) == 0)
        log_->write(About::kMatches, Level::kWarning, Errc::unsupported, complaint);
    }
    complaints_ = complaints_now_;
    say_nodes(view);
    return again;
  }

  const std::set<Gid>& publishers() const override { return publishers_; }
  std::vector<RefusedState> refused() const override { return refusals_.all(os::monotonic_ns()); }

 private:
  static DdsEndpoint keep_all(DdsEndpoint endpoint) {
    endpoint.qos.history = History::kKeepAll;
    return endpoint;
  }

  /// On a thread of the DDS.
  void on_nodes(const DdsMessage& message) {
    const std::optional<NodesOf> said = decode_nodes(message.serialized);
    // A participant may list only its own endpoints.
    if (!said || prefix_of(said->participant) != prefix_of(message.publisher)) return;
    {
      const os::Lock lock(names_mutex_);
      if (names_.size() >= kMostNamed && names_.count(prefix_of(said->participant)) == 0) {
        dirty_.store(
            true, std::memory_order_release);  // pairs with the exchange in step(), which forgets those that have left
        return;
      }
      std::map<Gid, std::string>& names = names_[prefix_of(said->participant)];
      names.clear();
      for (const auto& [name, endpoints] : said->nodes) {
        const std::string full = name.first == "/" ? name.second : name.first + "/" + name.second;
        for (const std::vector<Gid>* gids : {&endpoints.readers, &endpoints.writers}) {
          for (const Gid& gid : *gids) {
            if (names.size() < kMostNamedEnds) names[gid] = full;
          }
        }
      }
    }
    options_.changed();
  }

  /// Empty: not known yet.
  std::string name_of(const Gid& endpoint) const {
    const os::Lock lock(names_mutex_);
    const auto of_participant = names_.find(prefix_of(endpoint));
    if (of_participant == names_.end()) return {};
    const auto found = of_participant->second.find(endpoint);
    return found == of_participant->second.end() ? std::string() : found->second;
  }

  /// What is remembered of endpoints and participants that have left.
  void forget() {
    std::set<Gid> there;
    for (const DdsEndpoint& endpoint : ends_) there.insert(endpoint.gid);
    for (auto at = first_seen_.begin(); at != first_seen_.end();)
      at = there.count(at->first) != 0 ? std::next(at) : first_seen_.erase(at);
    std::set<Prefix> prefixes;
    for (const auto& [gid, data] : participants_) prefixes.insert(prefix_of(gid));
    for (const DdsEndpoint& endpoint : ends_) prefixes.insert(prefix_of(endpoint.gid));
    const os::Lock lock(names_mutex_);
    // A list may come before its participant is seen; so the number is bounded, too.
    if (names_.size() < kMostNamed) return;
    for (auto at = names_.begin(); at != names_.end();)
      at = prefixes.count(at->first) != 0 ? std::next(at) : names_.erase(at);
  }

  DomainView look(const std::vector<LinkedHost>& hosts, bool& again) {
    DomainView view{{}, {}, {}, {}, {}, {}, Clock::now(), ends_, publishers_, node_of_, complaints_now_};
    view.here = participant_->endpoints();
    for (const EndpointInfo& endpoint : view.here) {
      view.known.insert(endpoint.gid);
      if (endpoint.is_writer && endpoint.topic == kContextTopic) {
        view.contexts.insert(prefix_of(endpoint.gid));
        view.processes.insert(endpoint.pid);
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

  std::string node_of(const Gid& endpoint) const {
    std::string name = name_of(endpoint);
    return name.empty() ? kUnknownNode : name;
  }

  // --- inward ---

  struct WantedWriter {
    const DdsEndpoint* endpoint = nullptr;
    const EndpointInfo* subscription = nullptr;
    std::shared_ptr<const RosType> type;
    MatchGroup group;
    Gid publisher{};
  };

  std::map<std::string, std::vector<const EndpointInfo*>> subscriptions(const DomainView& view) const {
    const std::set<Gid> own = outward_->readers();
    std::map<std::string, std::vector<const EndpointInfo*>> found;
    for (const EndpointInfo& endpoint : view.here) {
      if (endpoint.is_writer || !is_topic(endpoint.topic) || own.count(endpoint.gid) != 0) continue;
      if (view.contexts.count(prefix_of(endpoint.gid)) == 0) found[dds_topic(endpoint.topic)].push_back(&endpoint);
    }
    return found;
  }

  /// Whether an endpoint of DDS has a Baton endpoint by another path, or gets one soon.
  bool is_served(const DomainView& view, const DdsEndpoint& endpoint, Clock::duration age, bool& again) const {
    if (view.linked.count(prefix_of(endpoint.gid)) != 0) return true;
    const bool is_own = publishers_.count(endpoint.gid) != 0;
    if (view.known.count(endpoint.gid) != 0 && !is_own) return true;
    if (view.contexts.count(prefix_of(endpoint.gid)) == 0 || age >= kServed) return false;
    again = true;
    return true;
  }

  Clock::duration settling_time(const Gid& writer) const {
    if (!name_of(writer).empty()) return kSettle;
    return ros_participants_.count(prefix_of(writer)) != 0 ? kNamed : kNamedPerhaps;
  }

  std::map<Gid, WantedWriter> wanted_in(const DomainView& view, std::set<Gid>& settling, bool& again) {
    std::map<Gid, WantedWriter> wanted;
    const auto subscribed = subscriptions(view);
    for (const DdsEndpoint& endpoint : ends_) {
      const auto seen = first_seen_.emplace(endpoint.gid, view.now).first->second;
      if (!endpoint.is_writer) continue;
      const auto mine = subscribed.find(endpoint.topic);
      if (mine == subscribed.end()) continue;
      const Clock::duration age = view.now - seen;
      if (is_served(view, endpoint, age, again)) continue;
      if (ins_.count(endpoint.gid) == 0 && age < settling_time(endpoint.gid)) {
        settling.insert(endpoint.gid);
        again = true;
        continue;
      }
      add_wanted(endpoint, mine->second, wanted);
    }
    return wanted;
  }

  void add_wanted(const DdsEndpoint& endpoint, const std::vector<const EndpointInfo*>& mine,
                  std::map<Gid, WantedWriter>& wanted) {
    std::set<std::string> differences;
    for (const EndpointInfo* subscription : mine) {
      std::string why;
      if (dds_type(subscription->type_name) != endpoint.type) {
        why = subscription->type_name + ", the other " + type_of(endpoint.type);
      } else {
        const std::shared_ptr<const RosType> type = types_.of(*subscription);
        if (!type) continue;
        why = difference(*type, endpoint);
        if (why.empty()) {
          WantedWriter& added = wanted[endpoint.gid];
          if (added.endpoint != nullptr) continue;
          added.endpoint = &endpoint;
          added.subscription = subscription;
          added.type = type;
          added.group = group_of(subscription->topic, *type, endpoint.qos);
          // A publisher of a Baton host that the link does not reach keeps its id.
          added.publisher = gid_of(value(endpoint.user_data, kPublisherKey)).value_or(endpoint.gid);
          continue;
        }
      }
      complaints_now_.insert("subscription of '" + subscription->topic + "' (node '" + subscription->node +
                             "') is not connected to the publisher of ROS 2 node '" + node_of(endpoint.gid) +
                             "': the subscription has type " + why);
    }
  }

  bool open_in(const WantedWriter& wanted, Clock::time_point now) {
    transport::Participant::WriterOptions options;
    options.topic = wanted.subscription->topic;
    options.node = node_of(wanted.endpoint->gid);
    options.qos = wanted.endpoint->qos;
    options.gid = wanted.publisher;
    options.relayed = true;
    options.type = wanted.type->info;
    Result<std::shared_ptr<transport::Writer>> publisher = participant_->create_writer(options);
    if (!publisher) {
      // already_exists: the link has it from another host, or rmw_baton_cpp serves it after all.
      if (publisher.error().code != Errc::already_exists) {
        log_->write(About::kRos2, Level::kError, publisher.error().code, publisher.error().message);
      }
      return false;
    }
    InwardWriter& in = ins_[wanted.endpoint->gid];
    in.publisher = std::move(*publisher);
    in.group = wanted.group;
    in.since = now;
    publishers_.insert(wanted.publisher);
    return true;
  }

  void close_in(std::map<Gid, InwardWriter>::iterator in) {
    const auto topic = in_topics_.find(in->second.group);
    if (topic != in_topics_.end()) topic->second.arrivals->remove(in->first);
    publishers_.erase(in->second.publisher->gid());
    ins_.erase(in);
  }

  /// If it fails, it is tried again at the next step, which need not be soon.
  void open_reader(const MatchGroup& group, InwardTopic& topic) {
    DdsEndpoint endpoint;
    endpoint.topic = dds_topic(group.topic);
    endpoint.type = dds_type(group.type);
    endpoint.user_data = kHashKey + "=" + topic.type->hash + ";";
    endpoint.qos.reliability = group.reliability;
    endpoint.qos.durability = group.durability;
    Result<std::unique_ptr<DdsReader>> reader = dds_->open_reader(
        keep_all(endpoint), [arrivals = topic.arrivals](DdsMessage message) { arrivals->arrived(std::move(message)); });
    if (!reader) {
      log_->write(About::kRos2, Level::kError, reader.error().code, reader.error().message);
      return;
    }
    topic.reader = std::move(*reader);
  }

  bool inward(const DomainView& view) {
    bool again = false;
    std::set<Gid> settling;
    const std::map<Gid, WantedWriter> wanted = wanted_in(view, settling, again);
    for (auto at = ins_.begin(); at != ins_.end();) {
      const auto in = at++;
      const auto found = wanted.find(in->first);
      if (found == wanted.end() || in->second.group < found->second.group || found->second.group < in->second.group)
        close_in(in);
    }
    std::set<MatchGroup> groups;
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
      InwardTopic& topic = in_topics_[each.group];
      topic.node = each.subscription->node;
      if (!topic.arrivals) {
        topic.type = each.type;
        topic.arrivals = std::make_shared<DdsInbound>(each.group.topic, each.type, log_);
      }
      InwardWriter& in = ins_[gid];
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
      for (const DdsEndpoint& endpoint : ends_) {
        if (!endpoint.is_writer || endpoint.topic != name || settling.count(endpoint.gid) != 0) continue;
        const auto in = ins_.find(endpoint.gid);
        if (in == ins_.end() || in->second.group < group || group < in->second.group) ignored.insert(endpoint.gid);
      }
      if (topic.arrivals) topic.arrivals->set_ignored(std::move(ignored));
    }
    return again;
  }

  // --- nodes ---

  void say_nodes(const DomainView& view) {
    Nodes nodes;
    std::set<std::string> relayed;
    for (const EndpointInfo& endpoint : view.here) {
      if (publishers_.count(endpoint.gid) != 0) relayed.insert(endpoint.node);
    }
    for (const auto& [node, enclave, pid] : participant_->nodes()) {
      if (node != kOwnNode && view.processes.count(pid) == 0 && relayed.count(node) == 0) nodes[node_name(node)];
    }
    outward_->add_writers(nodes);
    for (const auto& [group, topic] : in_topics_) {
      if (topic.reader) nodes[node_name(topic.node)].readers.push_back(topic.reader->gid());
    }
    nodes[{"/", "baton_link"}];
    const Result<CdrMessage> encoded = encode_nodes(dds_->participant(), nodes);
    if (!encoded) {
      log_->write(About::kRos2, Level::kError, encoded.error().code, encoded.error().message);
      return;
    }
    std::vector<std::byte> bytes(encoded->bytes.get(), encoded->bytes.get() + encoded->size_bytes);
    if (bytes == said_) return;
    CdrMessage copy(bytes.size());
    std::memcpy(copy.bytes.get(), bytes.data(), bytes.size());
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (const Result<void> written = nodes_out_->write(std::move(copy), now); written) {
      said_ = std::move(bytes);
    } else {
      log_->write(About::kRos2, Level::kWarning, written.error().code,
                  "ROS 2 does not see the nodes of this host: " + written.error().message);
    }
  }

  static constexpr std::size_t kMostNamed = 1000;        // participants
  static constexpr std::size_t kMostNamedEnds = 10'000;  // of one
  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<LinkLog> log_;
  const Ros2Options options_;
  std::atomic<bool> dirty_{true};
  mutable os::Mutex names_mutex_;
  std::map<Prefix, std::map<Gid, std::string>> names_
      BATON_GUARDED_BY(names_mutex_);  // nodes of endpoints, by participant
  Refusals refusals_;
  std::unique_ptr<Dds> dds_;  // ends after all its endpoints
  RosTypes types_;
  std::vector<DdsEndpoint> ends_;
  std::map<Gid, std::string> participants_;
  std::set<Prefix> ros_participants_;
  std::map<Gid, Clock::time_point> first_seen_, linked_since_;
  std::set<std::string> complaints_, complaints_now_;
  const std::function<std::string(const Gid&)> node_of_ = [this](const Gid& endpoint) { return node_of(endpoint); };
  std::unique_ptr<DdsOutbound> outward_;
  std::map<Gid, InwardWriter> ins_;  // by DDS writer
  std::set<Gid> publishers_;         // of ins_
  std::map<MatchGroup, InwardTopic> in_topics_;
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
                                                 std::shared_ptr<LinkLog> log, std::shared_ptr<TypeCache> types,
                                                 const Ros2Options& options) {
  auto side = std::make_unique<ros2::Side>(std::move(participant), std::move(log), std::move(types), options);
  if (Result<void> started = side->start(); !started) return started.error();
  return std::unique_ptr<Ros2Side>(std::move(side));
}

}  // namespace baton::link
