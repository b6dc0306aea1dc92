// SPDX-License-Identifier: Apache-2.0
#include "ros2/nodes.hpp"

#include <cstring>

#include "baton/message/builder.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/definition.hpp"

namespace baton::link::ros2 {
namespace {

using message::Field;
using message::Type;

/// rmw_dds_common's, with ROS's `char` as uint8.
constexpr const char* kDefinition =
    "message rmw_dds_common/ParticipantEntitiesInfo\n"
    "rmw_dds_common/Gid gid\n"
    "rmw_dds_common/NodeEntitiesInfo[] node_entities_info_seq\n"
    "message rmw_dds_common/Gid\n"
    "uint8[16] data\n"
    "message rmw_dds_common/NodeEntitiesInfo\n"
    "string<=256 node_namespace\n"
    "string<=256 node_name\n"
    "rmw_dds_common/Gid[] reader_gid_seq\n"
    "rmw_dds_common/Gid[] writer_gid_seq\n";
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostMessageBytes = std::size_t{16} << 20;

struct Form {
  message::Definition definition;
  message::CdrCodec codec;
  const Type& type() const { return definition.type(); }
  const Field& nodes() const { return type().fields[1]; }
  const Type& node() const { return *nodes().type; }
};

Result<const Form*> form() {
  static const Result<Form> made = []() -> Result<Form> {
    Result<message::Definition> definition = message::Definition::parse(kDefinition);
    if (!definition) return definition.error();
    Result<message::CdrCodec> codec = message::CdrCodec::compile(definition->type());
    if (!codec) return codec.error();
    return Form{std::move(*definition), std::move(*codec)};
  }();
  if (!made) return made.error();
  return &*made;
}

Result<void> add_gids(message::Builder& builder, std::size_t words, const Field& field, const std::vector<Gid>& gids) {
  if (gids.empty()) return {};
  const Result<std::size_t> place = builder.add_sequence(words, gids.size(), message::element_layout(field));
  if (!place) return place.error();
  std::memcpy(builder.base() + *place, gids.data(), gids.size() * sizeof(Gid));
  return {};
}

/// The place and count of a sequence of a message that the codec has built; text: its bytes.
struct MessageRange {
  std::size_t place = 0, count = 0;
};
MessageRange span(const std::byte* base, std::size_t words) {
  std::uint32_t length = 0;
  std::int32_t offset = 0;
  std::memcpy(&length, base + words, sizeof length);
  std::memcpy(&offset, base + words + sizeof length, sizeof offset);
  return {words + sizeof length + static_cast<std::size_t>(offset), length};
}
std::string text(const std::byte* base, std::size_t words) {
  const MessageRange found = span(base, words);
  return found.count == 0 ? std::string() : std::string(reinterpret_cast<const char*>(base + found.place));
}
std::vector<Gid> gids(const std::byte* base, std::size_t words) {
  const MessageRange found = span(base, words);
  std::vector<Gid> out(found.count);
  if (found.count != 0) std::memcpy(out.data(), base + found.place, found.count * sizeof(Gid));
  return out;
}

}  // namespace

Result<CdrMessage> encode_nodes(const Gid& participant, const Nodes& nodes) {
  const Result<const Form*> made = form();
  if (!made) return made.error();
  const Form& form = **made;
  message::FlatBuffer buffer;
  message::FlatBuilder builder(buffer);
  if (Result<void> begun = builder.begin(form.type()); !begun) return begun.error();
  std::memcpy(builder.base(), participant.data(), participant.size());
  if (!nodes.empty()) {
    const Result<std::size_t> place =
        builder.add_zeroed_sequence(form.nodes().offset, nodes.size(), message::element_layout(form.nodes()));
    if (!place) return place.error();
    std::size_t at = *place;
    for (const auto& [name, endpoints] : nodes) {
      const Field* fields = form.node().fields;
      for (const auto& [field, value] : {std::pair(&fields[0], &name.first), std::pair(&fields[1], &name.second)}) {
        const std::string part = value->substr(0, kMostNameBytes);
        if (Result<void> added = builder.add_string(at + field->offset, part.data(), part.size()); !added)
          return added.error();
      }
      for (const auto& [field, value] :
           {std::pair(&fields[2], &endpoints.readers), std::pair(&fields[3], &endpoints.writers)}) {
        if (Result<void> added = add_gids(builder, at + field->offset, *field, *value); !added) return added.error();
      }
      at += form.node().size;
    }
  }
  const message::Bytes message = buffer.bytes();
  const Result<std::size_t> size = form.codec.encoded_size(message);
  if (!size) return size.error();
  CdrMessage out(*size);
  const Result<std::size_t> written = form.codec.encode(message, {out.bytes.get(), *size});
  if (!written) return written.error();
  return out;
}

std::optional<NodesOf> decode_nodes(const CdrMessage& serialized) {
  const Result<const Form*> made = form();
  if (!made) return std::nullopt;
  const Form& form = **made;
  message::FlatBuffer buffer;
  message::FlatBuilder builder(buffer, kMostMessageBytes);
  if (!form.codec.decode({serialized.bytes.get(), serialized.size_bytes}, builder)) return std::nullopt;
  const std::byte* base = builder.base();
  NodesOf out;
  std::memcpy(out.participant.data(), base, out.participant.size());
  const MessageRange nodes = span(base, form.nodes().offset);
  for (std::size_t i = 0; i < nodes.count; ++i) {
    const std::size_t at = nodes.place + i * form.node().size;
    const Field* fields = form.node().fields;
    NodeEndpoints& endpoints = out.nodes[{text(base, at + fields[0].offset), text(base, at + fields[1].offset)}];
    endpoints.readers = gids(base, at + fields[2].offset);
    endpoints.writers = gids(base, at + fields[3].offset);
  }
  return out;
}

}  // namespace baton::link::ros2
