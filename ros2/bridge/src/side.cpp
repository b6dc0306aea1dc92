// SPDX-License-Identifier: Apache-2.0
#include "side.hpp"

#include <algorithm>

#include "discovery.hpp"
#include "log.hpp"
#include "rcutils/allocator.h"
#include "rcutils/strdup.h"

namespace baton::bridge {
namespace {

constexpr const char* kNoNode = "_CREATED_BY_BARE_DDS_APP_";  // as RMWs on DDS name what is of no node of ROS
constexpr std::size_t kMostTakes = 32;                        // of one endpoint before the others have their turn
// Each node of ROS 2 publishes it, so each host knows the type, and commands show no topic that is not there anyway.
constexpr const char* kAnnouncementTopic = "/rosout";
constexpr const char* kAnnouncementType = "rcl_interfaces/msg/Log";

rcutils_allocator_t allocator() { return rcutils_get_default_allocator(); }

/// What an RMW made at `node`. Throws BridgeError if it made nothing: "cannot publish /image on Baton".
template <class T>
Owned<T> made_at(const RmwNode& node, T* made, rmw_ret_t (*end)(rmw_node_t*, T*), const std::string& what) {
  require(made, "cannot " + what + " on " + node.side().label());
  return {made, [of = node.handle(), end](T* object) { forget(end(of, object)); }};
}

Filled<rmw_names_and_types_t> no_names() {
  return {rmw_get_zero_initialized_names_and_types(), rmw_names_and_types_fini};
}

}  // namespace

Waitable::Waitable(Kind kind, NodePtr node, std::string topic)
    : kind_(kind), node_(std::move(node)), topic_(std::move(topic)) {
  const std::lock_guard<std::mutex> lock(node_->side().mutex_);
  node_->side().own_readers_.emplace(topic_, node_->name());
}

Waitable::~Waitable() {
  const std::lock_guard<std::mutex> lock(node_->side().mutex_);
  auto& own = node_->side().own_readers_;
  own.erase(own.find({topic_, node_->name()}));
}

const RmwLibrary& Waitable::rmw() const { return node_->side().rmw(); }

RmwNode::RmwNode(RmwSide& side, const RmwNodeName& name)
    : side_(side),
      name_(name),
      handle_(require(side.rmw().rmw_create_node(&side.context_, name.name.c_str(), name.space.c_str()),
                      "cannot make the node " + name.name + " on " + side.label()),
              [&rmw = side.rmw()](rmw_node_t* node) { forget(rmw.rmw_destroy_node(node)); }) {}

RmwNode::~RmwNode() {
  handle_.reset();
  const std::lock_guard<std::mutex> lock(side_.mutex_);
  const auto found = side_.nodes_.find(name_);
  if (found != side_.nodes_.end() && found->second.expired()) side_.nodes_.erase(found);
}

RmwWriter::RmwWriter(NodePtr node, const std::string& type, const std::string& topic, const rmw_qos_profile_t& qos)
    : node_(std::move(node)), asserts_(qos.liveliness == RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC) {
  const RmwLibrary& rmw = node_->side().rmw();
  const rmw_publisher_options_t options = rmw_get_default_publisher_options();
  handle_ =
      made_at(*node_, rmw.rmw_create_publisher(node_->handle(), message_type(type), topic.c_str(), &qos, &options),
              rmw.rmw_destroy_publisher, "publish " + topic);
  rmw_gid_t gid{};
  forget(rmw.rmw_get_gid_for_publisher(handle_.get(), &gid));
  std::copy_n(gid.data, gid_.size(), gid_.begin());
  const std::lock_guard<std::mutex> lock(node_->side().mutex_);
  node_->side().own_writers_.insert(gid_);
}

RmwWriter::~RmwWriter() {
  handle_.reset();
  const std::lock_guard<std::mutex> lock(node_->side().mutex_);
  node_->side().own_writers_.erase(gid_);
}

bool RmwWriter::publish(const rmw_serialized_message_t& message) {
  const RmwLibrary& rmw = node_->side().rmw();
  if (asserts_) forget(rmw.rmw_publisher_assert_liveliness(handle_.get()));
  return rmw.rmw_publish_serialized_message(handle_.get(), &message, nullptr) == RMW_RET_OK;
}

std::size_t RmwWriter::matched() const {
  std::size_t count = 0;
  forget(node_->side().rmw().rmw_publisher_count_matched_subscriptions(handle_.get(), &count));
  return count;
}

bool RmwWriter::acknowledged() const {
  const rmw_ret_t result = node_->side().rmw().rmw_publisher_wait_for_all_acked(handle_.get(), {0, 0});
  forget(result);
  return result != RMW_RET_TIMEOUT;  // an RMW that cannot tell does not hold the writer up
}

RmwReader::RmwReader(NodePtr node, const std::string& type, const std::string& topic, const rmw_qos_profile_t& qos,
                     Callback callback)
    : Waitable(Kind::reader, std::move(node), topic), callback_(std::move(callback)) {
  rmw_subscription_options_t options = rmw_get_default_subscription_options();
  options.ignore_local_publications = node_->side().ignores_own();
  rcutils_allocator_t memory = allocator();
  require(rmw_serialized_message_init(message_.get(), 0, &memory), "no memory");
  handle_ =
      made_at(*node_, rmw().rmw_create_subscription(node_->handle(), message_type(type), topic.c_str(), &qos, &options),
              rmw().rmw_destroy_subscription, "subscribe " + topic);
}

std::size_t RmwReader::matched() const {
  std::size_t count = 0;
  forget(rmw().rmw_subscription_count_matched_publishers(handle_.get(), &count));
  return count;
}

bool RmwReader::take() {
  bool taken = false;
  rmw_message_info_t info = rmw_get_zero_initialized_message_info();
  if (rmw().rmw_take_serialized_message_with_info(handle_.get(), message_.get(), &taken, &info, nullptr) !=
      RMW_RET_OK) {
    log_line(node_->side().label() + " could not give a message: " + last_rmw_error());
    return taken;
  }
  if (!taken) return false;
  Gid gid;
  std::copy_n(info.publisher_gid.data, gid.size(), gid.begin());
  if (!node_->side().is_own(gid)) callback_(gid, *message_.get());
  return true;
}

RmwServer::RmwServer(NodePtr node, const ServiceType& type, const std::string& service, const rmw_qos_profile_t& qos,
                     Callback callback)
    : Waitable(Kind::server, node, node->side().request_topic(service)), type_(type), callback_(std::move(callback)) {
  handle_ = made_at(*node_, rmw().rmw_create_service(node_->handle(), type.support, service.c_str(), &qos),
                    rmw().rmw_destroy_service, "serve " + service);
}

bool RmwServer::take() {
  bool taken = false;
  rmw_service_info_t header{};
  const Native request = type_.make_request();
  if (!request || rmw().rmw_take_request(handle_.get(), &header, request.get(), &taken) != RMW_RET_OK) {
    log_line(node_->side().label() + " could not give a request: " + last_rmw_error());
    return taken;
  }
  if (taken) callback_(header.request_id, request);
  return taken;
}

void RmwServer::respond(rmw_request_id_t request, const Native& response) {
  require(rmw().rmw_send_response(handle_.get(), &request, response.get()),
          "cannot answer on " + node_->side().label());
}

RmwClient::RmwClient(NodePtr node, const ServiceType& type, const std::string& service, const rmw_qos_profile_t& qos,
                     Callback callback)
    : Waitable(Kind::client, std::move(node), ""), type_(type), callback_(std::move(callback)) {
  handle_ = made_at(*node_, rmw().rmw_create_client(node_->handle(), type.support, service.c_str(), &qos),
                    rmw().rmw_destroy_client, "call " + service);
}

bool RmwClient::take() {
  bool taken = false;
  rmw_service_info_t header{};
  const Native response = type_.make_response();
  if (!response || rmw().rmw_take_response(handle_.get(), &header, response.get(), &taken) != RMW_RET_OK) {
    log_line(node_->side().label() + " could not give a response: " + last_rmw_error());
    return taken;
  }
  if (taken) callback_(header.request_id.sequence_number, response);
  return taken;
}

bool RmwClient::server_is_there() const {
  bool there = false;
  forget(rmw().rmw_service_server_is_available(node_->handle(), handle_.get(), &there));
  return there;
}

std::int64_t RmwClient::request(const Native& message) {
  std::int64_t number = 0;
  require(rmw().rmw_send_request(handle_.get(), message.get(), &number), "cannot call on " + node_->side().label());
  return number;
}

RmwSide::RmwSide(RmwLibrary library, const SideOptions& options, std::function<void()> on_graph_change)
    : library_(std::move(library)),
      options_(options),
      on_graph_change_(std::move(on_graph_change)),
      context_(rmw_get_zero_initialized_context()) {
  rmw_init_options_t init = rmw_get_zero_initialized_init_options();
  require(library_.rmw_init_options_init(&init, allocator()), "cannot start " + options.label);
  init.instance_id = 1;
  init.domain_id = options.domain;
  init.enclave = rcutils_strdup(options.enclave.c_str(), allocator());
  if (options.discovers) set_discovery(&init);
  if (!options.security_root.empty()) {
    init.security_options.security_root_path = rcutils_strdup(options.security_root.c_str(), allocator());
    init.security_options.enforce_security =
        options.enforce_security ? RMW_SECURITY_ENFORCEMENT_ENFORCE : RMW_SECURITY_ENFORCEMENT_PERMISSIVE;
  }
  const rmw_ret_t result = library_.rmw_init(&init, &context_);
  const std::string error = result == RMW_RET_OK ? "" : last_rmw_error();
  forget(library_.rmw_init_options_fini(&init));
  if (result != RMW_RET_OK) throw BridgeError("cannot start " + options.label + ": " + error);
  wake_ = {require(library_.rmw_create_guard_condition(&context_), "cannot start " + options.label),
           [this](rmw_guard_condition_t* guard) { forget(library_.rmw_destroy_guard_condition(guard)); }};
  self_ = std::make_shared<RmwNode>(*this, RmwNodeName{"/", options.announces ? options.bridge : kBridge});
  if (options.announces)
    announcement_ = std::make_unique<RmwWriter>(self_, kAnnouncementType, kAnnouncementTopic, rmw_qos_profile_default);
}

RmwSide::~RmwSide() {
  announcement_.reset();
  self_.reset();
  wake_.reset();
  forget(library_.rmw_shutdown(&context_));
  forget(library_.rmw_context_fini(&context_));
}

NodePtr RmwSide::node(const RmwNodeName& name) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = nodes_.find(name);
    if (found != nodes_.end())
      if (NodePtr node = found->second.lock()) return node;
  }
  NodePtr made = std::make_shared<RmwNode>(*this, name);
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_[name] = made;
  return made;
}

