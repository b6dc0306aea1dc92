// SPDX-License-Identifier: Apache-2.0
// The check that a reader makes once, at take, before user code sees a chunk that another process wrote.
// Thread rules: pure function. Invariants: (1) every length and offset word of the control part is fetched exactly
// once;
// (2) payload is never read; (3) the bytes of all contents together are at most the message's bytes, so overlapping or
//     repeated contents cannot make the check longer than O(control part).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "baton/message/type.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

/// Messages nested deeper than this are refused (a type model that was read from a peer could be absurd).
inline constexpr int kMaxNesting = 64;

/// Checks that the `size_bytes` bytes at `message` (skeleton and contents, native byte order, aligned to 8) are a
/// message of `type` as docs/format/sfm.md says; afterwards every access through the sfm types stays inside them, as
/// long as the publisher does not rewrite them.
/// Error malformed_message names type, field path, the values found and the limit.
Result<void> validate(const Type& type, const std::byte* message, std::uint32_t size_bytes);

/// validate() for one type, prepared. If all contents of the type are strings and sequences of scalars or of fixed messages, the check is
/// one loop over a table of these, which touches few cache lines (`baton perf touch`); otherwise, and to describe an error, it is
/// validate(). Thread rules: immutable. The type must outlive it.
class Validation {
 public:
  explicit Validation(const Type& type);
  Result<void> operator()(const std::byte* message, std::uint32_t size_bytes) const;
  /// True for a message. Else `why` gets the reason, if it is not null. `validation`: a Validation. For callers that do not know this class.
  static bool check(const void* validation, const std::byte* message, std::uint32_t size_bytes, Error* why);

 private:
  enum class Text : std::uint8_t { kNone, kString };
  /// Two words of the skeleton (docs/format/sfm.md, section 3), and what they may say.
  struct Cell {
    std::uint32_t at;           ///< in the skeleton
    std::uint32_t stride;       ///< bytes of an element
    std::uint32_t bound;        ///< elements, of a string characters
    std::uint8_t misalignment;  ///< the bits that are 0 in the content's place
    Text text;
  };
  static constexpr std::size_t kMostCells = 64;

  bool add(const Type& type, std::uint32_t at, int depth);
  bool is_valid(const std::byte* message, std::uint32_t size_bytes) const;
  bool explain(const std::byte* message, std::uint32_t size_bytes, Error* why) const;

  os::HotVector<Cell> cells_;
  std::uint32_t skeleton_bytes_;
  bool flat_;
  const Type& type_;
};

}  // namespace baton::message
