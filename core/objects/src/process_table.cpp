// SPDX-License-Identifier: Apache-2.0
#include "process_table.hpp"

#include <string>

#include "baton/objects/mutex.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/process.hpp"

namespace baton::objects::detail {

Result<bool> ProcessTable::join() {
  Result<os::UniqueFd> live = os::reopen(mapping_.descriptor().get());
  if (!live) return live.error();
  live_ = std::move(*live);
  for (const bool dirty : {false, true}) {
    for (std::size_t i = 0; i < kMaxProcesses; ++i) {
      ProcessSlot& slot = words_.slots[i];
      if (!os::try_lock_byte(live_.get(), i)) continue;
      const bool left_by_dead = is_taken(i);
      if (left_by_dead && !dirty) {
        os::unlock_byte(live_.get(), i);
        continue;
      }
      std::uint32_t epoch = slot.epoch.load(std::memory_order_relaxed) + 1;  // only the byte's owner writes it
      if (process_word(0, epoch) == 0) ++epoch;
      slot.epoch.store(epoch, std::memory_order_release);  // [P]
      slot.pid.store(os::process_id(), std::memory_order_relaxed);
      // seq_cst, both: before check_namespaces() reads `confined`, see confine_to_namespace().
      slot.pid_namespace.store(os::pid_namespace(), std::memory_order_seq_cst);
      slot.state.store(ProcessSlot::kInUse, std::memory_order_seq_cst);
      // relaxed: no other thread knows the heap yet.
      mapping_.here().me.store(process_word(i, epoch), std::memory_order_relaxed);
      BATON_CRASH_POINT("shared.heap.joined");
      return left_by_dead;
    }
  }
  live_.reset();
  return Error{Errc::limit_reached,
               "the shared heap is open in " + std::to_string(kMaxProcesses) + " processes, the most it can have"};
}

Result<void> ProcessTable::check_namespaces() {
  if (words_.confined.load(std::memory_order_seq_cst) == 0) return {};  // pairs with confine_to_namespace()
  const std::int32_t pid = pid_elsewhere();
  if (pid == 0) return {};
  return Error{Errc::unsupported,
               "the shared heap has a lock with priority inheritance, whose users must be in one PID namespace; this "
               "process is in another one than process " +
                   std::to_string(pid) + " there"};
}

void ProcessTable::leave() noexcept {
  words_.slots[slot_of(mapping_.me())].state.store(ProcessSlot::kNobody, std::memory_order_release);  // [P]
  live_.reset();
}

bool ProcessTable::lives(ProcessWord process) const noexcept {
  const ProcessSlot& slot = words_.slots[slot_of(process)];
  if (slot.state.load(std::memory_order_acquire) != ProcessSlot::kInUse) return false;                      // [P]
  if (process_word(slot_of(process), slot.epoch.load(std::memory_order_acquire)) != process) return false;  // [P]
  return process == mapping_.me() || os::byte_locked_by_other(live_.get(), slot_of(process));
}

std::size_t ProcessTable::count_living() const noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kMaxProcesses; ++i)
    count += lives(process_word(i, words_.slots[i].epoch.load(std::memory_order_relaxed)));  // lives() checks it
  return count;
}

bool ProcessTable::begin_recovery(std::size_t slot) noexcept {
  if (slot == slot_of(mapping_.me()) || !is_taken(slot) || !os::try_lock_byte(live_.get(), slot)) return false;
  if (!is_taken(slot)) {  // another process has recovered it meanwhile
    os::unlock_byte(live_.get(), slot);
    return false;
  }
  // A thread that waits for a lock of the dead process must not wait for this recovery, which may need a lock of that
  // thread.
  words_.slots[slot].state.store(ProcessSlot::kRecovering, std::memory_order_release);  // [P]
  return true;
}

std::int32_t ProcessTable::end_recovery(std::size_t slot) noexcept {
  const std::int32_t pid = words_.slots[slot].pid.load(std::memory_order_relaxed);  // only the byte's owner writes it
  words_.slots[slot].state.store(ProcessSlot::kNobody, std::memory_order_release);  // [P]
  os::unlock_byte(live_.get(), slot);
  return pid;
}

bool ProcessTable::any_in_recovery() const noexcept {
  for (const ProcessSlot& slot : words_.slots) {
    if (slot.state.load(std::memory_order_acquire) == ProcessSlot::kRecovering) return true;  // [P]
  }
  return false;
}

std::int32_t ProcessTable::pid_elsewhere() const noexcept {
  const std::uint64_t mine =
      words_.slots[slot_of(mapping_.me())].pid_namespace.load(std::memory_order_relaxed);  // this process's own word
  for (std::size_t i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot& slot = words_.slots[i];
    // seq_cst: pairs with join(), see confine_to_namespace().
    if (slot.state.load(std::memory_order_seq_cst) == ProcessSlot::kInUse &&
        slot.pid_namespace.load(std::memory_order_seq_cst) != mine &&
        lives(process_word(i, slot.epoch.load(std::memory_order_acquire)))) {
      return slot.pid.load(std::memory_order_relaxed);  // for the error's text
    }
  }
  return 0;
}

void ProcessTable::confine_to_namespace() {
  // Stored before the slots are read; join() stores its slot before check_namespaces() reads this. All seq_cst: at
  // least one of the two sees the other.
  words_.confined.store(1, std::memory_order_seq_cst);
  const std::int32_t pid = pid_elsewhere();
  if (pid == 0) return;
  words_.confined.store(0, std::memory_order_seq_cst);
  throw Exception(
      Error{Errc::unsupported, "a lock with priority inheritance works in one PID namespace only, and process " +
                                   std::to_string(pid) + " has this shared heap open from another one"});
}

void InheritingLock::confine_to_namespace(const void* address) {
  private_of(heap_base_or_throw(address)).processes->confine_to_namespace();
}

bool process_lives(std::byte* heap_base, ProcessWord process) noexcept {
  HeapPrivate& here = private_of(heap_base);
  // relaxed: stored before any other thread knows the heap.
  return process == here.me.load(std::memory_order_relaxed) || here.processes->lives(process);
}

}  // namespace baton::objects::detail
