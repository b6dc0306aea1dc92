// SPDX-License-Identifier: Apache-2.0
// Services and clients over Baton, as nodes of Baton have them (baton/node/service.hpp): a topic of requests, a topic of
// responses, and in each message the gid of the reader that waits for the response, with the request's number.
//
// Each request takes one path. A client uses Baton if the underlying RMW knows no server and Baton does, so requests
// between two ends that the underlying RMW knows stay with it. A server takes requests from both paths, and its
// response takes the path of the request.
//
// Thread rules: all functions from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "baton_context.hpp"
#include "baton_graph.hpp"
#include "inbox.hpp"
#include "rmw/types.h"
#include "rosidl_runtime_c/service_type_support_struct.h"
#include "type_support.hpp"

namespace baton::rmw {

class ServicePath {
 public:
  ServicePath(const ServicePath&) = delete;
  ServicePath& operator=(const ServicePath&) = delete;
  const std::shared_ptr<Inbox>& inbox() const noexcept { return inbox_; }

 protected:
  enum class Role : std::uint8_t { kServer, kClient };
  struct Ends {
    std::shared_ptr<const TypeSupport> received_type, sent_type;
    std::shared_ptr<transport::Reader> reader;
    std::shared_ptr<transport::Writer> writer;
  };
  /// Null if Baton does not serve this service; the log says why.
  static std::optional<Ends> make_ends(Role role, BatonContext& baton_context, const std::string& node,
                                       const char* service, const rosidl_service_type_support_t& type);
  ServicePath(Ends ends, const std::shared_ptr<BatonContext>& baton_context, ReadySignal& signal)
      : ends_(std::move(ends)), inbox_(std::make_shared<Inbox>(baton_context, ends_.reader, signal)) {}
  ~ServicePath() { inbox_->stop(); }

  Result<void> send(const void* native, const transport::PublishInfo& info);
  /// Takes the next message if `wanted(message)` accepts it. A message that cannot be read is dropped, and the log says
  /// so (peer_faults.hpp).
  template <class Wanted>
  rmw_ret_t take(rmw_service_info_t* info, void* native, bool* taken, Wanted&& wanted);

  const Ends ends_;
  const std::shared_ptr<Inbox> inbox_;
};

/// The server's end.
class ServerPath final : public ServicePath {
 public:
  /// `signal` outlives this.
  static std::unique_ptr<ServerPath> make(const std::shared_ptr<BatonContext>& baton_context, const std::string& node,
                                          const char* service, const rosidl_service_type_support_t& type,
                                          ReadySignal& signal);
  rmw_ret_t take(rmw_service_info_t* info, void* request, bool* taken);
  /// Whether take() has returned this request, and not the underlying RMW. Only the request's number says so: the gid
  /// comes from the client, who may name another client's.
  static bool has_taken(const rmw_request_id_t& request) noexcept;
  rmw_ret_t respond(const rmw_request_id_t& request, const void* response);

 private:
  using ServicePath::ServicePath;
};

/// The client's end.
class ClientPath final : public ServicePath {
 public:
  static std::unique_ptr<ClientPath> make(const std::shared_ptr<BatonContext>& baton_context, const std::string& node,
                                          const char* service, const rosidl_service_type_support_t& type,
                                          ReadySignal& signal);
  /// Whether a server can get requests, and this client its responses.
  bool available() const { return ends_.writer->matched() != 0 && ends_.reader->matched() != 0; }
  rmw_ret_t send(const void* request, std::int64_t* sequence);
  rmw_ret_t take(rmw_service_info_t* info, void* response, bool* taken);

 private:
  using ServicePath::ServicePath;
  static constexpr std::int64_t kFirst = std::int64_t{1} << 62;  // kThroughBaton
  std::atomic<std::int64_t> next_{kFirst};
};

}  // namespace baton::rmw
