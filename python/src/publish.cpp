// SPDX-License-Identifier: Apache-2.0
// From loans and objects to published messages. The GIL is released around calls that may wait for a publisher's mutex.
#include "baton/sfm/size.hpp"
#include "core.hpp"

namespace baton::python {
namespace {

memory::Chunk take_loan(const TypeRecord& record, baton::detail::PublisherCore& publisher, std::size_t bytes) {
  return lent_or_raise([&] {
    const WithoutGil without;
    return bytes != 0 ? publisher.writer()->loan_sized(bytes) : publisher.loan(*record.type);
  }());
}

std::uint64_t publish_chunk(Chunk* chunk, const transport::PublishInfo& info) {
  const auto publisher = chunk->publisher;
  const memory::Chunk loan = chunk->loan;
  const std::uint64_t sequence = lent_or_raise([&] {
    const WithoutGil without;
    return publisher->publish(loan, info);
  }());
  chunk->kind = Chunk::Kind::kGone;
  chunk->loan = {};
  chunk->publisher.reset();
  return sequence;
}

/// A loan of exactly the size of the message at `from`, and its copy.
Ref copy_to_loan(const TypeRecord& record, const std::shared_ptr<baton::detail::PublisherCore>& publisher,
                 const Chunk* from_chunk, const std::byte* from) {
  const bool received = read_only(from_chunk);
  // The words of a received message are untrusted, so its size is found while copying.
  const std::size_t bytes = !received ? sfm::copy_size(*record.type, from) : 0;
  const memory::Chunk loan = take_loan(record, *publisher, bytes);
  Chunk* chunk;
  try {
    chunk = new_loan(&record, publisher, loan);
  } catch (...) {
    publisher->writer()->abandon(loan);
    throw;
  }
  Ref owner(reinterpret_cast<PyObject*>(chunk));
  std::memset(chunk->message, 0, record.type->size);
  copy_message(from_chunk, from, chunk, chunk->message, record);
  publisher->count_copy(bytes);
  return owner;
}

}  // namespace

Chunk* make_loan(const TypeRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher) {
  const memory::Chunk loan = take_loan(*record, *publisher, 0);
  Chunk* chunk;
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

std::uint64_t publish_loan(Chunk* chunk, const transport::PublishInfo& info) {
  if (chunk->kind != Chunk::Kind::kLoan)
    throw Exception({Errc::invalid_argument, "this loan was published or given back"});
  if (!has_arrays(chunk)) return publish_chunk(chunk, info);
  checked(PyErr_WarnEx(imports.copy_warning,
                       "an array of this loan is still in use, so a copy of the message is published; delete the array "
                       "(or leave its function) before publishing",
                       1));
  const auto publisher = chunk->publisher;
  const Ref copy = copy_to_loan(*chunk->record, publisher, chunk, chunk->message);
  const std::uint64_t sequence = publish_chunk(reinterpret_cast<Chunk*>(copy.get()), info);
  chunk->kind = Chunk::Kind::kGone;  // its memory goes back with the last array
  return sequence;
}

void abandon_loan(Chunk* chunk) {
  if (chunk->kind != Chunk::Kind::kLoan) return;
  chunk->kind = Chunk::Kind::kGone;
  if (has_arrays(chunk)) return;  // the memory goes back with the last array
  const memory::Chunk loan = chunk->loan;
  chunk->loan = {};
  const auto publisher = std::move(chunk->publisher);
  const WithoutGil without;
  publisher->writer()->abandon(loan);
}

std::uint64_t publish_object(const TypeRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher,
                             PyObject* object, transport::PublishInfo info) {
  if (is_message(object)) {
    auto* message = reinterpret_cast<Message*>(object);
    if (message->record == record) {
      check_live(message->owner, message->chunk);
      Chunk* chunk = message->chunk;
      const bool own =
          chunk->kind == Chunk::Kind::kLoan && chunk->publisher == publisher && message->address == chunk->message;
      if (own) return publish_loan(chunk, info);
      const Ref copy = copy_to_loan(*record, publisher, chunk, message->address);
      return publish_chunk(reinterpret_cast<Chunk*>(copy.get()), info);
    }
  }
  Chunk* chunk = make_loan(record, publisher);
  const Ref owner(reinterpret_cast<PyObject*>(chunk));
  endable([&] { assign_message(chunk, *record, chunk->message, object); });
  info.selection = memory::Selection::kHigh;
  return publish_chunk(chunk, info);
}

}  // namespace baton::python
