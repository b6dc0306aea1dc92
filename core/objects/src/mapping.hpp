// SPDX-License-Identifier: Apache-2.0
// A heap's memory in this process: the memfd, mapped in the window, and directly before it the private part:
// HeapPrivate and a LocalCount per 64 bytes.
// Thread rules: made by one thread; then every function is thread-safe.
// Invariants: (1) the addresses stay until the destructor; (2) a forked child has no mapping there, and forked() says
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "baton/memory/window.hpp"
#include "baton/objects/block.hpp"
#include "baton/objects/heap_private.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::objects::detail {

inline constexpr std::uint64_t kHeapMagic = 0x31'50'41'45'48'54'4f'4c;  // "LOTHEAP1"
/// Of docs/format/shared-heap.md.
inline constexpr std::uint32_t kHeapVersion = 6;
inline constexpr std::size_t kSpanBytes = 65536;

/// Throws baton::Exception (forked) if this is a child of the process that opened the heap.
std::byte* heap_base_or_throw(const Heap& heap);

class Mapping {
 public:
  /// `limit`: the memfd's size, whole spans.
  static Result<std::unique_ptr<Mapping>> make(os::UniqueFd descriptor, std::size_t limit);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  /// Of the heap or private part that `address` lies in, or null.
  static Mapping* find(const void* address) noexcept {
    const memory::SegmentRecord* const record = memory::Window::find(address);
    return record == nullptr ? nullptr : static_cast<Mapping*>(record->heap);
  }

  bool forked() const noexcept { return generation_ != os::fork_generation(); }
  std::byte* base() const noexcept { return base_; }
  std::size_t limit() const noexcept { return limit_; }
  /// The description for other processes: it holds no locks.
  const os::UniqueFd& descriptor() const noexcept { return descriptor_; }
  HeapPrivate& here() const noexcept { return private_of(base_); }
  /// This process's word; relaxed: stored before any other thread knows the heap.
  ProcessWord me() const noexcept { return here().me.load(std::memory_order_relaxed); }
  std::uint64_t offset_of(const void* p) const noexcept {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base_);
  }
  Block* block_of(const LocalCount* local) const noexcept {
    return reinterpret_cast<Block*>(base_ + (local - locals_) * 64);
  }
  /// Backs the range with memory.
  Result<void> back(std::size_t offset, std::size_t bytes) noexcept;
  /// Maps the first `bytes` and their LocalCounts, so that touching them does not fault.
  void prefault(std::size_t bytes) noexcept;
  void after_fork_in_child() noexcept { descriptor_.reset(); }

 private:
  Mapping() = default;

  std::uint32_t generation_ = 0;
  os::UniqueFd descriptor_;
  std::size_t limit_ = 0;
  std::byte* window_base_ = nullptr;  // of the private part; the heap lies behind it
  std::size_t window_bytes_ = 0;
  std::byte* base_ = nullptr;
  LocalCount* locals_ = nullptr;
  memory::SegmentRecord record_;
};

}  // namespace baton::objects::detail