void RmwSide::add(const std::shared_ptr<Waitable>& waitable) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waitables_.push_back(waitable);
  }
  let_go();
}

void RmwSide::let_go() { forget(library_.rmw_trigger_guard_condition(wake_.get())); }

void RmwSide::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  let_go();
}

bool RmwSide::is_own(const Gid& gid) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return own_writers_.count(gid) != 0;
}

void RmwSide::run() {
  auto* graph_changed = const_cast<rmw_guard_condition_t*>(
      require(library_.rmw_node_get_graph_guard_condition(self_->handle()), "no graph on " + label()));
  const Owned<rmw_wait_set_t> wait_set{require(library_.rmw_create_wait_set(&context_, 0), "cannot wait on " + label()),
                                       [this](rmw_wait_set_t* set) { forget(library_.rmw_destroy_wait_set(set)); }};
  while (!stopping_.load(std::memory_order_relaxed)) wait_once(graph_changed, wait_set.get());
}

void RmwSide::wait_once(rmw_guard_condition_t* graph_changed, rmw_wait_set_t* wait_set) {
  std::vector<std::shared_ptr<Waitable>> kept[3];  // by kind; alive while the RMW waits for them
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waitables_.erase(
        std::remove_if(waitables_.begin(), waitables_.end(), [](const auto& each) { return each.expired(); }),
        waitables_.end());
    for (const std::weak_ptr<Waitable>& each : waitables_)
      if (std::shared_ptr<Waitable> waitable = each.lock())
        kept[static_cast<int>(waitable->kind())].push_back(waitable);
  }
  std::vector<void*> handles[3];
  for (int kind = 0; kind < 3; ++kind)
    for (const auto& each : kept[kind]) handles[kind].push_back(each->handle());
  void* guards[] = {wake_->data, graph_changed->data};
  rmw_subscriptions_t readers{handles[0].size(), handles[0].data()};
  rmw_services_t servers{handles[1].size(), handles[1].data()};
  rmw_clients_t clients{handles[2].size(), handles[2].data()};
  rmw_guard_conditions_t conditions{2, guards};
  const rmw_ret_t result = library_.rmw_wait(&readers, &conditions, &servers, &clients, nullptr, wait_set, nullptr);
  if (result != RMW_RET_OK && result != RMW_RET_TIMEOUT)
    throw BridgeError("cannot wait on " + label() + ": " + last_rmw_error());
  if (guards[1] != nullptr) on_graph_change_();
  bool more = false;
  for (int kind = 0; kind < 3; ++kind)
    for (std::size_t i = 0; i < kept[kind].size(); ++i) {
      if (handles[kind][i] == nullptr) continue;
      std::size_t takes = 0;
      while (takes < kMostTakes && kept[kind][i]->take()) ++takes;
      more |= takes == kMostTakes;
    }
  if (!more) turns_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in turns()
}

