// SPDX-License-Identifier: Apache-2.0
#include "baton/sfm/cell.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "baton/os/result.hpp"

namespace baton::sfm::detail {
namespace {

// Data behind a PrivateBlock is aligned as malloc aligns (16 on 64-bit machines).
constexpr std::size_t kBlockHeader =
    (sizeof(PrivateBlock) + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);

PrivateBlock* make_block(std::size_t bytes) {
  void* memory = std::malloc(kBlockHeader + bytes);
  if (memory == nullptr) throw std::bad_alloc();
  auto* data = static_cast<std::byte*>(memory) + kBlockHeader;
  return new (memory) PrivateBlock{0, static_cast<std::uint32_t>(bytes), data, nullptr};
}

void free_block(PrivateBlock* block) noexcept {
  if (block == nullptr) return;
  if (block->owner != nullptr && block->owner->release != nullptr) block->owner->release(block->owner, block->data);
  std::free(block);
}

void check_bytes(std::size_t needed) {
  if (needed > kMaxContentBytes) throw_length_error("sfm: bytes of one content", needed, kMaxContentBytes);
}

// Doubling is for small contents; a large content that must move wastes at most half of itself.
std::size_t grown(std::size_t capacity, std::size_t needed) noexcept {
  const std::size_t geometric = capacity < (std::size_t{1} << 20) ? capacity * 2 : capacity + capacity / 2;
  return std::min(std::max(needed, geometric), kMaxContentBytes);
}

bool aligned(const void* p, std::size_t alignment) noexcept {
  return (reinterpret_cast<std::uintptr_t>(p) & (alignment - 1)) == 0;
}

// Spare room for appends to the last content of a chunk: growing in place costs only a call. So a small step is enough,
// and little of the message is unused.
constexpr std::size_t kAppendStep = 1024;

bool grow_in_place(const void* owner, std::byte* content, std::size_t capacity, std::size_t needed,
                   std::size_t alignment, bool append) {
  if (append) {
    const std::size_t wanted = std::max(needed, std::min(capacity * 2, capacity + kAppendStep));
    if (wanted > needed && aligned(content, content_alignment(alignment, wanted)) &&
        memory::content_resize_in_place(owner, content, wanted)) {
      return true;
    }
  }
  return aligned(content, content_alignment(alignment, needed)) &&
         memory::content_resize_in_place(owner, content, needed);
}

thread_local struct {
  std::uintptr_t from = 0;
  std::uintptr_t to = 0;
  std::size_t bytes = 0;
} t_relocation;

}  // namespace

RelocationScope::RelocationScope(const void* from, const void* to, std::size_t bytes) noexcept {
  t_relocation.from = reinterpret_cast<std::uintptr_t>(from);
  t_relocation.to = reinterpret_cast<std::uintptr_t>(to);
  t_relocation.bytes = bytes;
}

RelocationScope::~RelocationScope() { t_relocation.bytes = 0; }

bool RelocationScope::covers(const void* from, const void* to) noexcept {
  return reinterpret_cast<std::uintptr_t>(from) - t_relocation.from < t_relocation.bytes &&
         reinterpret_cast<std::uintptr_t>(to) - t_relocation.to < t_relocation.bytes;
}

void throw_length_error(const char* what, std::size_t wanted, std::size_t limit) {
  throw std::length_error(std::string(what) + ": " + std::to_string(wanted) + " wanted, at most " +
                          std::to_string(limit) + " allowed");
}

void throw_out_of_range(const char* what, std::size_t index, std::size_t size) {
  throw std::out_of_range(std::string(what) + ": index " + std::to_string(index) + ", size " + std::to_string(size));
}

std::size_t Cell::chunk_capacity_bytes() const noexcept {
  try {
    return std::min(memory::content_capacity(this, content()), kMaxContentBytes);
  } catch (...) {
    return 0;  // not a writable loan
  }
}

/// The first content of a cell in a chunk. REQUIRES: needed <= kMaxContentBytes.
inline std::byte* Cell::first_content(std::size_t needed, std::size_t alignment, bool append) {
  const std::size_t bytes =
      append ? std::max(needed, std::max(needed, std::size_t{16}) / alignment * alignment) : needed;
  return static_cast<std::byte*>(memory::content_allocate(this, bytes, content_alignment(alignment, bytes)));
}

Cell::Room Cell::make_room(std::size_t needed, std::size_t alignment, bool append) {
  check_bytes(needed);
  if (!in_chunk()) {
    const PrivateBlock* old = block();
    PrivateBlock* fresh = make_block(old == nullptr ? needed : grown(old->capacity, needed));
    return {fresh->data, fresh, true};
  }
  if (offset_ == 0) return {first_content(needed, alignment, append), nullptr, true};
  const std::size_t capacity = memory::content_capacity(this, content());
  if (grow_in_place(this, content(), capacity, needed, alignment, append)) return {content(), nullptr, false};
  const std::size_t wanted = grown(capacity, needed);
  if (wanted > needed) {
    try {
      auto* fresh = memory::content_allocate(this, wanted, content_alignment(alignment, wanted));
      return {static_cast<std::byte*>(fresh), nullptr, true};
    } catch (const Exception&) {
      // Spare room is optional; the needed size may still fit.
    }
  }
  auto* fresh = memory::content_allocate(this, needed, content_alignment(alignment, needed));
  return {static_cast<std::byte*>(fresh), nullptr, true};
}

void Cell::cancel(const Room& room) noexcept {
  if (!room.moved) return;
  if (in_chunk()) {
    memory::content_free(this, room.content);
  } else {
    free_block(room.block);
  }
}

void Cell::commit(const Room& room) noexcept {
  if (!room.moved) return;
  if (in_chunk()) {
    std::byte* old = content();
    set_chunk_content(room.content);
    if (old != nullptr) memory::content_free(this, old);
    return;
  }
  PrivateBlock* old = block();
  room.block->size = old != nullptr ? old->size : 0;
  set_block(room.block);
  free_block(old);
}

std::byte* Cell::reserve_trivial(std::size_t used, std::size_t needed, std::size_t alignment, bool append) {
  // The ordinary case of a message that is being built: nothing to move, nothing to free.
  if (in_chunk() && offset_ == 0 && !append) {
    check_bytes(needed);
    std::byte* const content = first_content(needed, alignment, false);
    set_chunk_content(content);
    return content;
  }
  return reserve_more(used, needed, alignment, append);
}

BATON_COLD std::byte* Cell::reserve_more(std::size_t used, std::size_t needed, std::size_t alignment, bool append) {
  if (!in_chunk()) {
    PrivateBlock* old = block();
    if (old != nullptr && old->owner == nullptr && needed <= kMaxContentBytes) {
      const std::size_t bytes = grown(old->capacity, needed);
      void* memory = std::realloc(old, kBlockHeader + bytes);  // large blocks move by remapping, without a copy
      if (memory == nullptr) throw std::bad_alloc();
      auto* fresh = static_cast<PrivateBlock*>(memory);
      fresh->data = static_cast<std::byte*>(memory) + kBlockHeader;
      fresh->capacity = static_cast<std::uint32_t>(bytes);
      set_block(fresh);
      return fresh->data;
    }
  }
  const Room room = make_room(needed, alignment, append);
  if (room.moved && used != 0) std::memcpy(room.content, content(), used);
  commit(room);
  return room.content;
}

void Cell::release() noexcept {
  if (in_chunk()) {
    if (offset_ != 0 && !memory::content_free(this, content())) return;
  } else {
    free_block(block());
  }
  forget();
}

bool Cell::steal(Cell& other) noexcept {
  const bool here = in_chunk();
  const bool there = other.in_chunk();
  if (!here && !there) {
    set_block(other.block());
    other.forget();
    return true;
  }
  if (here && there) {
    if (!RelocationScope::covers(&other, this)) return false;
    const std::uint32_t length = other.length_;
    const std::byte* moved = other.content();
    other.forget();
    length_ = length;
    set_chunk_content(moved);
    return true;
  }
  if (here) {
    PrivateBlock* b = other.block();
    if (b == nullptr || b->owner == nullptr) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(this);
    if (address < reinterpret_cast<std::uintptr_t>(b->owner->begin) ||
        address >= reinterpret_cast<std::uintptr_t>(b->owner->end)) {
      return false;
    }
    length_ = b->size;
    set_chunk_content(b->data);
    if (b->owner->handed_over != nullptr) b->owner->handed_over(b->owner, b->data);
    other.forget();
    std::free(b);
    return true;
  }
  return false;
}

void Cell::adopt(void* content, std::size_t capacity_bytes, ContentOwner* owner) {
  check_bytes(capacity_bytes);
  void* memory = std::malloc(sizeof(PrivateBlock));
  if (memory == nullptr) throw std::bad_alloc();
  free_block(block());
  set_block(new (memory)
                PrivateBlock{0, static_cast<std::uint32_t>(capacity_bytes), static_cast<std::byte*>(content), owner});
}

}  // namespace baton::sfm::detail
