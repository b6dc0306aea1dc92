// SPDX-License-Identifier: Apache-2.0
#include "service_path.hpp"

#include <cstring>
#include <utility>

#include "baton/message/builder.hpp"
#include "baton/os/shortage.hpp"
#include "endpoints.hpp"
#include "peer_faults.hpp"
#include "rcutils/logging_macros.h"
#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

// As baton/node/service.hpp: a request is delivered or refused; a client that stopped reading holds up nobody.
QoS request_qos() { return QoS().reliable().keep_all(100); }
QoS response_qos() { return QoS().reliable().keep_last(100); }

// The application sees a request's number, and knows nothing of paths. DDS numbers its requests from 1, and so do
// Baton's own nodes; clients of this RMW number theirs through Baton from kThroughBaton. So a server shows all requests
// through Baton with kThroughBaton set, and those of Baton's nodes with kOfBatonsNode, too.
constexpr std::uint64_t kThroughBaton = std::uint64_t{1} << 62;  // ClientPath::kFirst
constexpr std::uint64_t kOfBatonsNode = std::uint64_t{1} << 61;

/// Makes a request's number the one that the application sees. False: no client sends this number.
bool show(std::uint64_t* number) {
  if (*number >= 2 * kThroughBaton) return false;
  if ((*number & kOfBatonsNode) != 0) return false;
  if ((*number & kThroughBaton) == 0) *number |= kThroughBaton | kOfBatonsNode;
  return true;
}
std::uint64_t sent_number(std::uint64_t shown) {
  return (shown & kOfBatonsNode) != 0 ? shown & ~(kThroughBaton | kOfBatonsNode) : shown;
}

rmw_ret_t failed(const Error& error) {
  RMW_SET_ERROR_MSG(error.message.c_str());
  return error.code == Errc::out_of_memory ? RMW_RET_BAD_ALLOC : RMW_RET_ERROR;
}

}  // namespace

std::optional<ServicePath::Ends> ServicePath::make_ends(Role role, BatonContext& baton_context, const std::string& node,
                                                        const char* service,
                                                        const rosidl_service_type_support_t& type) {
  const bool server = role == Role::kServer;
  const char* const end = server ? "service" : "client";
  const auto say = [&](const Error& error) {
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s %s is not in Baton: %s", end, service, error.message.c_str());
    return std::nullopt;
  };
  if (type.request_typesupport == nullptr || type.response_typesupport == nullptr)
    return say({Errc::unsupported, "its type support does not name the types of request and response"});
  Result<std::shared_ptr<const TypeSupport>> request =
      type_support_of(type.request_typesupport, warn_of_type(end, service));
  if (!request) return std::nullopt;  // the log says why
  Result<std::shared_ptr<const TypeSupport>> response =
      type_support_of(type.response_typesupport, warn_of_type(end, service));
  if (!response) return std::nullopt;
  Ends ends;
  ends.received_type = server ? *request : *response;
  ends.sent_type = server ? *response : *request;
  transport::Participant::ReaderOptions reader_options;
  reader_options.topic = server ? request_topic(service) : response_topic(service);
  reader_options.node = node;
  reader_options.type = ends.received_type->info;
  reader_options.qos = server ? request_qos() : response_qos();
  transport::Participant::WriterOptions writer_options;
  writer_options.topic = server ? response_topic(service) : request_topic(service);
  writer_options.node = node;
  writer_options.type = ends.sent_type->info;
  writer_options.qos = server ? response_qos() : request_qos();
  writer_options.skips_full = !server;
  writer_options.grants_in_part = server;
  if (server) writer_options.pool.slot_count = transport::kResponseSlots;
  // The responses' end comes first at a client, and last at a server: who finds a server can be answered.
  if (!server) {
    Result<std::shared_ptr<transport::Reader>> reader = baton_context.participant().create_reader(reader_options);
    if (!reader) return say(reader.error());
    ends.reader = std::move(*reader);
  }
  Result<std::shared_ptr<transport::Writer>> writer = baton_context.participant().create_writer(writer_options);
  if (!writer) return say(writer.error());
  ends.writer = std::move(*writer);
  if (server) {
    Result<std::shared_ptr<transport::Reader>> reader = baton_context.participant().create_reader(reader_options);
    if (!reader) return say(reader.error());
    ends.reader = std::move(*reader);
  }
  return ends;
}