SideGraph RmwSide::graph() {
  SideGraph graph;
  list_nodes(graph);
  list_topics(graph);
  list_services(graph);
  return graph;
}

void RmwSide::list_nodes(SideGraph& graph) {
  Filled<rcutils_string_array_t> names(rcutils_get_zero_initialized_string_array(), rcutils_string_array_fini);
  Filled<rcutils_string_array_t> spaces(rcutils_get_zero_initialized_string_array(), rcutils_string_array_fini);
  require(library_.rmw_get_node_names(self_->handle(), names.get(), spaces.get()), "no nodes of " + label());
  std::map<RmwNodeName, int> counts;
  for (std::size_t i = 0; i < names->size; ++i) ++counts[{spaces->data[i], names->data[i]}];
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, count] : counts) {
    // Of another bridge with a smaller name, or its own.
    if (name.name.rfind(kBridge, 0) == 0 && name.name <= options_.bridge) continue;
    if (count > static_cast<int>(nodes_.count(name))) graph.nodes.insert(name);
  }
}

void RmwSide::list_topics(SideGraph& graph) {
  auto topics = no_names();
  rcutils_allocator_t memory = allocator();
  require(library_.rmw_get_topic_names_and_types(self_->handle(), &memory, false, topics.get()),
          "no topics of " + label());
  for (std::size_t i = 0; i < topics->names.size; ++i) {
    list_endpoints(graph, topics->names.data[i], "", Of::writers);
    list_endpoints(graph, topics->names.data[i], "", Of::readers);
  }
}

