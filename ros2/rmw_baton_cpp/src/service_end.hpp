// SPDX-License-Identifier: Apache-2.0
// One end of a service, a server or a client, as nodes of Baton have them (baton/node/service.hpp): a topic of requests, a topic of
// responses, and in each message the gid of the reader that waits for the response, with the request's number.
//
// Thread rules: all functions from any thread.
// Invariants: (1) a client takes only responses to its own requests, and no process makes a server respond to another process's client.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "context.hpp"
#include "matching.hpp"
#include "rmw/types.h"
#include "rosidl_runtime_c/service_type_support_struct.h"
#include "source.hpp"
#include "type_support.hpp"

namespace baton::rmw {

class ServiceEnd final : public Source {
 public:
  /// Errors: those of type_support_of(), create_reader() and create_writer().
  static Result<std::shared_ptr<ServiceEnd>> make(bool server, Context& context, const std::string& node,
                                                  const std::string& service, const rosidl_service_type_support_t& type,
                                                  const QoS& qos);
  struct Ends {
    bool server;
    std::shared_ptr<const TypeSupport> received_type, sent_type;
    std::shared_ptr<transport::Reader> reader;
    std::shared_ptr<transport::Writer> writer;
    QoS qos;                             ///< of both topics
    std::unique_ptr<Matching> matching;  ///< of a client
  };
  ServiceEnd(const std::shared_ptr<CallbackThread>& thread, Ends ends)
      : Source(thread, ends.reader), ends_(std::move(ends)) {}

  /// A message that cannot be read is dropped, and the log says so (peer_faults.hpp).
  rmw_ret_t take(rmw_service_info_t* info, void* native, bool* taken);
  /// Of a server.
  rmw_ret_t respond(const rmw_request_id_t& request, const void* response);
  /// Of a client.
  rmw_ret_t request(const void* request, std::int64_t* sequence);
  /// Of a client: whether a server can get requests, and this client its responses.
  bool available() const { return ends_.writer->matched() != 0 && ends_.reader->matched() != 0; }

  const QoS& qos() const noexcept { return ends_.qos; }
  const transport::Gid& gid() const { return ends_.reader->gid(); }

 private:
  std::size_t unread() const override { return ends_.reader->unread(); }
  bool has_data() const override { return ends_.reader->has_data(); }
  bool is_for(const transport::TakenSample& sample) const;
  transport::TakenSample next();
  Result<void> send(const void* native, const transport::PublishInfo& info);

  const Ends ends_;
  std::atomic<std::int64_t> last_{0};  // request of a client. Only uniqueness matters: relaxed
};

}  // namespace baton::rmw