Result<void> ServicePath::send(const void* native, const transport::PublishInfo& info) {
  transport::Writer& writer = *ends_.writer;
  const TypeSupport& type = *ends_.sent_type;
  Result<memory::Chunk> chunk =
      writer.loan_sized(type.info.fixed_size ? type.info.skeleton_bytes : type.native->room_for(native));
  if (!chunk) return chunk.error();
  message::LoanBuilder builder(chunk->message());
  const Result<void> written = type.native->write(native, builder);
  const Result<std::uint64_t> published =
      written ? writer.publish(*chunk, info) : Result<std::uint64_t>(written.error());
  if (published) return {};
  writer.abandon(*chunk);
  return published.error();
}

template <class Wanted>
rmw_ret_t ServicePath::take(rmw_service_info_t* info, void* native, bool* taken, Wanted&& wanted) {
  *taken = false;
  if (Inbox::Message message; inbox_->take(&message)) {
    if (!wanted(message)) return RMW_RET_OK;
    rosidl::ArrayCopier arrays;
    if (const Result<void> read = ends_.received_type->native->read(message.bytes(), native, arrays); !read) {
      warn_of_peer(read.error().code, "a " + ends_.received_type->info.name + " was dropped: " + read.error().message);
      return RMW_RET_OK;  // the next take is for the next message: a callback is notified of each
    }
    static_assert(sizeof info->request_id.writer_guid == sizeof message.client);
    std::memcpy(info->request_id.writer_guid, message.client.data(), message.client.size());
    info->request_id.sequence_number = static_cast<std::int64_t>(message.sequence);
    info->source_timestamp = message.source_time_ns;
    info->received_timestamp = message.reception_time_ns;
    *taken = true;
    return RMW_RET_OK;
  }
  return RMW_RET_OK;
}

std::unique_ptr<ServerPath> ServerPath::make(const std::shared_ptr<BatonContext>& baton_context,
                                             const std::string& node, const char* service,
                                             const rosidl_service_type_support_t& type, ReadySignal& signal) {
  std::optional<Ends> ends = make_ends(Role::kServer, *baton_context, node, service, type);
  if (!ends) return nullptr;
  return std::unique_ptr<ServerPath>(new ServerPath(std::move(*ends), baton_context, signal));
}

rmw_ret_t ServerPath::take(rmw_service_info_t* info, void* request, bool* taken) {
  return ServicePath::take(info, request, taken, [](Inbox::Message& message) { return show(&message.sequence); });
}

bool ServerPath::has_taken(const rmw_request_id_t& request) noexcept {
  return request.sequence_number > 0 && (static_cast<std::uint64_t>(request.sequence_number) & kThroughBaton) != 0;
}

rmw_ret_t ServerPath::respond(const rmw_request_id_t& request, const void* response) {
  transport::PublishInfo info;
  std::memcpy(info.correlation_client.data(), request.writer_guid, info.correlation_client.size());
  info.correlation_sequence = sent_number(static_cast<std::uint64_t>(request.sequence_number));
  info.only_client = true;
  const Result<void> sent = send(response, info);
  if (sent) return RMW_RET_OK;
  // Clients that keep responses can cause that, so it is no error of the server, as in baton/node/service.hpp.
  if (!finds_no_room(sent.error().code)) return failed(sent.error());
  warn_of_peer(sent.error().code, "a request gets no " + ends_.sent_type->info.name + ": " + sent.error().message);
  return RMW_RET_OK;
}

std::unique_ptr<ClientPath> ClientPath::make(const std::shared_ptr<BatonContext>& baton_context,
                                             const std::string& node, const char* service,
                                             const rosidl_service_type_support_t& type, ReadySignal& signal) {
  std::optional<Ends> ends = make_ends(Role::kClient, *baton_context, node, service, type);
  if (!ends) return nullptr;
  return std::unique_ptr<ClientPath>(new ClientPath(std::move(*ends), baton_context, signal));
}

rmw_ret_t ClientPath::send(const void* request, std::int64_t* sequence) {
  transport::PublishInfo info;
  info.correlation_client = ends_.reader->gid();
  const std::int64_t number = next_.fetch_add(1, std::memory_order_relaxed);  // only uniqueness matters
  info.correlation_sequence = static_cast<std::uint64_t>(number);
  if (const Result<void> sent = ServicePath::send(request, info); !sent) return failed(sent.error());
  *sequence = number;
  return RMW_RET_OK;
}

rmw_ret_t ClientPath::take(rmw_service_info_t* info, void* response, bool* taken) {
  // Responses whose own reader was not connected yet go to all clients of the service.
  return ServicePath::take(info, response, taken,
                           [&](const Inbox::Message& message) { return message.client == ends_.reader->gid(); });
}

}  // namespace baton::rmw
