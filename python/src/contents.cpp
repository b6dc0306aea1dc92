// SPDX-License-Identifier: Apache-2.0
// Strings and sequences of a message by its type model: reading them with checks, growing, copying and freeing them.
#include <algorithm>
#include <stdexcept>

#include "baton/memory/arena.hpp"
#include "baton/sfm/string.hpp"
#include "core.hpp"

namespace baton::python {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using sfm::detail::Cell;
using sfm::detail::StringCell;

Cell& cell_at(std::byte* words) noexcept { return *reinterpret_cast<Cell*>(words); }

[[noreturn]] void throw_malformed(const OwnedChunk* chunk) {
  chunk->changed = true;
  throw Exception({Errc::malformed_message,
                   "the publisher changed this message after it was checked: its contents are not within its size"});
}

bool exported(const OwnedChunk* chunk, const std::byte* content) noexcept {
  return std::any_of(chunk->exports.begin(), chunk->exports.end(),
                     [content](const KeptContent* e) { return e->data == content; });
}

/// Gives a content that is viewed to its views, which free it.
void retire(OwnedChunk* chunk, const std::byte* content, sfm::PrivateBlock* block) noexcept {
  for (KeptContent* e : chunk->exports) {
    if (e->data != content) continue;
    e->retired = true;
    e->retired_block = block;
  }
}

/// Calls `visit(words)` for every string's and sequence's words in one skeleton.
template <class F>
void for_each_cell(const message::Type& type, std::byte* address, F&& visit) {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    std::byte* at = address + field.offset;
    if (field.shape == Shape::kSequence) {
      visit(at);
      continue;
    }
    if (!message::element_has_contents(field)) continue;
    for (std::uint32_t n = 0; n < message::inline_count(field); ++n, at += message::element_size(field)) {
      if (field.kind == Kind::kMessage)
        for_each_cell(*field.type, at, visit);
      else
        visit(at);
    }
  }
}

void for_each_cell_of_element(const Field& field, std::byte* element, const std::function<void(std::byte*)>& visit) {
  if (field.kind == Kind::kMessage)
    for_each_cell(*field.type, element, visit);
  else
    visit(element);
}

void release_cell(OwnedChunk* chunk, std::byte* words) noexcept {
  Cell& cell = cell_at(words);
  if (!chunk->exports.empty() && cell.content() != nullptr && exported(chunk, cell.content())) {
    retire(chunk, cell.content(), cell.in_chunk() ? nullptr : cell.block());
    cell.forget();
  } else {
    cell.release();
  }
}

void release_elements(OwnedChunk* chunk, const Field& field, std::byte* first, std::size_t count) {
  const std::size_t size = message::element_size(field);
  for (std::size_t i = 0; i < count; ++i) {
    if (field.kind == Kind::kMessage)
      release_contents(chunk, *field.type, first + i * size);
    else
      release_cell(chunk, first + i * size);
  }
}

/// Moves the first `count` elements to `to`. In a chunk, offsets count from their own address.
void relocate(const Field& field, std::byte* from, std::byte* to, std::size_t count, bool in_chunk) {
  const std::size_t size = message::element_size(field);
  std::memcpy(to, from, count * size);
  if (!in_chunk || !message::element_has_contents(field)) return;
  for (std::size_t i = 0; i < count; ++i) {
    for_each_cell_of_element(field, from + i * size, [&](std::byte* words) {
      Cell& moved = cell_at(to + (words - from));
      if (moved.chunk_offset() != 0) moved.set_chunk_content(cell_at(words).content());
    });
  }
}

}  // namespace

