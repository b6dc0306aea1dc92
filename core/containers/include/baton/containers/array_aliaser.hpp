// SPDX-License-Identifier: Apache-2.0
// Points the arrays of a native message (std::vector, rosidl_runtime_c sequence) into the received message from which
// it is filled.
//
// Thread rules: a value of one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/containers/received.hpp"

namespace baton::containers {

class ArrayAliaser {
 public:
  /// Smaller arrays are copied, because aliasing them costs more (docs/concepts/heap.md).
  static constexpr std::size_t kWorthwhile = std::size_t{64} << 10;

  /// `received` outlives this object.
  explicit ArrayAliaser(Received& received, std::size_t worthwhile = kWorthwhile) noexcept
      : received_(received), worthwhile_(worthwhile) {}

  /// `native` is a std::vector (`c` false; never of bool) or a rosidl_runtime_c sequence {data, size, capacity} of
  /// scalars of `element_bytes`. Frees its present buffer and gives it `content`, which lies inside the received
  /// message. False, with nothing changed, if the array must be copied instead.
  bool take(void* native, bool c, const std::byte* content, std::size_t count, std::size_t element_bytes) noexcept;

  std::uint64_t aliased_bytes() const noexcept { return aliased_bytes_; }

 private:
  Received& received_;
  std::size_t worthwhile_;
  std::uint64_t aliased_bytes_ = 0;
};

}  // namespace baton::containers
