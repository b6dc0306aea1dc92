// SPDX-License-Identifier: Apache-2.0
// The table of processes: joining, leaving, who lives, and giving back what the dead had. Who recovers a slot owns its byte lock,
// so there is one at a time, and one who dies at it leaves the slot as it is, in use by nobody who lives: the next one
// starts again. Every step may be repeated.
#include <chrono>
#include <thread>

#include "baton/os/clock.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/process.hpp"
#include "baton/shared/mutex.hpp"
#include "heap_state.hpp"

namespace baton::shared::detail {

/// While it lives, this thread recovers with recovery_mutex_; then the lock is given up, and what happened is told.
class HeapState::Recovery {
 public:
  explicit Recovery(HeapState& heap, std::unique_lock<std::mutex> lock) noexcept
      : heap_(heap), lock_(std::move(lock)), outer_(innermost) {
    innermost = this;
  }
  ~Recovery() {
    innermost = outer_;
    lock_.unlock();
    for (const HeapEvent& event : events_) heap_.tell(event);
  }
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;
  static Recovery* of(const HeapState* heap) noexcept {
    Recovery* found = innermost;
    while (found != nullptr && &found->heap_ != heap) found = found->outer_;
    return found;
  }
  void add(const HeapEvent& event) { events_.push_back(event); }

