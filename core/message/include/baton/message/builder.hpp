// SPDX-License-Identifier: Apache-2.0
// Builds one SFM message from front to back when its type is known only at run time. Decoders write into a Builder.
// Two targets: a flat private buffer that grows (FlatBuilder) and a loan in shared memory (LoanBuilder).
//
// Thread rules: one thread at a time.
// Invariants: (1) places in the message are named by their offset from its start, because a flat buffer moves when it
// grows; (2) contents are appended in call order, each aligned as docs/format/sfm.md says, and gaps are zero, so a
// message decoded twice has the same bytes; (3) nothing beyond the limit is ever written: the append fails instead.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/chunk_header.hpp"
#include "baton/message/bytes.hpp"
#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

/// Size and alignment of one element of `field` (of its content if it is a sequence or array, of itself otherwise).
struct ElementLayout {
  std::uint32_t size;
  std::uint32_t alignment;
};
constexpr ElementLayout element_layout(const Field& field) noexcept {
  return {element_size(field), element_alignment(field)};
}

class Builder {
 public:
  virtual ~Builder() = default;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// Starts a message: a zeroed skeleton (every string and sequence empty). Drops the target's former content.
  virtual Result<void> begin(const Type& type) = 0;

  /// The message's first byte. Invalidated by every call that adds content.
  std::byte* base() const noexcept { return base_; }

  /// Adds the content of a sequence: `count` elements, uninitialised, and writes {count, offset} into the words at
  /// `words`. Returns the content's place. `count` 0 leaves the words {0, 0}.
  /// REQUIRES: `words` is the place of a sequence or wstring in a skeleton of this message that is still empty.
  /// Errors: message_too_large, out_of_memory, limit_reached.
  Result<std::size_t> add_sequence(std::size_t words, std::size_t count, ElementLayout element);

  /// An add_sequence() that zeroes the content: for elements that themselves hold words.
  Result<std::size_t> add_zeroed_sequence(std::size_t words, std::size_t count, ElementLayout element);

  /// Adds a string's content, terminator and padding. An empty string leaves the words {0, 0}.
  Result<void> add_string(std::size_t words, const void* text, std::size_t length);

 protected:
  Builder() = default;

  /// `bytes` > 0 uninitialised bytes with `alignment` (1..64), for the words at `owner`. Returns their place.
  virtual Result<std::size_t> append(std::size_t owner, std::size_t bytes, std::size_t alignment) = 0;

  std::byte* base_ = nullptr;

 private:
  Result<std::size_t> add_content(std::size_t words, std::size_t length, std::size_t bytes, std::size_t alignment);
};

/// Private memory for a message, aligned to 64, kept and reused between messages. Grows by doubling.
class FlatBuffer {
 public:
  FlatBuffer() = default;
  ~FlatBuffer();
  FlatBuffer(FlatBuffer&& other) noexcept;
  FlatBuffer& operator=(FlatBuffer&& other) noexcept;

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  Bytes bytes() const noexcept { return {data_, size_}; }

  /// Makes room without changing size(). False if there is no memory. Invalidates data().
  bool reserve(std::size_t capacity) noexcept;
  /// Sets the size; new bytes are uninitialised. REQUIRES: size <= capacity(). AddressSanitizer reports any use of the
  /// bytes behind it.
  void set_size(std::size_t size) noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Builds in a FlatBuffer, which must outlive the builder; buffer.size() is the message's size so far. Decoders need
/// memory in proportion to the wire. Exception: types with sequences of empty messages (or of messages with arrays of
/// these), which take no bytes on a ROS 1 wire. A hostile wire can then cost up to `max_bytes`.
class FlatBuilder final : public Builder {
 public:
  explicit FlatBuilder(FlatBuffer& buffer, std::size_t max_bytes = memory::kMaxMessageBytes) noexcept
      : buffer_(buffer), max_bytes_(max_bytes < memory::kMaxMessageBytes ? max_bytes : memory::kMaxMessageBytes) {}
  Result<void> begin(const Type& type) override;

 protected:
  Result<std::size_t> append(std::size_t owner, std::size_t bytes, std::size_t alignment) override;

 private:
  FlatBuffer& buffer_;
  std::size_t max_bytes_;
};

/// Builds in a loan through memory/arena.hpp. `skeleton` is the loan's message, which must hold no contents yet (a
/// fresh loan), since begin() overwrites words without freeing their contents. Decoding this way costs one copy, wire
/// to chunk.
class LoanBuilder final : public Builder {
 public:
  explicit LoanBuilder(void* skeleton) noexcept { base_ = static_cast<std::byte*>(skeleton); }
  Result<void> begin(const Type& type) override;

 protected:
  Result<std::size_t> append(std::size_t owner, std::size_t bytes, std::size_t alignment) override;
};

}  // namespace baton::message
