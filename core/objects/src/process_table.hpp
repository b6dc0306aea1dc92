// SPDX-License-Identifier: Apache-2.0
// The processes that have a heap open: a slot per process, named {slot, epoch} in every word of the heap. While a
// process lives, it owns the byte lock of its slot, on a file description of its own. A process that recovers a dead
// one owns the byte lock of the dead one's slot, so only one process at a time recovers it. If the recoverer dies, the
// slot stays taken without a living owner, and the next process starts the recovery again.
// Thread rules: join(), leave(), begin_recovery() and end_recovery() under Recovery's mutex, as byte locks belong to
// the process, not to a thread. Everything else is thread-safe.
// [P]: releases of `state` and `epoch` pair with the acquires in lives().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mapping.hpp"

namespace baton::objects::detail {

struct alignas(64) ProcessSlot {
  /// kRecovering: the slot of a dead process; its recoverer owns the byte, so an owned byte alone does not mean that
  /// the process lives.
  enum State : std::uint32_t { kNobody, kInUse, kRecovering };
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> epoch;
  std::atomic<std::uint64_t> pid_namespace;
  std::atomic<std::int32_t> pid;
};

struct ProcessWords {
  std::atomic<std::uint32_t> confined{
      0};  // a lock with priority inheritance was made: only one PID namespace from then on
  ProcessSlot slots[kMaxProcesses] = {};
};

class ProcessTable {
 public:
  ProcessTable(Mapping& mapping, ProcessWords& words) noexcept : mapping_(mapping), words_(words) {}

  /// Takes a slot. True: a dead process had it. The caller then recovers that process, and calls check_namespaces().
  Result<bool> join();
  /// Call after join(). Error: unsupported (the heap is confined to another PID namespace); then call leave().
  Result<void> check_namespaces();
  void leave() noexcept;
  bool has_joined() const noexcept { return static_cast<bool>(live_); }
  void after_fork_in_child() noexcept { live_.reset(); }  // otherwise the child would keep its parent's lock

  bool lives(ProcessWord process) const noexcept;
  std::size_t count_living() const noexcept;
  /// A process has the slot, or died while it had it.
  bool is_taken(std::size_t slot) const noexcept {
    return words_.slots[slot].state.load(std::memory_order_acquire) != ProcessSlot::kNobody;  // [P]
  }

  /// True: the slot belongs to a dead process, and this process now owns its byte. end_recovery() must follow.
  bool begin_recovery(std::size_t slot) noexcept;
  /// Frees the slot; returns the PID of the dead process.
  std::int32_t end_recovery(std::size_t slot) noexcept;
  bool any_in_recovery() const noexcept;

  /// From now on all processes must be in one PID namespace. Throws baton::Exception (unsupported) if they are not.
  void confine_to_namespace();

 private:
  /// The PID of a living process in another namespace than this process; 0: none.
  std::int32_t pid_elsewhere() const noexcept;

  Mapping& mapping_;
  ProcessWords& words_;
  os::UniqueFd live_;  // this process's own description: it holds the byte of its slot
};

}  // namespace baton::objects::detail
