// SPDX-License-Identifier: Apache-2.0
// Points the arrays of a native message (std::vector, rosidl_runtime_c sequence) into the received message that it is filled from.
//
// Thread rules: a value of one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/heap/received.hpp"

namespace baton::heap {

class ArrayAliaser {
 public:
  /// Arrays of fewer bytes are left to be copied: to alias one costs more (docs/concepts/heap.md).
  static constexpr std::size_t kWorthwhile = std::size_t{64} << 10;

  /// `received` outlives this object.
  explicit ArrayAliaser(Received& received, std::size_t worthwhile = kWorthwhile) noexcept
      : received_(received), worthwhile_(worthwhile) {}

  /// `native` is a std::vector (`c` false; never one of bool) or a rosidl_runtime_c sequence {data, size, capacity} of scalars of
  /// `element_bytes`, whose present buffer is freed; `content`, inside the received message, becomes its own. False, with nothing
  /// changed, if it is to be copied instead.
  bool take(void* native, bool c, const std::byte* content, std::size_t count, std::size_t element_bytes) noexcept;

  std::uint64_t aliased_bytes() const noexcept { return aliased_bytes_; }

 private:
  Received& received_;
  std::size_t worthwhile_;
  std::uint64_t aliased_bytes_ = 0;
};

}  // namespace baton::heap
