// SPDX-License-Identifier: Apache-2.0
// Small shared segments without a name: memfd_create(2) with seals (fcntl(2), "File Sealing"), mapped whole.
// Thread rules: values; a mapping may be used by any thread.
// Invariants: (1) a mapping's pages are backed and mapped when it is made, so that touching it neither faults nor
// raises SIGBUS; (2) a foreign segment is mapped only if it is a sealed memfd of exactly the announced size; (3)
// mappings that are writable are not inherited by forked children (MADV_DONTFORK) and no mapping is dumped into a core
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// A mapping, unmapped at destruction. In a forked child the destructor does nothing (nothing is mapped there).
class SharedMapping {
 public:
  SharedMapping() = default;
  SharedMapping(SharedMapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        generation_(other.generation_) {}
  SharedMapping& operator=(SharedMapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(generation_, other.generation_);
    return *this;
  }
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  explicit operator bool() const noexcept { return base_ != nullptr; }
  std::byte* base() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }
  /// The process (os/fork.hpp) that it is mapped in.
  std::uint32_t generation() const noexcept { return generation_; }

  /// For create_segment() and map_segment() only.
  static Result<SharedMapping> map(int fd, std::size_t size, bool writable);

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t generation_ = 0;
};

enum class Writers : std::uint8_t {
  kOnlyCreator,  ///< F_SEAL_FUTURE_WRITE after the creator's own mapping: others can only read
  kBothEnds,     ///< every process that gets the descriptor may write
};

struct CreatedSegment {
  SharedMapping mapping;  ///< writable, zero-filled
  UniqueFd fd;
};

/// A segment of `size` bytes (rounded up to pages), backed, sealed against shrinking and growing. Errors:
/// out_of_memory, out_of_descriptors, system.
Result<CreatedSegment> create_segment(const char* name, std::size_t size, Writers writers);

/// Checks a foreign segment and maps it: it must be ordinary sealed memory (memory_file.hpp) of exactly `size` bytes,
/// with the seals that `writers` promises. Fills holes, at this process's cost: bound `size` first. Errors:
/// protocol_violation (names the fault), out_of_memory, system.
Result<SharedMapping> map_segment(const UniqueFd& fd, std::size_t size, Writers writers);

/// Size of the file behind `fd`; protocol_violation if it has none (foreign descriptors).
Result<std::uint64_t> file_size(const UniqueFd& fd);

/// Bytes rounded up to whole pages.
std::size_t round_to_pages(std::size_t bytes) noexcept;

}  // namespace baton::os
