// SPDX-License-Identifier: Apache-2.0
// The 8 bytes of every SFM vector and string, and the place of their content.
//
// Inside the window (memory/arena.hpp) the 8 bytes are the SFM words {u32 length, i32 offset} of docs/format/sfm.md.
// Anywhere else (stack, heap, static memory) the same 8 bytes hold a pointer to a PrivateBlock, or null. The address of
// the object decides, on every access. So an object must never be copied to another place by memcpy.
//
// Thread rules: those of std::vector (concurrent reads are fine, a write excludes everything else).
// Invariants: (1) all-zero bytes are the empty object in both modes; (2) in a chunk, content lies in the same chunk;
// (3) element objects of a content in a chunk are themselves in chunk mode; those of a private content are private;
// (4) an adopted content (ContentOwner) holds trivially copyable elements only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "baton/memory/arena.hpp"
#include "baton/os/hot_path.hpp"

namespace baton::sfm {

/// Lets an ordinary (private) vector keep its elements in memory that other code provides, e.g. reserved in a chunk
/// (TZC's allocate). The owner object outlives every vector that refers to it.
struct ContentOwner {
  /// The chunk (skeleton and contents) in which the content lies. Moving the vector to a vector in this range hands the
  /// content over without a copy. begin == end: no such chunk; moving into a chunk copies.
  const void* begin = nullptr;
  const void* end = nullptr;
  /// The vector gave `content` up (destroyed, cleared by shrink_to_fit, grew beyond its capacity). Null: nothing to do.
  void (*release)(ContentOwner* self, void* content) noexcept = nullptr;
  /// The content now belongs to a vector inside [begin, end): release will not be called for it. Null: nothing to do.
  void (*handed_over)(ContentOwner* self, void* content) noexcept = nullptr;
};

/// The target of the 8 bytes of a vector or string outside the window. The content follows the block unless `owner` is
/// set.
struct PrivateBlock {
  std::uint32_t size;      ///< elements; for strings characters without the terminator
  std::uint32_t capacity;  ///< bytes at `data`
  std::byte* data;
  ContentOwner* owner;  ///< null: data lies right behind this block
};

namespace detail {

inline constexpr std::size_t kMaxContentBytes = (std::size_t{1} << 31) - 64;
inline constexpr std::size_t kBigContentBytes = 4096;  // contents of at least this size are aligned to 64

/// docs/format/sfm.md: content is aligned to its element (strings: 4), from 4 KiB on to 64 bytes.
constexpr std::size_t content_alignment(std::size_t element_alignment, std::size_t bytes) noexcept {
  return bytes >= kBigContentBytes ? 64 : element_alignment;
}

/// While one is alive on this thread, moving a Cell from [from, from + bytes) to [to, to + bytes) is a relocation
/// inside one chunk: the content stays, the offset is rebased. Both ranges must lie in the same chunk. May not nest.
class RelocationScope {
 public:
  RelocationScope(const void* from, const void* to, std::size_t bytes) noexcept;
  ~RelocationScope();
  RelocationScope(const RelocationScope&) = delete;
  RelocationScope& operator=(const RelocationScope&) = delete;
  static bool covers(const void* from, const void* to) noexcept;
};

[[noreturn]] void throw_length_error(const char* what, std::size_t wanted, std::size_t limit);
[[noreturn]] void throw_out_of_range(const char* what, std::size_t index, std::size_t size);

class Cell {
 public:
  Cell() noexcept = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;
  ~Cell() = default;

  bool in_chunk() const noexcept { return memory::in_window(this); }

  /// The `length` word in a chunk (strings: padded bytes), PrivateBlock::size elsewhere.
  std::uint32_t length() const noexcept {
    if (in_chunk()) return length_;
    const PrivateBlock* b = block();
    return b != nullptr ? b->size : 0;
  }
  const std::byte* content() const noexcept { return const_cast<Cell*>(this)->content(); }
  std::byte* content() noexcept {
    if (in_chunk()) return offset_ != 0 ? reinterpret_cast<std::byte*>(&offset_) + offset_ : nullptr;
    PrivateBlock* b = block();
    return b != nullptr ? b->data : nullptr;
  }

