// SPDX-License-Identifier: Apache-2.0
// From loans and objects to published messages. The GIL is released around calls that may wait for a publisher's mutex.
#include "baton/sfm/size.hpp"
#include "core.hpp"

namespace baton::python {
namespace {

memory::Chunk take_loan(const ClassRecord& record, baton::detail::PublisherCore& publisher, std::size_t bytes) {
  const WithoutGil without;
  return lent_or_throw(bytes != 0 ? publisher.writer()->loan_sized(bytes) : publisher.loan(*record.type));
}

std::uint64_t publish_chunk(OwnedChunk* chunk, const transport::PublishInfo& info) {
  const auto publisher = chunk->publisher;
  const memory::Chunk loan = chunk->loan;
  const std::uint64_t sequence = [&] {
    const WithoutGil without;
    return lent_or_throw(publisher->publish(loan, info));
  }();
  chunk->kind = OwnedChunk::Kind::kGone;
  chunk->loan = {};
  chunk->publisher.reset();
  return sequence;
}

/// A loan of exactly the size of the message at `from`, and its copy.
Ref copy_to_loan(const ClassRecord& record, const std::shared_ptr<baton::detail::PublisherCore>& publisher,
                 OwnedChunk* from_chunk, const std::byte* from) {
  const bool received = read_only(from_chunk);
  // The words of a received message are untrusted, so its size is found while copying.
  const std::size_t bytes = !received ? sfm::copy_size(*record.type, from) : 0;
  const memory::Chunk loan = take_loan(record, *publisher, bytes);
  OwnedChunk* chunk;
  try {
    chunk = new_loan(&record, publisher, loan);
  } catch (...) {
    publisher->writer()->abandon(loan);
    throw;
  }
  Ref owner(reinterpret_cast<PyObject*>(chunk));
  std::memset(chunk->message, 0, record.type->size);
  MessageReading walk(from_chunk);
  copy_message(walk, from, chunk, chunk->message, record);
  publisher->count_copy(bytes);
  return owner;
}

}  // namespace

OwnedChunk* make_loan(const ClassRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher) {
  const memory::Chunk loan = take_loan(*record, *publisher, 0);
  OwnedChunk* chunk;
  try {
    chunk = new_loan(record, publisher, loan);
  } catch (...) {
    publisher->writer()->abandon(loan);
    throw;
  }
  Ref owner(reinterpret_cast<PyObject*>(chunk));
  std::memset(chunk->message, 0, record->type->size);
  initialise(chunk, *record, chunk->message);
  owner.release();
  return chunk;
}

std::uint64_t publish_loan(OwnedChunk* chunk, const transport::PublishInfo& info) {
  if (chunk->kind != OwnedChunk::Kind::kLoan)
    throw Exception({Errc::invalid_argument, "this loan was published or given back"});
  if (!has_arrays(chunk)) return publish_chunk(chunk, info);
  checked(PyErr_WarnEx(imports.copy_warning,
                       "an array of this loan is still in use, so a copy of the message is published; delete the array "
                       "(or leave its function) before publishing",
                       1));
  const auto publisher = chunk->publisher;
  const Ref copy = copy_to_loan(*chunk->record, publisher, chunk, chunk->message);
  const std::uint64_t sequence = publish_chunk(reinterpret_cast<OwnedChunk*>(copy.get()), info);
  chunk->kind = OwnedChunk::Kind::kGone;  // its memory goes back with the last array
  return sequence;
}

void abandon_loan(OwnedChunk* chunk) {
  if (chunk->kind != OwnedChunk::Kind::kLoan) return;
  chunk->kind = OwnedChunk::Kind::kGone;
  if (has_arrays(chunk)) return;  // the memory goes back with the last array
  const memory::Chunk loan = chunk->loan;
  chunk->loan = {};
  const auto publisher = std::move(chunk->publisher);
  const WithoutGil without;
  publisher->writer()->abandon(loan);
}

std::uint64_t publish_object(const ClassRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher,
                             PyObject* object, transport::PublishInfo info) {
  if (is_message(object)) {
    auto* message = reinterpret_cast<MessageView*>(object);
    if (message->record == record) {
      check_live(message->owner, message->chunk);
      OwnedChunk* chunk = message->chunk;
      const bool own =
          chunk->kind == OwnedChunk::Kind::kLoan && chunk->publisher == publisher && message->address == chunk->message;
      if (own) return publish_loan(chunk, info);
      const Ref copy = copy_to_loan(*record, publisher, chunk, message->address);
      return publish_chunk(reinterpret_cast<OwnedChunk*>(copy.get()), info);
    }
  }
  OwnedChunk* chunk = make_loan(record, publisher);
  const Ref owner(reinterpret_cast<PyObject*>(chunk));
  endable([&] { assign_message(chunk, *record, chunk->message, object); });
  info.selection = memory::Selection::kHigh;
  return publish_chunk(chunk, info);
}

}  // namespace baton::python
