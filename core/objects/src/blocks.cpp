// SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include "baton/objects/transfer.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {
namespace {

// The registered types: lists that only grow, so that objects can end in a forked child and while static objects are
// destroyed.
struct KnownType {
  TypeInfo info;
  const KnownType* next;
};
std::atomic<const KnownType*> g_types[256];  // zero before any constructor runs
std::atomic<const KnownType*>& types_like(std::uint64_t id) noexcept { return g_types[(id ^ id >> 32) & 0xff]; }
}  // namespace

bool find_type(std::uint64_t id, TypeInfo* info) noexcept {
  // acquire: pairs with the release in register_type().
  for (const KnownType* known = types_like(id).load(std::memory_order_acquire); known != nullptr; known = known->next) {
    if (known->info.id != id) continue;
    *info = known->info;
    return true;
  }
  return false;
}

void register_type(const TypeInfo& info) noexcept {
  TypeInfo known{};
  if (find_type(info.id, &known)) return;  // two concurrent calls may add it twice, which is harmless
  std::atomic<const KnownType*>& first = types_like(info.id);
  auto* const added = new KnownType{info, first.load(std::memory_order_relaxed)};  // NOLINT: for ever
  // release: pairs with the acquire in find_type().
  while (!first.compare_exchange_weak(added->next, added, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

// With the lock: completes or undoes the half-done change of the dead owner.
void Blocks::after_dead_owner(Block& block) noexcept {
  redo(
      [&](std::uint64_t what) {
        return Word{count_in(block, (what & kWeakPointer) != 0 ? Strength::kWeak : Strength::kStrong)};
      },
      Word{block.undo_count}, Word{block.undo_target},
      [&](std::uint64_t what) {
        const auto* const target =
            reinterpret_cast<const StoredWords*>(mapping_.base() + (what & ~(kToNull | kWeakPointer)));
        return get(target->block) != 0 && target->at() == &block;
      });
  block.lock.make_consistent();
}

void Blocks::unlock_and_end(Block& block) noexcept {
  BlockState now = block.state.load(std::memory_order_relaxed);
  const bool over = now == BlockState::kAlive && block.count == 0 && block.holds == 0;
  if (over && block.type == 0) {  // no destructor to run
    now = BlockState::kDead;
    block.state.store(now, std::memory_order_release);
    BATON_CRASH_POINT("shared.object.over");
  }
  if (over && now == BlockState::kAlive) {
    block.worker.store(mapping_.me(), std::memory_order_relaxed);
    block.state.store(BlockState::kDue, std::memory_order_release);  // its worker is stored before it; see
                                                                     // Recovery::recover()
    BATON_CRASH_POINT("shared.object.due");
    unlock(block);
    end_object(block);
  } else if (now == BlockState::kDead && block.weak_count == 0 && block.weak_holds == 0) {
    allocations_.release(&block);  // no reference is left, so unlocking is not needed
  } else {
    unlock(block);
  }
}

// If this process dies, each block of the list is kDue by itself: only this thread uses the links.
void Blocks::end_object(Block& block) noexcept {
  struct Running {
    Blocks* heap = nullptr;
    std::uint32_t first = 0;  // place of the next block; 0: none
  };
  thread_local Running running;
  if (running.heap == this) {
    block.next_due = running.first;
    running.first = block.place;
    return;
  }
  const OperationGuard guard;     // destructors may end the Heap object
  const Running outer = running;  // of another heap, if any
  running = {this, block.place};
  block.next_due = 0;
  while (running.first != 0) {
    Block& next = *reinterpret_cast<Block*>(mapping_.base() + std::size_t{running.first} * 64);
    running.first = next.next_due;
    end_one(next);
  }
  running = outer;
}

// Ends an unreferenced object.
void Blocks::end_one(Block& block) noexcept {
  if (block.type != 0) {
    TypeInfo type{};
    if (!find_type(block.type, &type)) {
      block.state.store(BlockState::kOrphan, std::memory_order_release);
      words_.orphans.fetch_add(1, std::memory_order_relaxed);
      events_.report(
          {HeapEvent::Kind::kOrphan, 0,
           "an object whose last holder died has a type that this process does not know; it is kept until a process "
           "that knows it collects"});
      return;
    }
    block.state.store(BlockState::kEnding, std::memory_order_release);
    BATON_CRASH_POINT("shared.object.ending");
    type.destroy(block.object());
  }
  BATON_CRASH_POINT("shared.object.destroyed");
  block.state.store(BlockState::kDestroyed, std::memory_order_release);
  end_memory(block);
}

// For an unlocked block that is kDestroyed, with this process as the worker.
void Blocks::end_memory(Block& block) noexcept {
  lock(block);
  block.state.store(BlockState::kDead, std::memory_order_release);
  BATON_CRASH_POINT("shared.object.dead");
  unlock_and_settle(block);
}

void Blocks::begin_closing() noexcept {
  closing_.store(true, std::memory_order_release);  // pairs with the acquire in uncount_hold()
}

// Other threads may take and drop holds while the bits are counted. A new hold is counted in gains_ first, so holds
// taken meanwhile are noticed, and another check is requested. Holds dropped meanwhile make holds_ too low, and the
// next check early.
bool Blocks::nothing_held() noexcept {
  if (holds_.load(std::memory_order_acquire) > 0) return false;
  const std::uint64_t gains = gains_.load(std::memory_order_acquire);
  holds_.store(0, std::memory_order_relaxed);
  std::int64_t count = 0;
  allocations_.for_each([&](const Allocation& found) {
    if (found.kind != Kind::kBlock) return;
    // relaxed, both: changes show in gains_.
    count += (__atomic_load_n(&found.block().holds, __ATOMIC_RELAXED) & my_bit()) != 0;
    count += (__atomic_load_n(&found.block().weak_holds, __ATOMIC_RELAXED) & my_bit()) != 0;
  });
  holds_.fetch_add(count, std::memory_order_acq_rel);
  if (gains_.load(std::memory_order_acquire) == gains) return count == 0;
  holds_.store(0, std::memory_order_relaxed);
  OperationGuard::request_close();
  return false;
}

}  // namespace baton::objects::detail
