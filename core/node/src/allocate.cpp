// SPDX-License-Identifier: Apache-2.0
// TZC's allocate (TZC III-B, Fig. 6): the control part of a message stays an ordinary object, and its data part lies in
// the chunk in which the message will be published.
#include <atomic>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/own_copy.hpp"
#include "baton/node/publisher.hpp"
#include "baton/sfm/cell.hpp"

namespace baton::detail {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using message::Type;
using sfm::detail::Cell;

bool fixed_element(const Field& field) {
  return field.kind != Kind::kString && field.kind != Kind::kWString &&
         (field.kind != Kind::kMessage || field.type->fixed);
}

// TZC Fig. 4 at run time: visits every vector of the data part of the ordinary object at `object`. Fixed-length arrays
// are control as a whole (its line 3).
template <class Visit>
void for_each_data_cell(const Type& type, std::byte* object, const Visit& visit) {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    std::byte* at = object + field.offset;
    if (field.shape == Shape::kSequence) {
      Cell& cell = *reinterpret_cast<Cell*>(at);
      if (fixed_element(field)) {
        visit(cell, field);
      } else if (field.kind == Kind::kMessage) {
        const std::size_t size = field.type->size;
        for (std::uint32_t n = 0; n < cell.length(); ++n)
          for_each_data_cell(*field.type, cell.content() + n * size, visit);
      }
    } else if (field.shape == Shape::kSingle && field.kind == Kind::kMessage) {
      for_each_data_cell(*field.type, at, visit);
    }
  }
}

// The reserved chunk. Lives while the content of some vector of the private message lies in it; deletes itself.
struct Reservation : sfm::ContentOwner {
  std::shared_ptr<PublisherCore> core;
  memory::Chunk chunk;
  std::size_t contents = 0;                   // vectors that still refer to the chunk
  unsigned copies = 0;                        // publications of the message that copied it
  bool published = false;                     // the chunk is no loan any more
  std::unique_ptr<memory::OwnCopy> own_copy;  // published, and the message stays

  static void on_release(sfm::ContentOwner* self, void* content) noexcept {
    auto* reservation = static_cast<Reservation*>(self);
    if (!reservation->published) memory::content_free(reservation->chunk.message(), content);
    reservation->drop();
  }
  static void on_handed_over(sfm::ContentOwner* self, void*) noexcept { static_cast<Reservation*>(self)->drop(); }
  void drop() noexcept {
    if (--contents > 0) return;
    if (!published) {
      core->writer()->abandon(chunk);
      if (copies == 1) core->habit().copied_once();
    } else if (own_copy) {
      if (const auto written = own_copy->end()) {
        core->habit().ended(written->pages, written->changed);
        core->writer()->drop(chunk);
      }
    }
    delete this;
  }
};

Reservation* reservation_of(const Cell& cell) noexcept {
  const sfm::PrivateBlock* block = cell.block();
  if (!block || !block->owner || block->owner->release != &Reservation::on_release) return nullptr;
  return static_cast<Reservation*>(block->owner);
}

}  // namespace

Result<void> allocate_data_part(const std::shared_ptr<PublisherCore>& core, const Type& type, void* message) {
  if (memory::in_window(message))
    return Error{Errc::invalid_argument, std::string("allocate(") + type.name +
                                             "): the message already lies in shared memory; fill and publish it"};
  auto* object = static_cast<std::byte*>(message);
  bool any = false;
  for_each_data_cell(type, object, [&](Cell& cell, const Field&) { any |= cell.length() > 0; });
  if (!any) return {};  // nothing to place: publish copies the control part

  transport::Writer* const writer = core->writer().get();
  Result<memory::Chunk> chunk = writer->loan_growing();
  if (!chunk.ok()) return chunk.error();
  auto reservation = std::make_unique<Reservation>();
  reservation->core = core;
  reservation->chunk = *chunk;
  reservation->begin = chunk->header;
  reservation->end = reinterpret_cast<const std::byte*>(chunk->message()) + chunk->capacity_bytes;
  reservation->release = &Reservation::on_release;
  reservation->handed_over = &Reservation::on_handed_over;

  // Reserve everything before changing the first vector: a refused message stays unchanged.
  struct Place {
    Cell* cell;
    void* content;
    std::size_t bytes;
  };
  std::vector<Place> places;
  try {
    for_each_data_cell(type, object, [&](Cell& cell, const Field& field) {
      const std::size_t bytes = cell.length() * message::element_size(field);
      if (bytes == 0) return;
      const std::size_t alignment = sfm::detail::content_alignment(message::element_alignment(field), bytes);
      places.push_back({&cell, memory::content_allocate(chunk->message(), bytes, alignment), bytes});
    });
  } catch (const Exception& exception) {
    writer->abandon(*chunk);
    return Error{exception.code(), exception.what()};
  } catch (const std::bad_alloc&) {
    writer->abandon(*chunk);
    return Error{Errc::out_of_memory, std::string("allocate(") + type.name + "): the heap is exhausted"};
  }
  reservation->contents = places.size() + 1;  // +1: this function, until every vector holds its part
  Reservation* owner = reservation.release();
  Result<void> result;
  for (std::size_t i = 0; i < places.size(); ++i) {
    try {
      const std::uint32_t length = places[i].cell->length();
      places[i].cell->adopt(places[i].content, places[i].bytes, owner);
      places[i].cell->set_length(length);
    } catch (const std::bad_alloc&) {
      owner->contents -= places.size() - i;
      result = Error{Errc::out_of_memory, std::string("allocate(") + type.name + "): the heap is exhausted"};
      break;
    }
  }
  owner->drop();
  return result;
}