ContentSpan content_of(MessageReading& walk, const std::byte* words, std::size_t element_size, std::size_t alignment) {
  const OwnedChunk* chunk = walk.chunk;
  if (chunk->kind != OwnedChunk::Kind::kSample) {
    Cell& cell = cell_at(const_cast<std::byte*>(words));
    return {cell.content(), cell.length()};
  }
  // One fetch of each word, which the compiler may neither repeat nor split. Relaxed: no store of the publisher is waited for.
  const std::uint32_t length = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(words), __ATOMIC_RELAXED);
  const std::int32_t offset =
      __atomic_load_n(reinterpret_cast<const std::int32_t*>(words + sizeof length), __ATOMIC_RELAXED);
  if (length == 0) return {nullptr, 0};
  const auto begin = reinterpret_cast<std::uintptr_t>(chunk->message);
  const std::uintptr_t at =
      reinterpret_cast<std::uintptr_t>(words) + sizeof length + static_cast<std::uintptr_t>(std::intptr_t{offset});
  const std::uint64_t bytes = std::uint64_t{length} * element_size;
  if (at < begin || at - begin > chunk->size || bytes > chunk->size - (at - begin) || at % alignment != 0 ||
      bytes > walk.left)
    throw_malformed(chunk);
  walk.left -= bytes;
  return {reinterpret_cast<std::byte*>(at), length};
}

ContentSpan string_of(MessageReading& walk, const std::byte* words) {
  const OwnedChunk* chunk = walk.chunk;
  if (chunk->kind != OwnedChunk::Kind::kSample) {
    const std::string_view text = reinterpret_cast<const StringCell*>(words)->view();
    return {reinterpret_cast<std::byte*>(const_cast<char*>(text.data())), text.size()};
  }
  const ContentSpan padded = content_of(walk, words, 1, 4);
  if (padded.count == 0) return padded;
  const auto padding = std::to_integer<std::size_t>(padded.data[padded.count - 1]);
  if (padding > 3 || padding + 1 > padded.count) throw_malformed(chunk);
  return {padded.data, padded.count - padding - 1};
}

ContentSpan elements_of(MessageReading& walk, const Field& field, std::byte* at) {
  if (field.shape != Shape::kSequence) return {at, message::inline_count(field)};
  return content_of(walk, at, message::element_size(field), message::element_alignment(field));
}

void resize_sequence(OwnedChunk* chunk, const FieldRecord& record, std::byte* words, std::size_t count) {
  const Field& field = *record.field;
  Cell& cell = cell_at(words);
  const std::size_t old = cell.length();
  const std::size_t size = message::element_size(field);
  if (field.shape != Shape::kSequence) throw std::length_error(std::string(field.name) + " is no sequence");
  if (field.count != 0 && count > field.count) sfm::detail::throw_length_error(field.name, count, field.count);
  if (count > sfm::detail::kMaxContentBytes / size)
    sfm::detail::throw_length_error(field.name, count, sfm::detail::kMaxContentBytes / size);
  if (count <= old) {
    if (record.has_contents()) release_elements(chunk, field, cell.content() + count * size, old - count);
    if (count == 0 && cell.in_chunk())
      release_cell(chunk, words);  // {0, 0}, as empty sequences are
    else
      cell.set_length(static_cast<std::uint32_t>(count));
    return;
  }
  if (cell.capacity_bytes() < count * size) {
    const Cell::Room room = cell.make_room(count * size, message::element_alignment(field), false);
    if (room.moved) {
      std::byte* content = cell.content();
      if (content != nullptr) relocate(field, content, room.content, old, cell.in_chunk());
      if (content != nullptr && exported(chunk, content)) {
        if (cell.in_chunk()) {
          retire(chunk, content, nullptr);
          cell.set_chunk_content(room.content);
        } else {
          retire(chunk, content, cell.block());
          room.block->size = static_cast<std::uint32_t>(old);
          cell.set_block(room.block);
        }
      } else {
        cell.commit(room);
      }
    } else {
      cell.commit(room);
    }
  }
  std::byte* content = cell.content();
  if (field.kind == Kind::kMessage || record.has_contents()) std::memset(content + old * size, 0, (count - old) * size);
  cell.set_length(static_cast<std::uint32_t>(count));
  if (field.kind == Kind::kMessage && (!record.nested->prototype.empty() || record.nested->nested_defaults)) {
    // Read the content's place again each time: a default string may make it move.
    for (std::size_t i = old; i < count; ++i) initialise(chunk, *record.nested, cell.content() + i * size);
  }
}

