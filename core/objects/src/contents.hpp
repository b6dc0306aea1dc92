// SPDX-License-Identifier: Apache-2.0
// The contents of memory whose user cannot free them: stored pointers, and buffers that belong to a guard
// (baton/objects/guarded.hpp). A process that died, or left without a destructor, leaves such memory.
// Thread rules: only the caller uses the memory that it names.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks.hpp"

namespace baton::objects::detail {

class Contents {
 public:
  Contents(Mapping& mapping, Allocations& allocations) noexcept : mapping_(mapping), allocations_(allocations) {}

  Allocations& allocations() noexcept { return allocations_; }

  /// Smart pointers stored in this memory become null.
  void clear_pointers_in(std::byte* memory, std::size_t bytes) noexcept;
  /// Frees the buffers of the guard, with the smart pointers in them.
  void free_buffers(std::uint32_t guard) noexcept {
    free_buffers_if([guard](std::uint32_t of) { return of == guard; });
  }
  /// Frees the pending allocations of processes for which whose(process) is true, with the smart pointers and the
  /// buffers of guards in them.
  template <class Whose>
  void free_pending(Whose&& whose) noexcept {
    free_buffers_if([&](std::uint32_t guard) {
      const ProcessWord pending = allocations_.at(mapping_.base() + std::size_t{guard} * 64).pending();
      return pending != 0 && whose(pending);
    });
    allocations_.for_each([&](const Allocation& found) {
      if (found.pending() == 0 || !whose(found.pending())) return;
      clear_pointers_in(found.memory, found.bytes);  // of construct()
      allocations_.release_pending(found);
    });
  }

 private:
  template <class Which>
  void free_buffers_if(Which&& which) noexcept {
    allocations_.for_each([&](const Allocation& found) {
      if (found.guard() != 0 && which(found.guard())) free_buffer(found);
    });
  }
  void free_buffer(const Allocation& buffer) noexcept;

  Mapping& mapping_;
  Allocations& allocations_;
};

}  // namespace baton::objects::detail
