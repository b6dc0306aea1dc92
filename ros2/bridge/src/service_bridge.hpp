// SPDX-License-Identifier: Apache-2.0
// One service: a server on one side that stands for the servers of the other side, and a client there, made at the first request.
// Thread rules: request() on the thread of the server's side, response() on that of the client's, send_waiting() and unanswered() on any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "side.hpp"
#include "updater.hpp"

namespace baton::bridge {

class ServiceBridge : public std::enable_shared_from_this<ServiceBridge> {
 public:
  /// Requests that have no response yet, or wait for the server. One more ends the oldest, which is logged.
  static constexpr std::size_t kMostRequests = 1000;

  /// Its server and its client have the QoS of the server for which they stand, so they suit the same clients. Throws BridgeError. `updater`
  /// outlives the result.
  static std::shared_ptr<ServiceBridge> make(const NodePtr& server_node, NodePtr client_node, const RmwEndpoint& server,
                                             Updater& updater);
  const rmw_qos_profile_t& qos() const { return qos_; }
  /// Requests wait until the updater is settled and the other side's client has found the server. Sends them if it has; true if they still wait.
  bool send_waiting();
  /// Requests without a response, also those that wait.
  std::size_t unanswered();

 private:
  struct Request {
    rmw_request_id_t id;
    Native message;
  };
  ServiceBridge(NodePtr client_node, ServiceType type, const RmwEndpoint& server, Updater& updater)
      : client_node_(std::move(client_node)),
        type_(type),
        service_(server.topic),
        qos_(server.qos),
        updater_(updater) {}
  void request(const rmw_request_id_t& id, const Native& message);
  void response(std::int64_t number, const Native& message);
  void send(const Request& request);

  NodePtr client_node_;
  ServiceType type_;
  std::string service_;
  rmw_qos_profile_t qos_;
  Updater& updater_;
  std::shared_ptr<RmwServer> server_;
  std::mutex mutex_;  // guards the three below
  std::shared_ptr<RmwClient> client_;
  std::deque<Request> waiting_;
  std::map<std::int64_t, rmw_request_id_t> asked_;  ///< by the client's numbers, which grow
};

}  // namespace baton::bridge
