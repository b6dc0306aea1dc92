// SPDX-License-Identifier: Apache-2.0
#include "service_end.hpp"

#include <cstring>
#include <utility>

#include "baton/message/builder.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/shortage.hpp"
#include "baton_graph.hpp"
#include "failure.hpp"
#include "interface.hpp"
#include "peer_faults.hpp"

namespace baton::rmw {
namespace {

/// Messages that one take passes over: lost, or for other clients. They may come as fast as they are dropped.
constexpr int kMostPassedOver = 64;

}  // namespace

Result<std::shared_ptr<ServiceEnd>> ServiceEnd::make(bool server, Context& context, const std::string& node,
                                                     const std::string& service,
                                                     const rosidl_service_type_support_t& type, const QoS& qos) {
  const Result<rosidl::ServiceTypes> types = types_of(type);
  if (!types) return Error{types.error().code, service + ": " + types.error().message};
  Result<std::shared_ptr<const TypeSupport>> request = type_support_of(types->request);
  if (!request) return request.error();
  Result<std::shared_ptr<const TypeSupport>> response = type_support_of(types->response);
  if (!response) return response.error();
  Ends ends{server, server ? *request : *response, server ? *response : *request, nullptr, nullptr, qos, nullptr};
  transport::Participant::ReaderOptions reader_options;
  reader_options.topic = server ? request_topic(service) : response_topic(service);
  reader_options.node = node;
  reader_options.type = ends.received_type->info;
  reader_options.qos = qos;
  reader_options.part = context.part();
  transport::Participant::WriterOptions writer_options;
  writer_options.topic = server ? response_topic(service) : request_topic(service);
  writer_options.node = node;
  writer_options.type = ends.sent_type->info;
  writer_options.qos = qos;
  writer_options.part = context.part();
  writer_options.skips_full = !server;
  writer_options.grants_in_part = server;
  if (server) writer_options.pool.slot_count = transport::kResponseSlots;
  if (!server)
    ends.matching = std::make_unique<Matching>(context.shared_participant(), writer_options, Matching::Partners::kAll);
  // The responses' end comes first at a client, and last at a server: who finds a server can be answered.
  for (const bool read : {!server, server}) {
    if (read) {
      Result<std::shared_ptr<transport::Reader>> reader = context.participant().create_reader(reader_options);
      if (!reader) return reader.error();
      ends.reader = std::move(*reader);
    } else {
      Result<std::shared_ptr<transport::Writer>> writer = context.participant().create_writer(writer_options);
      if (!writer) return writer.error();
      ends.writer = std::move(*writer);
    }
  }
  return std::make_shared<ServiceEnd>(context.callback_thread(), std::move(ends));
}

/// False for a request with a number that no client has, or with a client of another process, and for a response to another client.
bool ServiceEnd::is_for(const transport::TakenSample& sample) const {
  const memory::ChunkHeader& header = sample.header();
  if (header.correlation_sequence > INT64_MAX) return false;
  return ends_.server ? sample.names_own_client()
                      : std::memcmp(header.correlation_client, gid().data(), gid().size()) == 0;
}

/// Empty: there is none.
transport::TakenSample ServiceEnd::next() {
  for (int left = kMostPassedOver; left != 0; --left) {
    Result<transport::TakenSample> sample = ends_.reader->take();
    if (!sample) {
      if (!may_take_again(sample.error())) return {};
      continue;
    }
    if (*sample && !is_for(*sample)) continue;
    return std::move(*sample);
  }
  return {};
}

rmw_ret_t ServiceEnd::take(rmw_service_info_t* info, void* native, bool* taken) {
  *taken = false;
  if (const transport::TakenSample sample = next()) {
    rosidl::ArrayCopier arrays;
    const Result<void> read =
        ends_.received_type->native->read({sample.message(), sample.size_bytes()}, native, arrays);
    if (read) {
      const memory::ChunkHeader& header = sample.header();
      static_assert(sizeof info->request_id.writer_guid == sizeof(transport::Gid));
      std::memcpy(info->request_id.writer_guid, header.correlation_client, sizeof(transport::Gid));
      info->request_id.sequence_number = static_cast<std::int64_t>(header.correlation_sequence);
      info->source_timestamp = header.source_time_ns;
      info->received_timestamp = os::realtime_ns();
      *taken = true;
    } else {
      warn_of_peer(read.error().code, "a " + ends_.received_type->info.name + " was dropped: " + read.error().message);
    }
  }
  Source::taken();
  return RMW_RET_OK;
}

Result<void> ServiceEnd::send(const void* native, const transport::PublishInfo& info) {
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

rmw_ret_t ServiceEnd::respond(const rmw_request_id_t& request, const void* response) {
  transport::PublishInfo info;
  std::memcpy(info.correlation_client.data(), request.writer_guid, info.correlation_client.size());
  info.correlation_sequence = static_cast<std::uint64_t>(request.sequence_number);
  info.only_client = true;
  const Result<void> sent = send(response, info);
  if (sent) return RMW_RET_OK;
  // Clients that keep responses can cause that, so it is no error of the server, as in baton/node/service.hpp.
  if (!finds_no_room(sent.error().code)) return failed(sent.error());
  warn_of_peer(sent.error().code, "a request gets no " + ends_.sent_type->info.name + ": " + sent.error().message);
  return RMW_RET_OK;
}

rmw_ret_t ServiceEnd::request(const void* request, std::int64_t* sequence) {
  transport::PublishInfo info;
  info.correlation_client = gid();
  const std::int64_t number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  info.correlation_sequence = static_cast<std::uint64_t>(number);
  if (!available()) ends_.matching->await([this](std::size_t) { return available(); });
  if (const Result<void> sent = send(request, info); !sent) return failed(sent.error());
  *sequence = number;
  return RMW_RET_OK;
}

}  // namespace baton::rmw
