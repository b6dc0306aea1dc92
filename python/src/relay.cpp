// SPDX-License-Identifier: Apache-2.0
// Endpoints that stand for those of another network, for a bridge that is written in Python: with the other's gid, node, numbers and
// stamps, and with the ids of services. Not for programs: the functions are private to the packages of this repository.
// Thread rules: endpoints.hpp.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "baton/memory/arena.hpp"
#include "baton/message/validate.hpp"
#include "baton/os/directory.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "endpoints_shared.hpp"
#include "relayed_words.hpp"
#include "subscription.hpp"

namespace baton::python {
namespace {

transport::TypeInfo type_info(const ClassRecord* record, const std::optional<nb::bytes>& ros_hash) {
  transport::TypeInfo info;
  info.name = record->type->name;
  info.hash = record->type->hash;
  info.definition = record->type->definition;
  info.skeleton_bytes = record->type->size;
  info.fixed_size = record->type->fixed;
  if (ros_hash && ros_hash->size() == info.ros_hash.value.size()) {
    info.ros_hash.version = 1;
    std::memcpy(info.ros_hash.value.data(), ros_hash->data(), ros_hash->size());
  }
  return info;
}

/// `use`: "topic", or of a service "requests" or "responses". With a `gid` it stands for a publisher of another network.
PyPublisher advertise_relayed(Node& node, const std::string& topic, nb::handle type, const QoS& qos,
                              const std::string& node_name, const std::string& use, const std::optional<nb::bytes>& gid,
                              const std::optional<nb::bytes>& ros_hash) {
  const ClassRecord* record = record_of_class(type.ptr());
  transport::Participant::WriterOptions options;
  options.topic = topic;
  options.node = node_name;
  options.qos = qos;
  options.type = type_info(record, ros_hash);
  options.relayed = gid.has_value();
  if (gid) options.gid = gid_of(*gid);
  options.skips_full = use == "requests";
  if (use == "responses") {
    options.grants_in_part = true;
    options.pool.slot_count = transport::kResponseSlots;
  }
  const WithoutGil without;
  std::shared_ptr<transport::Participant> participant = node.participant();
  auto writer = participant->create_writer(options).or_throw();
  return PyPublisher{os::make_hot_shared<baton::detail::PublisherCore>(std::move(writer), topic), record,
                     std::move(participant)};
}

/// A subscription without this process's relayed publishers. An executor gives its messages to `callback`.
PySubscription* subscribe_unrelayed(Node& node, const std::string& topic, nb::handle type, const QoS& qos,
                                    nb::object callback, const std::string& node_name) {
  const ClassRecord* record = record_of_class(type.ptr());
  transport::Participant::ReaderOptions options;
  options.topic = topic;
  options.node = node_name;
  options.qos = qos;
  options.type = type_info(record, std::nullopt);
  options.validate = message::Validation::check;
  options.validate_context = std::make_shared<message::Validation>(*record->type);
  options.not_relayed = true;
  std::shared_ptr<transport::Participant> participant = node.participant();
  std::shared_ptr<transport::Reader> reader;
  {
    const WithoutGil without;
    reader = participant->create_reader(options).or_throw();
  }
  auto subscription = std::make_unique<PySubscription>(reader, record, topic, participant);
  subscription->callback = std::make_shared<Callback>(std::move(callback));
  auto executable = std::make_shared<PythonSubscriptionExecutable>(group_or_default(node, nullptr), reader, record,
                                                                   subscription->callback);
  const WithoutGil without;
  subscription->registration = node.add(executable);
  return subscription.release();
}

/// The bytes of a chunk, from a host with the same byte order. They are checked where they lie, after the copy. A broken message publishes
/// nothing.
std::uint64_t publish_chunk_bytes(const PyPublisher& publisher, nb::handle object, nb::handle words) {
  const WireBuffer wire(object);
  const message::Bytes bytes = wire.bytes();
  const RelayedWords relayed = relayed_words(words);
  const message::Type& type = *publisher.record->type;
  const bool fits = bytes.size >= type.size && bytes.size <= memory::kMaxMessageBytes;
  if (!fits || (type.fixed && bytes.size != type.size))
    throw Exception({Errc::malformed_message, std::string("it is no ") + type.name + ", which does not have " +
                                                  std::to_string(bytes.size) + " bytes"});
  const WithoutGil without;
  transport::Writer& writer = *publisher.core->writer();
  const memory::Chunk loan = lent_or_throw(writer.loan_sized(bytes.size));
  try {
    if (bytes.size > type.size) memory::content_allocate(loan.message(), bytes.size - type.size, 1);
    std::memcpy(loan.message(), bytes.data, bytes.size);
    message::validate(type, static_cast<std::byte*>(loan.message()), static_cast<std::uint32_t>(bytes.size)).or_throw();
    return lent_or_throw(publisher.core->publish(loan, relayed.with_origin()));
  } catch (...) {
    writer.abandon(loan);
    throw;
  }
}

const OwnedChunk& received(nb::handle message) {
  if (!is_message(message.ptr())) raise(PyExc_TypeError, "a message is wanted");
  const auto* view = reinterpret_cast<MessageView*>(message.ptr());
  if (view->chunk->kind != OwnedChunk::Kind::kSample || view->address != view->chunk->message)
    raise(PyExc_ValueError, "only whole received messages can be relayed");
  return *view->chunk;
}

}  // namespace

void add_relay(nb::module_& m) {
  m.def("_advertise_relayed", advertise_relayed, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none(), nb::arg().none());
  m.def("_subscribe_unrelayed", subscribe_unrelayed, nb::rv_policy::take_ownership);
  m.def("_publish_chunk", publish_chunk_bytes, nb::arg(), nb::arg(), nb::arg().none());
  m.def("_chunk", [](nb::handle message) {
    const OwnedChunk& chunk = received(message);
    return nb::bytes(chunk.message, chunk.size);
  });
  m.def("_correlation", [](nb::handle message) {
    const memory::ChunkHeader& header = received(message).sample.header();
    const std::uint64_t number = header.correlation_sequence;
    return nb::make_tuple(nb::bytes(header.correlation_client, sizeof header.correlation_client), number,
                          received(message).sample.names_own_client());
  });
  // By gid: whether the endpoint is this process's, and the hash that ROS 2 gives its type, or None.
  m.def("_endpoint_facts", [](const Node& node) {
    nb::dict facts;
    for (const transport::EndpointInfo& each : node.endpoints()) {
      const auto& hash = each.ros_type_hash;
      facts[gid_bytes(each.gid)] =
          nb::make_tuple(each.connection == 0,
                         hash.version == 1 ? nb::object(nb::bytes(hash.value.data(), hash.value.size())) : nb::none());
    }
    return facts;
  });
  // A file of the domain's directory, for a lock that the kernel gives back when the process ends. The caller closes the descriptor.
  m.def("_domain_file", [](int domain, const std::string& name) {
    const transport::DomainDirectory directory = transport::open_domain_directory(domain).or_throw();
    return os::open_file_at(directory.fd.get(), name, directory.socket_mode, directory.gid).or_throw().release();
  });
}

}  // namespace baton::python
