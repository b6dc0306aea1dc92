// SPDX-License-Identifier: Apache-2.0
// One side of the bridge: a context of an RMW, its graph, and the endpoints that the bridge makes there. It does not know the other side.
//
// Thread rules: any thread may make and drop nodes and endpoints, publish, send and ask for the graph. Callbacks of endpoints come on the
// thread in run(), one at a time. An endpoint that is waited for is destroyed when run() has seen that it was dropped.
// Invariants: (1) an endpoint keeps its node, a node its side's context; (2) run() sleeps without a timeout.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rmw_library.hpp"
#include "types.hpp"

namespace baton::bridge {

using Gid = std::array<std::uint8_t, RMW_GID_STORAGE_SIZE>;

struct RmwNodeName {
  std::string space, name;  ///< "/" and "talker"; both empty: an endpoint without a node

  bool operator<(const RmwNodeName& other) const { return std::tie(space, name) < std::tie(other.space, other.name); }
};

struct RmwEndpoint {
  std::string topic, type;
  RmwNodeName node;
  Gid gid{};
  rmw_qos_profile_t qos{};
};

/// What other processes have in a side's graph; the bridge's own nodes and endpoints are left out. Both sides may have a node of one name.
struct SideGraph {
  std::set<RmwNodeName> nodes;
  std::vector<RmwEndpoint> writers, readers, servers;  ///< a server's topic is its service; a gid: writers only
  // Also of writers and servers whose node is not known yet, or no longer:
  std::set<Gid> writer_gids;
  std::set<std::string> served;  ///< services
  bool joined = false;           ///< other bridges join this side with the one where this bridge announces itself
};

/// Ends what an RMW has filled.
template <class T>
class Filled {
 public:
  Filled(T value, rmw_ret_t (*end)(T*)) : value_(value), end_(end) {}
  ~Filled() { forget(end_(&value_)); }
  Filled(const Filled&) = delete;
  Filled& operator=(const Filled&) = delete;
  T* operator->() { return &value_; }
  T* get() { return &value_; }

 private:
  T value_;
  rmw_ret_t (*end_)(T*);
};

class RmwSide;

/// A node of the bridge, with the name of the node of the other side for which it stands.
class RmwNode {
 public:
  RmwNode(RmwSide& side, const RmwNodeName& name);
  ~RmwNode();

  RmwSide& side() const { return side_; }
  const RmwNodeName& name() const { return name_; }
  rmw_node_t* handle() const { return handle_.get(); }

 private:
  RmwSide& side_;
  RmwNodeName name_;
  Owned<rmw_node_t> handle_;
};
using NodePtr = std::shared_ptr<RmwNode>;

class RmwWriter {
 public:
  RmwWriter(NodePtr node, const std::string& type, const std::string& topic, const rmw_qos_profile_t& qos);
  ~RmwWriter();

  /// False after an error; the text is last_rmw_error().
  bool publish(const rmw_serialized_message_t& message);
  std::size_t matched() const;
  /// Whether each reliable subscription has acknowledged all messages. Does not block.
  bool acknowledged() const;

 private:
  NodePtr node_;
  Owned<rmw_publisher_t> handle_;
  Gid gid_{};
  bool asserts_ = false;  ///< liveliness MANUAL_BY_TOPIC
};

/// What run() waits for.
class Waitable {
 public:
  enum class Kind { reader, server, client };
  /// `topic`: on which it is in the graph as a subscription, by the RMW's own name; empty for none.
  Waitable(Kind kind, NodePtr node, std::string topic);
  virtual ~Waitable();
  Waitable(const Waitable&) = delete;
  Waitable& operator=(const Waitable&) = delete;

  Kind kind() const { return kind_; }
  /// The RMW's object, as rmw_wait() takes it.
  virtual void* handle() const = 0;
  /// Takes one thing and calls back. False if there is none.
  virtual bool take() = 0;

 protected:
  const RmwLibrary& rmw() const;
  const Kind kind_;
  const NodePtr node_;
  const std::string topic_;
};

class RmwReader final : public Waitable {
 public:
  using Callback = std::function<void(const Gid& writer, const rmw_serialized_message_t& message)>;
  RmwReader(NodePtr node, const std::string& type, const std::string& topic, const rmw_qos_profile_t& qos,
            Callback callback);
  void* handle() const override { return handle_->data; }
  bool take() override;
  std::size_t matched() const;

 private:
  Callback callback_;
  Filled<rmw_serialized_message_t> message_{rmw_get_zero_initialized_serialized_message(), rcutils_uint8_array_fini};
  Owned<rmw_subscription_t> handle_;
};

class RmwServer final : public Waitable {
 public:
  using Callback = std::function<void(const rmw_request_id_t& request, const Native& message)>;
  RmwServer(NodePtr node, const ServiceType& type, const std::string& service, const rmw_qos_profile_t& qos,
            Callback callback);
  void* handle() const override { return handle_->data; }
  bool take() override;
  /// Throws BridgeError.
  void respond(rmw_request_id_t request, const Native& response);

