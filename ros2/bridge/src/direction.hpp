// SPDX-License-Identifier: Apache-2.0
// What one side shows of the other: for each node of `from` a node on `to`, with its publishers and servers. A message crosses only while
// somebody on `to` subscribes to its topic.
// Thread rules: one thread, but for the callbacks of topic and service bridges.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "service_bridge.hpp"
#include "side.hpp"
#include "topic_bridge.hpp"
#include "updater.hpp"

namespace baton::bridge {

class Direction {
 public:
  /// All outlive this.
  Direction(RmwSide& from, RmwSide& to, Updater& updater) : from_(from), to_(to), updater_(updater) {}

  /// Makes what the two graphs ask for, and ends what they ask for no more. True if it waits for something that changes no graph: then it is
  /// to be called again soon. `patient`: no message crosses before it can reach all that subscribe to it.
  bool update(const SideGraph& from, const SideGraph& to, bool patient);
  struct Lost {
    std::size_t messages, requests;
  };
  /// Ends all at once. What has not crossed is lost.
  Lost end();
  /// Requests that waited. True if some still wait.
  bool send_waiting();

 private:
  using Topic = std::pair<std::string, std::string>;  ///< name, type
  struct ShownWriter {
    Topic topic;
    QosClass qos_class;
    std::size_t depth;
    std::shared_ptr<RmwWriter> writer;
    bool open = false;    ///< its messages cross; a further subscription does not hold them up again
    bool closed = false;  ///< its messages wait until those who subscribe have met it
    /// Set once the writer for which it stands has gone. Then this one stays until all messages have crossed and are acknowledged.
    struct Leaving {
      std::uint64_t turns;  ///< of the reader's side, after which all messages have been taken
      std::chrono::steady_clock::time_point limit;
    };
    std::optional<Leaving> leaving = std::nullopt;
  };
  struct Flow {
    std::shared_ptr<TopicBridge> bridge;
    std::shared_ptr<RmwReader> reader;
  };

  void update_nodes(const SideGraph& from);
  bool update_writers(const SideGraph& from);
  bool has_left(ShownWriter& writer);
  bool update_flows(const SideGraph& to, bool patient);
  void update_services(const SideGraph& from, const SideGraph& to);
  Flow make_flow(const Topic& topic, QosClass qos_class, const RmwNodeName& node, std::size_t depth, bool keep_all);
  /// Runs `step`. Its BridgeError is logged once, until an update in which nothing of this `key` fails.
  template <class Step>
  void attempt(const std::string& key, Step&& step);

  RmwSide& from_;
  RmwSide& to_;
  Updater& updater_;
  std::map<RmwNodeName, NodePtr> nodes_;
  std::map<Gid, ShownWriter> writers_;
  std::map<std::pair<Topic, QosClass>, Flow> flows_;
  std::map<Topic, std::shared_ptr<ServiceBridge>> services_;
  std::set<std::string> failed_, failed_before_;
};

}  // namespace baton::bridge
