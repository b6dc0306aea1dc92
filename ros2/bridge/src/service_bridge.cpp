// SPDX-License-Identifier: Apache-2.0
#include "service_bridge.hpp"

#include "log.hpp"

namespace baton::bridge {

std::shared_ptr<ServiceBridge> ServiceBridge::make(const NodePtr& server_node, NodePtr client_node,
                                                   const RmwEndpoint& server, Updater& updater) {
  const ServiceType type = service_type(server.type);
  std::shared_ptr<ServiceBridge> made(new ServiceBridge(std::move(client_node), type, server, updater));
  const std::weak_ptr<ServiceBridge> weak = made;
  made->server_ = server_node->side().wait_for(std::make_shared<RmwServer>(
      server_node, type, server.topic, server.qos, [weak](const rmw_request_id_t& id, const Native& message) {
        if (const auto bridge = weak.lock()) bridge->request(id, message);
      }));
  return made;
}

void ServiceBridge::request(const rmw_request_id_t& id, const Native& message) try {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!client_) {
    const std::weak_ptr<ServiceBridge> weak = weak_from_this();
    client_ = client_node_->side().wait_for(std::make_shared<RmwClient>(
        client_node_, type_, service_, qos_, [weak](std::int64_t number, const Native& response) {
          if (const auto bridge = weak.lock()) bridge->response(number, response);
        }));
  }
  if (waiting_.size() + asked_.size() >= kMostRequests) {
    log_line("the oldest request of " + service_ + " is lost: " + std::to_string(kMostRequests) + " have no response");
    if (asked_.empty()) {
      waiting_.pop_front();
    } else {
      asked_.erase(asked_.begin());
    }
  }
  if (waiting_.empty() && client_->server_is_there() && updater_.settled()) {
    send({id, message});
  } else {
    waiting_.push_back({id, message});
    updater_.ask();
  }
} catch (const BridgeError& error) {
  log_line("a request of " + service_ + " is lost: " + error.what());
}

void ServiceBridge::send(const Request& request) { asked_.emplace(client_->request(request.message), request.id); }

bool ServiceBridge::send_waiting() try {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_.empty() || !client_->server_is_there()) return !waiting_.empty();
  while (!waiting_.empty()) {
    const Request next = waiting_.front();
    waiting_.pop_front();
    send(next);
  }
  return false;
} catch (const BridgeError& error) {
  log_line("a request of " + service_ + " is lost: " + error.what());
  return true;
}

std::size_t ServiceBridge::unanswered() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size() + asked_.size();
}

void ServiceBridge::response(std::int64_t number, const Native& message) try {
  rmw_request_id_t id;
  {
    // With the lock of send(): a response may come before the request's number is noted.
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = asked_.find(number);
    if (found == asked_.end()) return;  // another server of the name has answered, or the request was given up
    id = found->second;
    asked_.erase(found);
  }
  server_->respond(id, message);
} catch (const BridgeError& error) {
  log_line("a response of " + service_ + " is lost: " + error.what());
}

}  // namespace baton::bridge
