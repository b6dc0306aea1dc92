// SPDX-License-Identifier: Apache-2.0
// The processes that have a heap open: a slot per process, named {slot, epoch} in every word of the heap. A process owns the byte lock of
// its slot, on a file description of its own, as long as it lives. A process that recovers a dead one owns the byte lock of that slot, so
// one does at a time. If the recoverer dies, the slot stays taken without a living owner, and the next process starts the recovery again.
// Thread rules: join(), leave(), begin_recovery() and end_recovery() under Recovery's mutex, as byte locks belong to the process, not to a
// thread. Everything else is thread-safe.
// [P]: releases of `state` and `epoch` pair with the acquires in lives().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mapping.hpp"

namespace baton::shared::detail {

struct alignas(64) ProcessSlot {
  /// kRecovering: of a dead process; its recoverer owns the byte, so a held byte alone does not mean that the process lives.
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

  /// Takes a slot. True: a dead process had it; the caller recovers that process, then calls check_namespaces().
  Result<bool> join();
  /// After join(). Error: unsupported (the heap is confined to another PID namespace); then leave() is due.
  Result<void> check_namespaces();
  void leave() noexcept;
  bool has_joined() const noexcept { return static_cast<bool>(live_); }
  void after_fork_in_child() noexcept { live_.reset(); }  // or the child would keep its parent alive

  bool lives(ProcessWord process) const noexcept;
  std::size_t count_living() const noexcept;
  /// A process has the slot, or died with it.
  bool is_taken(std::size_t slot) const noexcept {
    return words_.slots[slot].state.load(std::memory_order_acquire) != ProcessSlot::kNobody;  // [P]
  }

  /// True: the slot is a dead process's, and this process now owns its byte. end_recovery() must follow.
  bool begin_recovery(std::size_t slot) noexcept;
  /// The slot is free. The PID of the dead process.
  std::int32_t end_recovery(std::size_t slot) noexcept;
  bool any_in_recovery() const noexcept;

  /// From now on all processes must be in one PID namespace. Throws baton::Exception (unsupported) if they are not.
  void confine_to_namespace();

 private:
  /// The PID of a living process in another namespace than this one; 0: there is none.
  std::int32_t pid_elsewhere() const noexcept;

  Mapping& mapping_;
  ProcessWords& words_;
  os::UniqueFd live_;  // this process's own description: it holds the byte of its slot
};

}  // namespace baton::shared::detail
