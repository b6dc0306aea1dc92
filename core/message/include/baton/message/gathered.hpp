// SPDX-License-Identifier: Apache-2.0
// Bytes that lie in several places, in the order in which one writev(2) writes them: short parts are copied into a buffer, long parts are
// referred to where they lie.
// Thread rules: a value; the caller synchronises.
// Invariants: (1) neighbouring copied bytes are one piece; (2) what is referred to must stay as it is until the last use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "baton/message/bytes.hpp"

namespace baton::message {

class Gathered {
 public:
  /// A state to return to.
  struct Mark {
    std::size_t copied = 0, pieces = 0, size = 0, last = 0;
  };

  void append(const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const auto* begin = static_cast<const std::byte*>(from);
    copied_.insert(copied_.end(), begin, begin + bytes);
    count_copied(bytes);
  }
  /// Zeros.
  void append_zeros(std::size_t bytes) {
    if (bytes == 0) return;
    copied_.resize(copied_.size() + bytes);
    count_copied(bytes);
  }
  template <class Number>
  void append_number(Number value) {
    append(&value, sizeof value);
  }
  void refer(const std::byte* from, std::size_t bytes) {
    if (bytes == 0) return;
    pieces_.push_back({from, bytes});
    size_ += bytes;
  }

  /// All bytes together.
  std::size_t size() const noexcept { return size_; }
  /// Those of them that were copied.
  std::size_t copied() const noexcept { return copied_.size(); }
  /// The copied byte of this number, to be written once its value is known. Valid until the next append().
  std::byte* copied_at(std::size_t number) noexcept { return copied_.data() + number; }

  Mark mark() const noexcept {
    return {copied_.size(), pieces_.size(), size_, pieces_.empty() ? 0 : pieces_.back().bytes};
  }
  /// Takes back what came after the mark.
  void rewind(const Mark& mark) {
    copied_.resize(mark.copied);
    pieces_.resize(mark.pieces);
    if (!pieces_.empty()) pieces_.back().bytes = mark.last;
    size_ = mark.size;
  }
  void clear() noexcept {
    copied_.clear();
    pieces_.clear();
    size_ = 0;
  }

  /// Copies what was referred to, so that nothing else needs to stay.
  void own() {
    std::vector<std::byte> all;
    all.reserve(size_);
    for_each([&](const std::byte* from, std::size_t bytes, bool) { all.insert(all.end(), from, from + bytes); });
    copied_ = std::move(all);
    pieces_.clear();
    if (size_ != 0) pieces_.push_back({nullptr, size_});
  }

  /// Calls each(pointer, bytes, is_copied) for each piece in order. The pointers are valid until the next change.
  template <class Each>
  void for_each(Each&& each) const {
    const std::byte* copied = copied_.data();
    for (const Piece& piece : pieces_) {
      each(piece.from == nullptr ? copied : piece.from, piece.bytes, piece.from == nullptr);
      if (piece.from == nullptr) copied += piece.bytes;
    }
  }

 private:
  struct Piece {
    const std::byte* from;  ///< null: the next of the copied bytes
    std::size_t bytes;
  };
  void count_copied(std::size_t bytes) {
    if (pieces_.empty() || pieces_.back().from != nullptr)
      pieces_.push_back({nullptr, bytes});
    else
      pieces_.back().bytes += bytes;
    size_ += bytes;
  }

  std::vector<std::byte> copied_;
  std::vector<Piece> pieces_;
  std::size_t size_ = 0;
};

}  // namespace baton::message
