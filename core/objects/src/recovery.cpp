// SPDX-License-Identifier: Apache-2.0
#include "recovery.hpp"

#include <chrono>
#include <string>
#include <thread>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {

Result<void> Recovery::join() {
  const Events::Deferred deferred(events_);
  const std::lock_guard<std::mutex> lock(mutex_);
  Result<bool> left_by_dead = processes_.join();
  if (!left_by_dead) return left_by_dead.error();
  allocations_.begin();
  if (*left_by_dead) recover_slot(slot_of(mapping_.me()));
  Result<void> fits = processes_.check_namespaces();
  if (!fits) processes_.leave();
  return fits;
}

std::size_t Recovery::collect() {
  if (mapping_.forked() || events_.is_deferred()) return 0;  // deferred: a destructor in a recovery calls this
  const OperationGuard guard;                                // destructors and on_event may end the Heap object
  const Events::Deferred deferred(events_);
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock || !processes_.has_joined()) return 0;  // another thread runs a recovery
  std::size_t dead = 0;
  for (std::size_t slot = 0; slot < kMaxProcesses; ++slot) {
    if (!processes_.begin_recovery(slot)) continue;
    recover_slot(slot);
    ++dead;
    HeapEvent event;
    event.kind = HeapEvent::Kind::kProcessDied;
    event.pid = processes_.end_recovery(slot);
    event.text = "process " + std::to_string(event.pid) + " died with the shared heap open";
    events_.report(event);
  }
  if (dead == 0 && blocks_.may_have_orphans()) {
    allocations_.for_each([this](const Allocation& found) {
      if (found.kind == Kind::kBlock) recover(found, kMaxProcesses);
    });
  }
  return dead;
}

bool Recovery::reclaim() {
  constexpr std::int64_t kMostNs = 1'000'000'000, kStepNs = 1'000'000;
  if (collect() > 0) return true;
  const auto others_recover = [this] {
    return processes_.any_in_recovery() || !std::unique_lock<std::mutex>(mutex_, std::try_to_lock);
  };
  if (events_.is_deferred() || !others_recover()) return false;
  const std::int64_t end = os::monotonic_ns() + kMostNs;
  do {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kStepNs));
    collect();  // in case the recoverer died
  } while (others_recover() && os::monotonic_ns() < end);
  return true;
}

// With the slot's byte locked.
void Recovery::recover_slot(std::size_t slot) {
  BATON_CRASH_POINT("shared.heap.recovering");
  allocations_.unpin_left();
  contents_.free_pending([&](ProcessWord process) { return slot_of(process) == slot && process != mapping_.me(); });
  allocations_.for_each([&](const Allocation& found) {
    if (found.kind == Kind::kBlock) recover(found, slot);
  });
  BATON_CRASH_POINT("shared.heap.recovered");
}

namespace {

/// True if a process, named in `worker`, works on the block.
bool in_work(BlockState state) noexcept {
  return state == BlockState::kConstructing || state == BlockState::kDue || state == BlockState::kEnding ||
         state == BlockState::kDestroyed;
}

}  // namespace

// Locks a pinned block, unless the block is freed meanwhile or of_interest() is no longer true.
bool Recovery::lock_pinned(const Allocation& found, const std::function<bool()>& of_interest) noexcept {
  Block& block = found.block();
  while (!found.is_freed() && of_interest()) {
    const Locked locked = block.lock.try_lock(mapping_.base(), mapping_.me());
    if (locked == Locked::kNo) {  // its owner lives and works on the block
      std::this_thread::yield();
      continue;
    }
    if (found.is_freed()) return false;  // by an owner that died at that moment
    if (locked == Locked::kOwnerDied) blocks_.after_dead_owner(block);
    return true;
  }
  return false;
}

// `slot`: of the dead process; kMaxProcesses: none, only an orphan is ended. Another process may free the block at any
// time. So it is pinned until this process owns its lock; only the lock's owner frees it.
void Recovery::recover(const Allocation& found, std::size_t slot) noexcept {
  Block& block = found.block();
  const std::uint64_t bit = slot < kMaxProcesses ? std::uint64_t{1} << slot : 0;
  const auto dead = [&](ProcessWord process) {
    return process != 0 && slot < kMaxProcesses && slot_of(process) == slot && process != mapping_.me();
  };
  TypeInfo type{};
  bool orphan = false;
  const auto of_interest = [&] {
    const BlockState state = block.state.load(std::memory_order_acquire);
    orphan = state == BlockState::kOrphan && find_type(get(block.type), &type);
    return orphan || ((get(block.holds) | get(block.weak_holds)) & bit) != 0 ||
           dead(block.lock.word.load(std::memory_order_acquire) & kProcessMask) ||
           (in_work(state) && dead(block.worker.load(std::memory_order_relaxed)));
  };
  if (!of_interest()) return;  // tested without the lock: but words that name the dead process stay until its recovery
  if (!allocations_.pin(found)) return;
  const bool locked = lock_pinned(found, of_interest);
  allocations_.unpin(found);
  if (!locked) return;
  const bool constructed = (block.holds & bit) != 0;
  put(block.holds, block.holds & ~bit);
  put(block.weak_holds, block.weak_holds & ~bit);
  const BlockState now = block.state.load(std::memory_order_acquire);
  const bool still_orphan = now == BlockState::kOrphan && orphan;
  const bool unfinished = in_work(now) && dead(block.worker.load(std::memory_order_relaxed));
  if (!still_orphan && !unfinished) {
    blocks_.unlock_and_settle(block);
    return;
  }
  if (now == BlockState::kConstructing || now == BlockState::kEnding || now == BlockState::kDue) {
    // The constructor or destructor may have run in part.
    const bool whole = (now == BlockState::kConstructing && constructed) || now == BlockState::kDue;
    const bool again = block.type == 0 || whole || (find_type(block.type, &type) && type.recoverable);
    block.worker.store(mapping_.me(), std::memory_order_relaxed);
    block.state.store(whole ? BlockState::kDue : BlockState::kEnding, std::memory_order_release);
    blocks_.unlock(block);
    if (again) return blocks_.end_object(block);
    events_.report({HeapEvent::Kind::kDiedInDestructor, 0,
                    std::string("a process died in the constructor or destructor of ") +
                        (type.name != nullptr ? type.name : "an unknown type") +
                        "; its memory and the smart pointers in it are freed, what else it owned is not"});
    // Without the block's lock, which destructors of other objects may take. As the worker, only this process uses the
    // object.
    contents_.clear_pointers_in(static_cast<std::byte*>(block.object()), allocations_.at(&block).bytes - sizeof(Block));
    block.state.store(BlockState::kDestroyed, std::memory_order_release);
    return blocks_.end_memory(block);
  }
  block.worker.store(mapping_.me(), std::memory_order_relaxed);
  block.state.store(still_orphan ? BlockState::kDue : BlockState::kDestroyed, std::memory_order_release);
  if (still_orphan) blocks_.adopt_orphan();
  blocks_.unlock(block);
  still_orphan ? blocks_.end_object(block) : blocks_.end_memory(block);
}

}  // namespace baton::objects::detail
