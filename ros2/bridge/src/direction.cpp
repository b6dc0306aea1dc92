// SPDX-License-Identifier: Apache-2.0
#include "direction.hpp"

#include <algorithm>

#include "log.hpp"

namespace baton::bridge {
namespace {

// Fast DDS and others do not say the depth of a remote endpoint. A burst must not push out its own first messages, nor a history such as that of
// /tf_static.
constexpr std::size_t kUnknownDepth = 100;
constexpr std::size_t kMostMadeAtOnce = 4;  // services; then topics have their turn
// A writer whose original has gone waits so long for acknowledgements. Bridge::wait_for_change() looks that long.
constexpr std::chrono::seconds kLongestLeaving{5};

bool knows_depth(const rmw_qos_profile_t& qos) {
  return qos.history == RMW_QOS_POLICY_HISTORY_KEEP_LAST && qos.depth != 0;
}

/// The QoS of the writer that stands for a writer of this QoS: the same, where it is known.
rmw_qos_profile_t shown(rmw_qos_profile_t qos) {
  if (qos.history != RMW_QOS_POLICY_HISTORY_KEEP_ALL && !knows_depth(qos)) {
    qos.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
    qos.depth = kUnknownDepth;
  }
  if (qos.liveliness == RMW_QOS_POLICY_LIVELINESS_UNKNOWN) qos.liveliness = RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  qos.avoid_ros_namespace_conventions = false;
  return qos;
}

}  // namespace

template <class Step>
void Direction::attempt(const std::string& key, Step&& step) try {
  step();
} catch (const BridgeError& error) {
  if (failed_before_.count(key) == 0) log_line(error.what());
  failed_.insert(key);
}

bool Direction::update(const SideGraph& from, const SideGraph& to, bool patient) {
  failed_before_ = std::exchange(failed_, {});
  update_nodes(from);
  bool waits = update_writers(from);
  waits |= update_flows(to, patient);
  update_services(from, to);  // last: each takes milliseconds
  return waits;
}

Direction::Lost Direction::end() {
  Lost lost{};
  for (const auto& [key, flow] : flows_) lost.messages += flow.bridge->waiting();
  for (const auto& [key, service] : services_) lost.requests += service->unanswered();
  services_.clear();
  flows_.clear();
  writers_.clear();
  nodes_.clear();
  from_.let_go();
  to_.let_go();
  return lost;
}

void Direction::update_nodes(const SideGraph& from) {
  nodes_[{}] = to_.own_node();
  for (auto each = nodes_.begin(); each != nodes_.end();)
    each = each->first.name.empty() || from.nodes.count(each->first) != 0 ? std::next(each) : nodes_.erase(each);
  for (const RmwNodeName& name : from.nodes)
    if (nodes_.count(name) == 0) attempt("node " + name.space + name.name, [&] { nodes_[name] = to_.node(name); });
}

bool Direction::update_writers(const SideGraph& from) {
  for (const RmwEndpoint& info : from.writers) {
    const auto node = nodes_.find(info.node);
    if (node == nodes_.end() || writers_.count(info.gid) != 0) continue;
    attempt("writer " + info.topic + info.type, [&] {
      writers_[info.gid] = {{info.topic, info.type},
                            class_of(info.qos),
                            shown(info.qos).depth,
                            std::make_shared<RmwWriter>(node->second, info.type, info.topic, shown(info.qos))};
    });
  }
  bool waits = false;
  for (auto each = writers_.begin(); each != writers_.end();) {
    const bool there = from.writer_gids.count(each->first) != 0;
    if (there) each->second.leaving.reset();
    const bool left = !there && has_left(each->second);
    waits |= !there && !left;
    each = left ? writers_.erase(each) : std::next(each);
  }
  return waits;
}

bool Direction::has_left(ShownWriter& writer) {
  const auto now = std::chrono::steady_clock::now();
  if (!writer.leaving) writer.leaving = {from_.turns() + 2, now + kLongestLeaving};
  const bool crossed = from_.turns() >= writer.leaving->turns && !writer.closed;
  if ((crossed && writer.writer->acknowledged()) || now >= writer.leaving->limit) return true;
  from_.let_go();  // a turn
  return false;
}

Direction::Flow Direction::make_flow(const Topic& topic, QosClass qos_class, const RmwNodeName& node, std::size_t depth,
                                     bool keep_all) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.reliability = qos_class.reliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  qos.durability = qos_class.durable ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL : RMW_QOS_POLICY_DURABILITY_VOLATILE;
  qos.history = keep_all ? RMW_QOS_POLICY_HISTORY_KEEP_ALL : RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  qos.depth = depth;
  Flow flow;
  flow.bridge = std::make_shared<TopicBridge>(topic.first, updater_);
  flow.reader = from_.wait_for(std::make_shared<RmwReader>(
      node.name.empty() ? from_.own_node() : from_.node(node), topic.second, topic.first, qos,
      [bridge = flow.bridge](const Gid& writer, const rmw_serialized_message_t& message) {
        bridge->forward(writer, message);
      }));
  log_line(topic.first + " (" + topic.second + ") crosses from " + from_.label() + " to " + to_.label());
  return flow;
}