 private:
  static thread_local Recovery* innermost;
  HeapState& heap_;
  std::unique_lock<std::mutex> lock_;
  Recovery* const outer_;  // of another heap, whose objects' destructors led here
  std::vector<HeapEvent> events_;
};
thread_local HeapState::Recovery* HeapState::Recovery::innermost = nullptr;

bool HeapState::recovers() const noexcept { return Recovery::of(this) != nullptr; }

bool HeapState::lives(ProcessWord process) noexcept {
  const ProcessSlot& slot = header().slots[slot_of(process)];
  // [P] acquire: pairs with the releases in join() and recover_slot().
  if (slot.state.load(std::memory_order_acquire) != ProcessSlot::kInUse) return false;
  if (process_word(slot_of(process), slot.epoch.load(std::memory_order_acquire)) != process) return false;  // [P]
  return process == me() || os::byte_locked_by_other(live_.get(), slot_of(process));
}

Result<void> HeapState::join() {
  Result<os::UniqueFd> live = os::reopen(share_.get());
  if (!live) return live.error();
  live_ = std::move(*live);
  HeapHeader& h = header();
  const Recovery recovery(*this, std::unique_lock<std::mutex>(recovery_mutex_));
  for (const bool dirty : {false, true}) {
    for (std::size_t i = 0; i < kMaxProcesses; ++i) {
      ProcessSlot& slot = h.slots[i];
      if (!os::try_lock_byte(live_.get(), i)) continue;
      const bool left_by_dead = slot.state.load(std::memory_order_acquire) != ProcessSlot::kNobody;
      if (left_by_dead && !dirty) {
        os::unlock_byte(live_.get(), i);
        continue;
      }
      std::uint32_t epoch = slot.epoch.load(std::memory_order_relaxed) + 1;  // the byte's owner alone writes it
      if (process_word(0, epoch) == 0) ++epoch;
      slot.epoch.store(epoch, std::memory_order_release);  // [P]
      slot.pid.store(os::process_id(), std::memory_order_relaxed);
      for (auto& published : slot.spans) {
        for (std::atomic<std::uint32_t>& span : published) span.store(0, std::memory_order_relaxed);  // the dead one's
      }
      slot.pid_namespace.store(os::pid_namespace(),
                               std::memory_order_seq_cst);  // before confined, see confine_to_namespace()
      slot.state.store(ProcessSlot::kInUse, std::memory_order_seq_cst);
      slot_ = i;
      private_of(base_).me.store(process_word(i, epoch),
                                 std::memory_order_relaxed);  // before anybody can find the heap
      BATON_CRASH_POINT("shared.heap.joined");
      if (left_by_dead) recover_slot(i);
      if (h.confined.load(std::memory_order_seq_cst) != 0) {
        for (ProcessSlot& other : h.slots) {
          if (other.state.load(std::memory_order_acquire) == ProcessSlot::kInUse &&
              other.pid_namespace != slot.pid_namespace &&
              lives(process_word(static_cast<std::size_t>(&other - h.slots), other.epoch))) {
            leave();
            return Error{Errc::unsupported,
                         "the shared heap has a lock with priority inheritance, whose users must be in one PID "
                         "namespace; this process is in "
                         "another one than process " +
                             std::to_string(other.pid.load()) + " there"};
          }
        }
      }
      return {};
    }
  }
  live_.reset();
  return Error{Errc::limit_reached,
               "the shared heap is open in " + std::to_string(kMaxProcesses) + " processes, the most it can have"};
}

void HeapState::leave() noexcept {
  header().slots[slot_].state.store(ProcessSlot::kNobody, std::memory_order_release);  // [P]
  live_.reset();
}

std::size_t HeapState::collect() {
  if (forked()) return 0;
  if (recovers()) return 0;  // a destructor that runs in it asks
  std::unique_lock<std::mutex> lock(recovery_mutex_, std::try_to_lock);
  if (!lock || !live_) return 0;  // another thread is at it
  const Inside inside;            // destructors and on_event may end the Heap object
  const Recovery recovery(*this, std::move(lock));
  std::size_t dead = 0;
  HeapHeader& h = header();
  for (std::size_t i = 0; i < kMaxProcesses; ++i) {
    ProcessSlot& slot = h.slots[i];
    if (i == slot_ || slot.state.load(std::memory_order_acquire) == ProcessSlot::kNobody ||
        !os::try_lock_byte(live_.get(), i))
      continue;
    if (slot.state.load(std::memory_order_acquire) != ProcessSlot::kNobody) {  // else others were quicker
      // Who waits for a lock of the dead one must not wait for us, who may wait for what he has.
      slot.state.store(ProcessSlot::kRecovering, std::memory_order_release);  // [P]
      recover_slot(i);
      ++dead;
      HeapEvent event;
      event.kind = HeapEvent::Kind::kProcessDied;
      event.pid = slot.pid.load(std::memory_order_relaxed);
      event.text = "process " + std::to_string(event.pid) + " died with the shared heap open";
      slot.state.store(ProcessSlot::kNobody, std::memory_order_release);  // [P]
      tell(event);
    }
    os::unlock_byte(live_.get(), i);
  }
  if (dead == 0 && h.orphans.load(std::memory_order_relaxed) != 0) {
    walk(kMaxProcesses, [this](const Found& found) { recover(found, kMaxProcesses); });
  }
  return dead;
}

bool HeapState::recover_memory() {
  constexpr std::int64_t kMostNs = 1'000'000'000, kStepNs = 1'000'000;
  if (collect() > 0) return true;
  const auto others_recover = [this] {
    for (const ProcessSlot& slot : header().slots) {
      if (slot.state.load(std::memory_order_acquire) == ProcessSlot::kRecovering) return true;
    }
    return !std::unique_lock<std::mutex>(recovery_mutex_, std::try_to_lock);
  };
  if (recovers() || !others_recover()) return false;
  const std::int64_t end = os::monotonic_ns() + kMostNs;
  do {
    std::this_thread::sleep_for(std::chrono::nanoseconds(kStepNs));
    collect();  // if who was at it died
  } while (others_recover() && os::monotonic_ns() < end);
  return true;
}

void InheritingLock::confine_to_namespace(const void* address) {
  std::byte* const base = heap_base_or_throw(address);
  HeapState& state = *private_of(base).state;
  HeapHeader& h = state.header();
  // Before the look at the slots; join() stores its slot before it looks here. Both seq_cst: at least one sees the other.
  h.confined.store(1, std::memory_order_seq_cst);
  const std::uint64_t mine = h.slots[slot_of(state.me())].pid_namespace.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot& slot = h.slots[i];
    if (slot.state.load(std::memory_order_seq_cst) == ProcessSlot::kInUse &&
        slot.pid_namespace.load(std::memory_order_seq_cst) != mine &&
        state.lives(process_word(i, slot.epoch.load(std::memory_order_acquire)))) {
      h.confined.store(0, std::memory_order_seq_cst);
      throw Exception(Error{Errc::unsupported,
                            "a lock with priority inheritance works in one PID namespace only, and process " +
                                std::to_string(slot.pid.load()) + " has this shared heap open from another one"});
    }
  }
}