std::size_t RmwSide::list_endpoints(SideGraph& graph, const std::string& name, const std::string& type, Of of) {
  const bool writers = of == Of::writers, raw = of == Of::servers;
  const std::string topic = raw ? request_topic(name) : name;
  rcutils_allocator_t memory = allocator();
  Filled<rmw_topic_endpoint_info_array_t> found(rmw_get_zero_initialized_topic_endpoint_info_array(),
                                                [](rmw_topic_endpoint_info_array_t* array) {
                                                  rcutils_allocator_t its = allocator();
                                                  return rmw_topic_endpoint_info_array_fini(array, &its);
                                                });
  auto* ask = writers ? library_.rmw_get_publishers_info_by_topic : library_.rmw_get_subscriptions_info_by_topic;
  forget(ask(self_->handle(), &memory, topic.c_str(), raw, found.get()));  // an error: it has gone
  std::map<RmwNodeName, std::size_t> own;                                  // that are still to be left out
  for (std::size_t i = 0; i < found->size; ++i) {
    const rmw_topic_endpoint_info_t& info = found->info_array[i];
    RmwEndpoint endpoint{
        name, raw ? type : info.topic_type, {info.node_namespace, info.node_name}, {}, info.qos_profile};
    std::copy_n(info.endpoint_gid, endpoint.gid.size(), endpoint.gid.begin());
    if (writers) {
      graph.joined |= !options_.announces && name == kAnnouncementTopic && endpoint.type == kAnnouncementType &&
                      endpoint.node.space == "/" && endpoint.node.name == options_.bridge;
      if (options_.announces && name == kAnnouncementTopic && endpoint.node.name == options_.bridge)
        tells_writers_ = is_own(endpoint.gid);
      if (is_own(endpoint.gid)) continue;
      graph.writer_gids.insert(endpoint.gid);
    } else {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto left = own.emplace(endpoint.node, own_readers_.count({topic, endpoint.node})).first;
      if (left->second != 0) {
        --left->second;
        continue;
      }
    }
    if (raw) graph.served.insert(name);
    if (endpoint.node.name.empty() || endpoint.node.name == kNoNode) {
      endpoint.node = {};
    } else if (graph.nodes.count(endpoint.node) == 0) {
      continue;  // its node is not known yet, or is the bridge of another host
    }
    (writers ? graph.writers : raw ? graph.servers : graph.readers).push_back(std::move(endpoint));
  }
  return found->size;
}

void RmwSide::list_services(SideGraph& graph) {
  auto services = no_names();
  rcutils_allocator_t memory = allocator();
  require(library_.rmw_get_service_names_and_types(self_->handle(), &memory, services.get()),
          "no services of " + label());
  for (std::size_t i = 0; i < services->names.size; ++i) {
    if (services->types[i].size == 0) continue;
    const char *service = services->names.data[i], *type = services->types[i].data[0];
    if (list_endpoints(graph, service, type, Of::servers) != 0) continue;
    // There is none, or, as over Zenoh, the RMW does not say whose.
    const std::size_t count = count_servers(library_, self_->handle(), service);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_its = [its = request_topic(service)](const auto& own) { return own.first == its; };
    if (static_cast<std::ptrdiff_t>(count) > std::count_if(own_readers_.begin(), own_readers_.end(), is_its)) {
      graph.served.insert(service);
      graph.servers.push_back({service, type, {}, {}, rmw_qos_profile_services_default});
    }
  }
}

}  // namespace baton::bridge