 private:
  ServiceType type_;
  Callback callback_;
  Owned<rmw_service_t> handle_;
};

class RmwClient final : public Waitable {
 public:
  using Callback = std::function<void(std::int64_t request, const Native& message)>;
  RmwClient(NodePtr node, const ServiceType& type, const std::string& service, const rmw_qos_profile_t& qos,
            Callback callback);
  void* handle() const override { return handle_->data; }
  bool take() override;
  bool server_is_there() const;
  /// The number of the request. Throws BridgeError.
  std::int64_t request(const Native& message);

 private:
  ServiceType type_;
  Callback callback_;
  Owned<rmw_client_t> handle_;
};

struct SideOptions {
  std::string label;  ///< for people: "Baton", "rmw_fastrtps_cpp"
  /// The name of this bridge, the same for both sides. The one that announces it has a node of this name. Bridges show the nodes of those whose
  /// names are greater than their own. So this name appears on the other side if bridges with smaller names join the two sides.
  std::string bridge;
  bool announces = false;
  std::size_t domain = 0;
  std::string enclave = "/";
  std::string security_root;  ///< folder of the enclave's files; empty: no security
  bool enforce_security = false;
  bool discovers = false;  ///< whether the environment says how far discovery reaches
  /// Whether subscriptions ignore what this side publishes. rmw_fastrtps_cpp then loses the news of other messages behind local ones.
  bool ignores_own = false;
  /// What stands around a service's name in that of the topic of its requests: as RMWs on DDS have it.
  std::string before_service = "rq", behind_service = "Request";
};

/// What the names of all bridges' nodes begin with.
inline constexpr const char* kBridge = "_baton_bridge";

class RmwSide {
 public:
  /// Throws BridgeError. `on_graph_change` comes on the thread in run(), before what else has come, also for changes by the bridge itself.
  RmwSide(RmwLibrary library, const SideOptions& options, std::function<void()> on_graph_change);
  ~RmwSide();
  RmwSide(const RmwSide&) = delete;
  RmwSide& operator=(const RmwSide&) = delete;

  const RmwLibrary& rmw() const { return library_; }
  const std::string& label() const { return options_.label; }
  bool ignores_own() const { return options_.ignores_own; }
  /// Whether a message says which writer of the graph published it. rmw_cyclonedds_cpp has other gids in its graph than its messages have.
  bool tells_writers() const { return tells_writers_; }
  SideGraph graph();
  NodePtr node(const RmwNodeName& name);
  /// The node that stands for the bridge itself.
  const NodePtr& own_node() const { return self_; }
  /// Waits for it from now on, as long as the caller keeps it.
  template <class Endpoint>
  std::shared_ptr<Endpoint> wait_for(std::shared_ptr<Endpoint> endpoint) {
    add(endpoint);
    return endpoint;
  }
  /// Makes run() let go of endpoints that were dropped: it keeps those that it waits for. From any thread.
  void let_go();
  /// How often run() has taken all that had come. What had come before two further turns began and ended has been taken.
  std::uint64_t turns() const {
    return turns_.load(std::memory_order_acquire);
  }  // pairs with the release in wait_once()
  /// Returns after stop().
  void run();
  /// From any thread.
  void stop();
  /// The RMW's own name of the topic of a service's requests.
  std::string request_topic(const std::string& service) const {
    return options_.before_service + service + options_.behind_service;
  }
  /// Whether a writer with this gid is the bridge's own.
  bool is_own(const Gid& gid) const;

 private:
  friend class RmwNode;
  friend class RmwWriter;
  friend class Waitable;
  void add(const std::shared_ptr<Waitable>& waitable);
  void wait_once(rmw_guard_condition_t* graph_changed, rmw_wait_set_t* wait_set);
  void list_nodes(SideGraph& graph);
  void list_topics(SideGraph& graph);
  enum class Of { writers, readers, servers };
  /// Of the topic or service `name`; `type` of a service. How many the RMW lists, the bridge's own among them.
  std::size_t list_endpoints(SideGraph& graph, const std::string& name, const std::string& type, Of of);
  void list_services(SideGraph& graph);

  RmwLibrary library_;
  SideOptions options_;
  std::function<void()> on_graph_change_;
  rmw_context_t context_;
  Owned<rmw_guard_condition_t> wake_;
  NodePtr self_;
  std::unique_ptr<RmwWriter> announcement_;  ///< publishes nothing: the link shows a node for its publishers alone
  bool tells_writers_ = true;                // of the thread that calls graph()
  std::atomic<bool> stopping_{false};        // relaxed: let_go() orders it through the RMW's lock
  std::atomic<std::uint64_t> turns_{0};
  mutable std::mutex mutex_;  // guards all below
  std::map<RmwNodeName, std::weak_ptr<RmwNode>> nodes_;
  std::set<Gid> own_writers_;
  std::multiset<std::pair<std::string, RmwNodeName>> own_readers_;  ///< by their topics, with those of servers
  std::vector<std::weak_ptr<Waitable>> waitables_;
};

}  // namespace baton::bridge