bool HeapState::pin(const Found& found) noexcept {
  HeapHeader& h = header();
  if (h.pin_lock.lock() == Locked::kOwnerDied) {
    unpin_left();
    h.pin_lock.make_consistent();
  }
  h.pinned.store(offset_of(found.block), std::memory_order_release);
  BATON_CRASH_POINT("shared.heap.pinning");
  std::uint32_t seen = found.living();
  // acquire: pairs with settle(): the block's header is whole.
  if (found.word->compare_exchange_strong(seen, found.pinned(), std::memory_order_acquire, std::memory_order_relaxed)) {
    BATON_CRASH_POINT("shared.heap.pinned");
    return true;
  }
  h.pinned.store(0, std::memory_order_release);
  h.pin_lock.unlock();
  return false;
}

void HeapState::unpin_word(const Found& found) noexcept {
  std::uint32_t seen = found.pinned();
  // acquire: pairs with the release in free_block_word().
  if (found.word->compare_exchange_strong(seen, found.living(), std::memory_order_acq_rel, std::memory_order_acquire) ||
      seen != found.pinned_freed()) {
    return;
  }
  if (found.small) {
    found.word->store(0, std::memory_order_release);  // as release()
    std::atomic<std::uint32_t>& span = header().words()[span_of(found.block)];
    not_full(span, size_class_of(span.load(std::memory_order_relaxed)));
    return;
  }
  lock_spans();
  found.word->store(span_word(SpanKind::kPending, me()), std::memory_order_release);  // pairs as in allocate.cpp
  free_run(span_of(found.block), me());
  header().span_lock.unlock();
}

void HeapState::unpin(const Found& found) noexcept {
  HeapHeader& h = header();
  unpin_word(found);
  BATON_CRASH_POINT("shared.heap.unpinned");
  h.pinned.store(0, std::memory_order_release);
  h.pin_lock.unlock();
}

// With pin_lock, of a dead owner. A word that is pinned was pinned by him.
void HeapState::unpin_left() noexcept {
  HeapHeader& h = header();
  const std::uint64_t offset = h.pinned.load(std::memory_order_acquire);
  if (offset == 0) return;
  const auto span = static_cast<std::uint32_t>(offset / kSpanBytes);
  const std::uint32_t word = h.words()[span].load(std::memory_order_acquire);
  Found found{reinterpret_cast<Block*>(base_ + offset), &h.words()[span], false};
  if (kind_of(word) == SpanKind::kSmall) {
    const std::size_t c = size_class_of(word), within = offset % kSpanBytes;
    // Not an object of this class: the block was freed before it was pinned.
    if (within < first_object(c) || (within - first_object(c)) % kClasses[c] != 0) return;
    found = {found.block, slot_words(span) + object_at(within, c), true};
  } else if (kind_of(word) != SpanKind::kLargeBlock || offset % kSpanBytes != 0) {
    return;
  }
  unpin_word(found);
  h.pinned.store(0, std::memory_order_release);
}

// With the slot's byte locked.
void HeapState::recover_slot(std::size_t slot) {
  BATON_CRASH_POINT("shared.heap.recovering");
  if (header().pin_lock.lock() == Locked::kOwnerDied) {
    unpin_left();
    header().pin_lock.make_consistent();
  }
  header().pin_lock.unlock();
  walk(slot, [this, slot](const Found& found) { recover(found, slot); });
  BATON_CRASH_POINT("shared.heap.recovered");
}

void HeapState::tell(const HeapEvent& event) noexcept {
  if (Recovery* const recovery = Recovery::of(this)) return recovery->add(event);
  const std::lock_guard<std::recursive_mutex> lock(event_mutex_);
  const auto on_event = on_event_;  // it may end the Heap object
  if (on_event) (*on_event)(event);
}

void HeapState::tell_nobody() noexcept {
  const std::lock_guard<std::recursive_mutex> lock(event_mutex_);
  on_event_.reset();
}

}  // namespace baton::shared::detail