void set_wstring(std::byte* words, const void* units, std::size_t count, std::size_t bound) {
  if (bound != 0 && count > bound) sfm::detail::throw_length_error("wstring", count, bound);
  Cell& cell = cell_at(words);
  if (count == 0) return cell.release();
  std::byte* room = cell.capacity_bytes() >= count * 2 ? cell.content() : cell.reserve_trivial(0, count * 2, 2, false);
  std::memcpy(room, units, count * 2);
  cell.set_length(static_cast<std::uint32_t>(count));
}

void initialise(OwnedChunk* chunk, const ClassRecord& record, std::byte* address) {
  if (!record.prototype.empty()) std::memcpy(address, record.prototype.data(), record.prototype.size());
  if (!record.nested_defaults) return;
  for (const FieldRecord& field : record.fields) {
    std::byte* at = address + field.field->offset;
    if (field.field->kind == Kind::kMessage && field.field->shape != Shape::kSequence &&
        field.nested->nested_defaults) {
      for (std::uint32_t i = 0; i < message::inline_count(*field.field); ++i)
        initialise(chunk, *field.nested, at + i * field.field->type->size);
    }
    if (record.content_defaults == nullptr) continue;
    PyObject* value = PyDict_GetItemWithError(record.content_defaults, field.names.front());
    if (value != nullptr)
      assign_field(chunk, field, at, value);
    else if (PyErr_Occurred())
      throw PythonError();
  }
}

void release_contents(OwnedChunk* chunk, const message::Type& type, std::byte* address) {
  if (type.fixed) return;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    std::byte* at = address + field.offset;
    if (field.shape == Shape::kSequence) {
      Cell& cell = cell_at(at);
      if (message::element_has_contents(field)) release_elements(chunk, field, cell.content(), cell.length());
      release_cell(chunk, at);
    } else if (message::element_has_contents(field)) {
      release_elements(chunk, field, at, message::inline_count(field));
    }
  }
}

void copy_message(MessageReading& walk, const std::byte* from, OwnedChunk* to_chunk, std::byte* to,
                  const ClassRecord& record) {
  if (from == to) return;
  if (record.type->fixed) {
    std::memmove(to, from, record.type->size);
    return;
  }
  for (const FieldRecord& part : record.fields) {
    const Field& field = *part.field;
    std::byte* target = to + field.offset;
    const ContentSpan source = elements_of(walk, field, const_cast<std::byte*>(from) + field.offset);
    if (field.shape == Shape::kSequence) {
      // Growing the target cannot move the source: they are different contents, and contents move only when they grow.
      resize_sequence(to_chunk, part, target, source.count);
      target = cell_at(target).content();
    }
    copy_elements(walk, source.data, to_chunk, target, part, source.count);
  }
}

void copy_elements(MessageReading& walk, const std::byte* from, OwnedChunk* to_chunk, std::byte* to,
                   const FieldRecord& part, std::size_t count) {
  const Field& field = *part.field;
  const std::size_t size = message::element_size(field);
  if (!part.has_contents()) {
    if (count != 0) std::memmove(to, from, count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i, from += size, to += size) {
    if (field.kind == Kind::kMessage) {
      copy_message(walk, from, to_chunk, to, *part.nested);
    } else if (field.kind == Kind::kString) {
      const ContentSpan text = string_of(walk, from);
      reinterpret_cast<StringCell*>(to)->assign({reinterpret_cast<const char*>(text.data), text.count},
                                                field.string_bound);
    } else {
      const ContentSpan units = content_of(walk, from, 2, 2);
      set_wstring(to, units.data, units.count, field.string_bound);
    }
  }
}

OwnedChunk* private_copy(MessageReading& walk, const std::byte* from, const ClassRecord& record) {
  OwnedChunk* copy = new_private(&record);
  Ref owner(reinterpret_cast<PyObject*>(copy));
  copy_message(walk, from, copy, copy->message, record);
  owner.release();
  return copy;
}

}  // namespace baton::python
