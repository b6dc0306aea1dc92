// SPDX-License-Identifier: Apache-2.0
// Serialized messages, as bags have them: CDR and ROS 1's wire, from and to messages of a type model. No object of a field is made.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/message/builder.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/ros1_codec.hpp"
#include "baton/message/validate.hpp"
#include "endpoints_shared.hpp"
#include "relayed_words.hpp"

namespace baton::python {
namespace {

struct Codecs {
  message::CdrCodec cdr;
  std::optional<message::Ros1Codec> ros1;  // none: ROS 1 has no such type (wstring)
};

/// Compiled at the first use. Kept for ever, as the records are.
const Codecs& codecs_of(const ClassRecord* record) {
  static auto& known = *new std::unordered_map<const ClassRecord*, std::unique_ptr<const Codecs>>();  // with the GIL
  std::unique_ptr<const Codecs>& codecs = known[record];
  if (codecs == nullptr) {
    message::CdrCodec cdr = message::CdrCodec::compile(*record->type).or_throw();
    Result<message::Ros1Codec> ros1 = message::Ros1Codec::compile(*record->type);
    codecs = std::make_unique<const Codecs>(
        Codecs{std::move(cdr), ros1.ok() ? std::optional(std::move(*ros1)) : std::nullopt});
  }
  return *codecs;
}

const message::Ros1Codec& ros1_of(const Codecs& codecs) {
  if (codecs.ros1) return *codecs.ros1;
  throw Exception(
      {Errc::unsupported, std::string("ROS 1 has no wide strings, and ") + codecs.cdr.type().name + " has one"});
}

void decode(const Codecs& codecs, message::Bytes wire, bool cdr, message::Builder& builder) {
  if (cdr)
    static_cast<void>(codecs.cdr.decode(wire, builder).or_throw());
  else
    ros1_of(codecs).decode(wire, builder).or_throw();
}

nb::bytes encoded(const Codecs& codecs, message::Bytes message, bool cdr) {
  const std::size_t size =
      cdr ? codecs.cdr.encoded_size(message).or_throw() : ros1_of(codecs).encoded_size(message).or_throw();
  nb::bytes bytes = nb::steal<nb::bytes>(checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size))));
  const message::MutableBytes out{reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())), size};
  const std::size_t written =
      cdr ? codecs.cdr.encode(message, out).or_throw() : ros1_of(codecs).encode(message, out).or_throw();
  if (written != size) raise(PyExc_ValueError, "the message changed while it was read");
  return bytes;
}

/// Decodes straight into a loan, and publishes it. A wire that is no message publishes nothing. `words`: relayed_words().
std::uint64_t publish_serialized(const PyPublisher& publisher, nb::handle object, bool cdr, nb::handle words) {
  const WireBuffer wire(object);
  const Codecs& codecs = codecs_of(publisher.record);
  RelayedWords relayed = relayed_words(words);
  relayed.info.selection = memory::Selection::kHigh;
  const WithoutGil without;
  baton::detail::PublisherCore& core = *publisher.core;
  const memory::Chunk loan = lent_or_throw(core.loan(*publisher.record->type));
  try {
    message::LoanBuilder builder(loan.message());
    decode(codecs, wire.bytes(), cdr, builder);
    return lent_or_throw(core.publish(loan, relayed.with_origin()));
  } catch (...) {
    core.writer()->abandon(loan);
    throw;
  }
}

/// Whether this is a message of its own, and not one inside another: the first member of a message has its address.
bool is_whole(const MessageView& view) {
  return view.address == view.chunk->message && view.record == view.chunk->record;
}

/// Decodes straight into a loan, in place of its values. After an error the values are unspecified.
void fill_from_serialized(nb::handle object, nb::handle wire_object, bool cdr) {
  if (!is_message(object.ptr())) raise(PyExc_TypeError, "a message is wanted");
  const auto* view = reinterpret_cast<MessageView*>(object.ptr());
  check_live(view->owner, view->chunk);
  if (view->chunk->kind != OwnedChunk::Kind::kLoan || !is_whole(*view) || !view->chunk->exports.empty())
    raise(PyExc_ValueError, "only a whole loan of which no array is in use can be filled");
  const WireBuffer wire(wire_object);
  release_contents(view->chunk, *view->record->type, view->address);  // of fields with defaults
  message::LoanBuilder builder(view->address);
  decode(codecs_of(view->record), wire.bytes(), cdr, builder);  // with the GIL: other threads cannot publish the loan
}

/// Error malformed_message: `bytes`, aligned to 8, are no message of the type. They come from a file, so anybody may have written them.
void check_sfm(const message::Type& type, message::Bytes bytes) {
  if (bytes.size < type.size || bytes.size > INT32_MAX)
    throw Exception({Errc::malformed_message, std::string(type.name) + " has at least " + std::to_string(type.size) +
                                                  " bytes in memory, and not " + std::to_string(bytes.size)});
  message::validate(type, bytes.data, static_cast<std::uint32_t>(bytes.size)).or_throw();
}

/// CDR of a message as it lay in memory, of the class `cls`.
nb::bytes cdr_of_sfm(nb::handle cls, nb::handle object) {
  const ClassRecord* record = record_of_class(cls.ptr());
  const WireBuffer wire(object);
  const std::vector<std::byte> aligned(wire.bytes().data, wire.bytes().data + wire.bytes().size);
  check_sfm(*record->type, {aligned.data(), aligned.size()});
  return encoded(codecs_of(record), {aligned.data(), aligned.size()}, true);
}

/// The wire form of a whole received message.
nb::bytes serialized(nb::handle object, bool cdr) {
  if (!is_message(object.ptr())) raise(PyExc_TypeError, "a message is wanted");
  const auto* view = reinterpret_cast<MessageView*>(object.ptr());
  if (view->chunk->kind != OwnedChunk::Kind::kSample || !is_whole(*view))
    raise(PyExc_ValueError, "only whole received messages can be serialized");
  return encoded(codecs_of(view->record), {view->address, view->chunk->size}, cdr);
}

/// One wire form from another, of a message of the class `cls`.
nb::bytes reserialized(nb::handle cls, nb::handle object, bool from_cdr, bool to_cdr) {
  const ClassRecord* record = record_of_class(cls.ptr());
  const WireBuffer wire(object);
  const Codecs& codecs = codecs_of(record);
  message::FlatBuffer buffer;
  {
    const WithoutGil without;
    message::FlatBuilder builder(buffer);
    decode(codecs, wire.bytes(), from_cdr, builder);
  }
  return encoded(codecs, {buffer.data(), buffer.size()}, to_cdr);
}

}  // namespace

void add_serialized(nb::module_& m) {
  m.def("_publish_serialized", publish_serialized, nb::arg("publisher"), nb::arg("wire"), nb::arg("cdr"),
        nb::arg("words") = nb::none());
  m.def("_fill_from_serialized", fill_from_serialized, nb::arg("loan"), nb::arg("wire"), nb::arg("cdr"));
  m.def("_cdr_of_sfm", cdr_of_sfm, nb::arg("cls"), nb::arg("bytes"));
  m.def("_serialized", serialized, nb::arg("message"), nb::arg("cdr"));
  m.def("_reserialized", reserialized, nb::arg("cls"), nb::arg("wire"), nb::arg("from_cdr"), nb::arg("to_cdr"));
}

}  // namespace baton::python