bool Direction::update_flows(const SideGraph& to, bool patient) {
  struct Demand {
    RmwNodeName node;  ///< of the first subscription
    std::size_t depth = 0;
    std::vector<QosClass> readers;
    bool keep_all = false;
  };
  std::map<Topic, Demand> demands;
  for (const RmwEndpoint& info : to.readers) {
    Demand& demand = demands[{info.topic, info.type}];
    if (demand.readers.empty()) demand.node = info.node;
    demand.readers.push_back(class_of(info.qos));
    demand.depth = std::max(demand.depth, shown(info.qos).depth);
    demand.keep_all |= info.qos.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  }
  bool waits = false;
  std::map<std::pair<Topic, QosClass>, Routes> wanted;
  for (auto& [gid, shown_writer] : writers_) {
    const bool was_open = std::exchange(shown_writer.open, false);
    shown_writer.closed = false;
    // A second reader of what is latched would get all of it once more, for the same writer.
    const bool stays = was_open && shown_writer.qos_class.durable;
    const auto demand = demands.find(shown_writer.topic);
    if (stays) {
      shown_writer.open = true;
      wanted[{shown_writer.topic, shown_writer.qos_class}];
    }
    if (demand == demands.end() || stays) continue;
    const std::size_t met = shown_writer.writer->matched();
    const auto suiting = static_cast<std::size_t>(
        std::count_if(demand->second.readers.begin(), demand->second.readers.end(),
                      [&, offered = shown_writer.qos_class](const QosClass& asked) {
                        return (offered.reliable || !asked.reliable) && (offered.durable || !asked.durable);
                      }));
    // Before they have met, a message would be lost. A subscription whose QoS does not suit never meets the writer, and asks for nothing.
    waits |= met < suiting;
    shown_writer.closed = patient && met < suiting && !was_open;
    if (shown_writer.closed || (met == 0 && !(was_open && patient))) continue;
    shown_writer.open = true;
    wanted[{shown_writer.topic, shown_writer.qos_class}];
  }
  const std::size_t flows_before = flows_.size();
  for (auto flow = flows_.begin(); flow != flows_.end();)
    flow = wanted.count(flow->first) != 0 ? std::next(flow) : flows_.erase(flow);
  if (flows_.size() != flows_before) from_.let_go();
  for (auto& [key, routes] : wanted) {
    Demand& demand = demands[key.first];
    for (const auto& [gid, shown_writer] : writers_) {
      if (shown_writer.topic != key.first) continue;
      const bool its_class = shown_writer.qos_class == key.second;
      routes[gid] = {its_class ? shown_writer.writer : nullptr, !shown_writer.closed};
      demand.depth = std::max(demand.depth, shown_writer.depth);  // the depth of a remote subscription is often unknown
    }
    attempt("flow " + key.first.first + key.first.second, [&, &wanted_key = key, &its_routes = routes] {
      Flow& flow = flows_[wanted_key];
      if (!flow.reader) {
        flow = make_flow(wanted_key.first, wanted_key.second, demand.node, std::max(demand.depth, kUnknownDepth),
                         demand.keep_all);
      }
      std::size_t writers = 0;
      MessageRoute any;
      for (const auto& [gid, route] : its_routes) {
        if (!route.writer) continue;
        writers += writers_.at(gid).leaving ? 0 : 1;
        any = {any.writer ? any.writer : route.writer, any.open && route.open};
      }
      if (!from_.tells_writers()) its_routes[kAnyWriter] = any;
      flow.bridge->route(std::move(its_routes), patient);
      waits |= flow.reader->matched() < writers;
    });
  }
  return waits;
}

void Direction::update_services(const SideGraph& from, const SideGraph& to) {
  std::map<Topic, RmwEndpoint> wanted;
  for (RmwEndpoint info : from.servers) {
    if (nodes_.count(info.node) == 0 || to.served.count(info.topic) != 0)
      continue;  // clients there have a server already
    info.qos = shown(info.qos);
    wanted.emplace(Topic{info.topic, info.type}, info);
  }
  const std::size_t services_before = services_.size();
  for (auto each = services_.begin(); each != services_.end();) {
    const auto still = wanted.find(each->first);
    const bool stays = still != wanted.end() && class_of(still->second.qos) == class_of(each->second->qos());
    each = stays ? std::next(each) : services_.erase(each);
  }
  if (services_.size() != services_before) {
    from_.let_go();
    to_.let_go();
  }
  std::size_t made = 0;
  for (const auto& [service, server] : wanted) {
    if (services_.count(service) != 0) continue;
    if (made++ == kMostMadeAtOnce) {
      updater_.ask();
      break;
    }
    attempt("service " + service.first + service.second, [&, &key = service, &its_server = server] {
      services_[key] = ServiceBridge::make(nodes_.at(its_server.node), from_.own_node(), its_server, updater_);
    });
  }
}

bool Direction::send_waiting() {
  bool waits = false;
  for (const auto& [name, service] : services_) waits |= service->send_waiting();
  return waits;
}

}  // namespace baton::bridge