namespace {

// Gives the contents of the message at `object`, in a loan, back to the loan: what the destructor of its class would do.
void release_contents(const Type& type, std::byte* object) noexcept {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    std::byte* const at = object + field.offset;
    Cell* const sequence = field.shape == Shape::kSequence ? reinterpret_cast<Cell*>(at) : nullptr;
    if (message::element_has_contents(field)) {
      std::byte* element = sequence != nullptr ? sequence->content() : at;
      const std::uint32_t count = sequence != nullptr ? sequence->length() : message::inline_count(field);
      for (std::uint32_t n = 0; n < count; ++n, element += message::element_size(field)) {
        if (field.kind == Kind::kMessage) {
          release_contents(*field.type, element);
        } else {
          reinterpret_cast<Cell*>(element)->release();
        }
      }
    }
    if (sequence != nullptr) sequence->release();
  }
}

// The reservation of `writer` in which the data part of `object` lies, or part of it; null: there is none.
Reservation* find_reservation(const transport::Writer& writer, const Type& type, std::byte* object) {
  Reservation* reservation = nullptr;
  for_each_data_cell(type, object, [&](Cell& cell, const Field&) {
    Reservation* found = reservation_of(cell);
    if (found && found->core->writer().get() == &writer && !reservation) reservation = found;
  });
  return reservation;
}

// Copies the control part of `object` into the reserved chunk. The data part's vectors are set aside meanwhile. Returns their
// blocks, null for a vector that is not of this reservation and was copied as well.
std::vector<sfm::PrivateBlock*> write_control(const Reservation& reservation, const Type& type, std::byte* object,
                                              void (*copy_control)(void* to, const void* from)) {
  std::vector<sfm::PrivateBlock*> blocks;
  for_each_data_cell(type, object, [&](Cell& cell, const Field&) {
    const bool is_data = reservation_of(cell) == &reservation;
    blocks.push_back(is_data ? cell.block() : nullptr);
  });
  const auto set_aside = [&](bool aside) {
    std::size_t i = 0;
    for_each_data_cell(type, object, [&](Cell& cell, const Field&) {
      if (sfm::PrivateBlock* block = blocks[i++]) cell.set_block(aside ? nullptr : block);
    });
  };
  set_aside(true);
  try {
    copy_control(reservation.chunk.message(), object);
  } catch (...) {
    set_aside(false);
    throw;
  }
  set_aside(false);
  return blocks;
}

}  // namespace

bool take_allocated(transport::Writer& writer, const Type& type, void* message, memory::Chunk* chunk,
                    void (*copy_control)(void* to, const void* from)) {
  if (memory::in_window(message)) return false;  // a loan or a sample: its vectors hold SFM words, no blocks
  auto* object = static_cast<std::byte*>(message);
  Reservation* const reservation = find_reservation(writer, type, object);
  if (!reservation || reservation->published) return false;

  const std::vector<sfm::PrivateBlock*> blocks = write_control(*reservation, type, object, copy_control);
  *chunk = reservation->chunk;
  ++reservation->contents;
  std::vector<Cell*> sources;
  for_each_data_cell(type, object, [&](Cell& cell, const Field&) { sources.push_back(&cell); });
  std::size_t i = 0;
  // Moving an adopted content into its own chunk only sets the two SFM words.
  for_each_data_cell(type, static_cast<std::byte*>(chunk->message()), [&](Cell& cell, const Field&) {
    Cell& source = *sources[i];
    if (blocks[i++]) cell.steal(source);
  });
  reservation->published = true;
  reservation->drop();
  return true;
}

bool publish_in_place(PublisherCore& core, const Type& type, void* message, Result<std::uint64_t>* result,
                      void (*copy_control)(void* to, const void* from)) {
  if (memory::in_window(message)) return false;  // a loan or a sample
  auto* object = static_cast<std::byte*>(message);
  Reservation* const reservation = find_reservation(*core.writer(), type, object);
  if (!reservation) return false;
  if (reservation->published) {
    core.habit().used_again();
    return false;
  }
  const auto copy_it = [&] {
    ++reservation->copies;
    return false;
  };
  if (!core.habit().hands_over()) return copy_it();

  if (!memory::OwnCopy::possible(reservation->chunk)) return copy_it();

  const std::vector<sfm::PrivateBlock*> blocks = write_control(*reservation, type, object, copy_control);
  auto* const in_chunk = static_cast<std::byte*>(reservation->chunk.message());
  const auto for_each_data_in_chunk = [&](const auto& visit) {
    std::size_t i = 0;
    for_each_data_cell(type, in_chunk, [&](Cell& cell, const Field&) {
      if (const sfm::PrivateBlock* const block = blocks[i++]) visit(cell, *block);
    });
  };
  // Without a publication the copy of the control part leaves the chunk. The data part stays: `message` refers to it.
  const auto take_control_back = [&] {
    for_each_data_in_chunk([](Cell& cell, const sfm::PrivateBlock&) { cell.forget(); });
    release_contents(type, in_chunk);
  };
  for_each_data_in_chunk([](Cell& cell, const sfm::PrivateBlock& block) {
    cell.set_chunk_length(block.size);
    cell.set_chunk_content(block.data);
  });
  Result<std::unique_ptr<memory::OwnCopy>> own_copy = memory::OwnCopy::make(reservation->chunk);
  if (!own_copy) {
    take_control_back();
    return copy_it();
  }
  transport::PublishInfo info;
  info.keep = true;  // until the last vector of the object leaves the chunk
  *result = core.publish((*own_copy)->shared(), info);
  if (!result->ok()) {
    if ((*own_copy)->end()) {
      take_control_back();
    } else {
      reservation->published = true;  // its pages are not shared any more: never again a loan
    }
    return true;
  }
  reservation->published = true;
  reservation->own_copy = std::move(*own_copy);
  return true;
}

}  // namespace baton::detail
