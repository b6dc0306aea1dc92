// SPDX-License-Identifier: Apache-2.0
// TZC's data parts (section III-D of the paper): a region of shared memory per publisher; at the head of each data part
// a reference count and a magic number. A count of zero frees nothing: only an allocation that finds no room releases
// unreferenced data parts, the oldest first, a bounded number of times (the paper's "medium effort").
// The count and the magic number are one word that changes by compare-and-swap, so that a release and a take cannot
// both succeed.
// Thread rules: a Region's owner is one thread; take() and drop() may be called by any thread of any process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "baton/os/shared_memory.hpp"

namespace baton::perf::tzc {

struct alignas(64) DataPart {
  std::atomic<std::uint64_t> word;  ///< magic number << 32 | references
  std::uint64_t bytes;
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(DataPart); }
};

/// A control part's description of its data part.
struct RegionHandle {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t magic;
};

class Region {
 public:
  explicit Region(std::size_t mem_size);
  int fd() const noexcept { return segment_.fd.get(); }

  /// Allocates a data part with one reference, the caller's. Throws if there is no room after releasing all releasable
  /// parts.
  DataPart& allocate(std::size_t bytes, RegionHandle& handle);

 private:
  struct Used {
    std::size_t offset, end;
    std::uint64_t age;
  };
  bool place(std::size_t bytes, std::size_t& offset) const;
  bool release_oldest();

  os::CreatedSegment segment_;
  std::deque<Used> used_;  ///< by address
  std::uint64_t count_ = 0;
};

/// Another reference to the data part that `handle` names; nullptr if it was released meanwhile.
DataPart* take(std::byte* base, std::size_t region_bytes, const RegionHandle& handle) noexcept;
void drop(DataPart& part) noexcept;

}  // namespace baton::perf::tzc