  // --- for the containers and for code that works from the type model -------------------------------------------------

  PrivateBlock* block() const noexcept {
    PrivateBlock* b;
    std::memcpy(&b, static_cast<const void*>(this), sizeof b);
    return b;
  }
  void set_block(PrivateBlock* b) noexcept {
    std::memcpy(static_cast<void*>(this), &b, sizeof b);
    if constexpr (sizeof b < 8) offset_ = 0;
  }
  std::uint32_t chunk_length() const noexcept { return length_; }
  std::int32_t chunk_offset() const noexcept { return offset_; }
  /// REQUIRES in_chunk().
  void set_chunk_length(std::uint32_t length) noexcept { length_ = length; }
  void set_chunk_content(const void* content) noexcept {
    offset_ = content == nullptr ? 0
                                 : static_cast<std::int32_t>(static_cast<const std::byte*>(content) -
                                                             reinterpret_cast<const std::byte*>(&offset_));
  }
  /// Sets the length word or the block's size. REQUIRES room for it; a private cell without a block only takes 0.
  void set_length(std::uint32_t length) noexcept {
    if (in_chunk()) {
      length_ = length;
    } else if (PrivateBlock* b = block()) {
      b->size = length;
    }
  }
  void forget() noexcept {
    length_ = 0;
    offset_ = 0;
  }

  /// Bytes usable without growing; for a read-only chunk 0.
  std::size_t capacity_bytes() const noexcept {
    if (in_chunk()) return offset_ != 0 ? chunk_capacity_bytes() : 0;
    const PrivateBlock* b = block();
    return b != nullptr ? b->capacity : 0;
  }

  /// Room that was made and does not hold the elements yet.
  struct Room {
    std::byte* content;
    PrivateBlock* block;  ///< the new block of a private cell, else nullptr
    bool moved;           ///< false: the old content grew in place
  };
  /// Makes room for `needed` bytes; no change is visible until commit(). `append` over-allocates geometrically.
  /// Throws std::bad_alloc, std::length_error or baton::Exception.
  Room make_room(std::size_t needed, std::size_t alignment, bool append);
  void cancel(const Room& room) noexcept;
  /// After the elements were moved to room.content: frees the old content and takes the new one. Keeps the length.
  void commit(const Room& room) noexcept;

  /// Makes room for `needed` bytes of trivially copyable content, keeping the first `used`; returns the content.
  BATON_NO_PLT std::byte* reserve_trivial(std::size_t used, std::size_t needed, std::size_t alignment, bool append);

  /// Frees the content and becomes empty. The elements must have been destroyed before. In a published message it does
  /// nothing, so such a message may be destroyed while readers have it.
  void release() noexcept;

  /// Takes over `other`'s content without copying, if possible: private to private, relocation inside a chunk, or an
  /// adopted content moved into its own chunk. REQUIRES: this cell is empty ({0, 0}). False: nothing was done.
  bool steal(Cell& other) noexcept;

  /// Exchanges the contents of two private cells.
  void swap_private(Cell& other) noexcept {
    PrivateBlock* b = block();
    set_block(other.block());
    other.set_block(b);
  }

  /// See adopt_content() in vector.hpp. REQUIRES !in_chunk(). Throws std::bad_alloc.
  void adopt(void* content, std::size_t capacity_bytes, ContentOwner* owner);

 private:
  std::size_t chunk_capacity_bytes() const noexcept;
  std::byte* first_content(std::size_t needed, std::size_t alignment, bool append);
  std::byte* reserve_more(std::size_t used, std::size_t needed, std::size_t alignment, bool append);

  std::uint32_t length_ = 0;
  std::int32_t offset_ = 0;
};
static_assert(sizeof(Cell) == 8 && alignof(Cell) == 4, "the SFM words");

}  // namespace detail
}  // namespace baton::sfm
