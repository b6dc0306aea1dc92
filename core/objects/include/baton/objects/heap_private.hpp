// SPDX-License-Identifier: Apache-2.0
// HeapPrivate: a process's private words of an open heap, directly before the heap's first byte; and process words,
// which name processes in a heap. The free functions of the room find the parts of a heap (core/objects/README.md) from an
// address in it.
// Thread rules: written by the opening thread before others know the heap, then read only, but for the waiter table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "baton/objects/waiter_table.hpp"

namespace baton::objects::detail {

/// Names a process in the words of a heap: slot and epoch (bits 0..28); 0: none.
using ProcessWord = std::uint32_t;
inline constexpr ProcessWord kProcessMask = 0x1fff'ffff;
inline constexpr std::size_t kMaxProcesses = 64;
inline constexpr ProcessWord process_word(std::size_t slot, std::uint32_t epoch) noexcept {
  return static_cast<ProcessWord>(slot) | (epoch << 6 & kProcessMask);
}
inline constexpr std::size_t slot_of(ProcessWord process) noexcept { return process & (kMaxProcesses - 1); }

class ProcessTable;
class Waiters;
class Blocks;
class Contents;
struct NameWords;
struct LocalCount;

struct HeapPrivate {
  std::atomic<ProcessWord> me;
  ProcessTable* processes;
  Waiters* waiters;
  Blocks* blocks;
  Contents* contents;
  NameWords* names;
  LocalCount* locals;   // one per 64 bytes of the heap
  std::uint64_t limit;  // bytes of the heap
  WaiterTable waiter_table;
};
inline constexpr std::size_t kPrivateBytes = 65536;  // a whole page of any kernel
static_assert(sizeof(HeapPrivate) <= 4096, "one page, which is there from the beginning");

/// Not for forked children, which have no such memory.
inline HeapPrivate& private_of(const void* heap_base) noexcept {
  return *reinterpret_cast<HeapPrivate*>(reinterpret_cast<std::uintptr_t>(heap_base) - kPrivateBytes);
}

/// The first byte of the open heap that `address` lies in, or null.
std::byte* heap_base_of(const void* address) noexcept;
/// A heap_base_of() that throws baton::Exception (invalid_argument) if there is none.
std::byte* heap_base_or_throw(const void* address);
/// True if the process of this word lives. A system call, except for the caller's own process.
bool process_lives(std::byte* heap_base, ProcessWord process) noexcept;

}  // namespace baton::objects::detail
