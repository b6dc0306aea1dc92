// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/pool.hpp"
#include "baton/os/hot_path.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "account_internal.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/crash_point.hpp"
#include "baton/os/sparse_memory.hpp"
#include "parse_size.hpp"
#include "pool_segment.hpp"

namespace baton::memory {
namespace {

constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;
constexpr std::size_t kFirstSlots = 16;  // then each growth makes the number four times as large: 16, 64, 256, 1024,
                                         // 4096
constexpr std::size_t kMostPackedBytes = std::size_t{256} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

std::size_t slot_bytes_for(std::size_t max_message_bytes) noexcept {
  return round_up(max_message_bytes + sizeof(ChunkHeader), std::max(os::page_bytes(), kRunBytes));
}

// Published slots of all classes and segments, by age.
struct AgeList {
  Slot* oldest = nullptr;
  Slot* newest = nullptr;

  void append(Slot* slot) noexcept {
    slot->age = newest ? newest->age + 1 : 0;
    slot->older = newest;
    slot->newer = nullptr;
    (newest ? newest->newer : oldest) = slot;
    newest = slot;
  }
  void remove(Slot* slot) noexcept {
    (slot->older ? slot->older->newer : oldest) = slot->newer;
    (slot->newer ? slot->newer->older : newest) = slot->older;
  }
  /// The oldest slot published after `age`. The argument is an age, since the next slot may have gone together with its
  /// segment.
  Slot* after(std::uint64_t age) const noexcept {
    Slot* slot = oldest;
    while (slot && slot->age <= age) slot = slot->newer;
    return slot;
  }
};

}  // namespace

struct Pool::State final : Pool {
  // What every message touches, in one line up to `budget.missed`.
  ContentBook* books = nullptr;  // those that no loan uses; last in, first out, so that they are warm
  std::uint32_t expected_bytes =
      0;  // header included: the likely size of the next unsized message, since one was so large
  std::uint32_t largest_bytes = 0;  // of all messages
  Slot* newest_loan = nullptr;      // publish() and abandon() look here first
  AgeList published;
  Slot* free_large = nullptr;  // free slots, last in, first out; of active segments
  Budget budget;
  // What a message touches that collects released ones.
  std::function<void()> collect;
  os::HotVector<std::unique_ptr<PoolSegment>> segments;  // by index; null once retired and unmapped
  std::array<Slot*, kClasses> free_packed{};

  PoolOptions options;
  std::unique_ptr<ChunkHeader> plain_header = std::make_unique<ChunkHeader>();  // what a chunk's header begins as
  Evict evict;
  std::function<void(std::uint32_t, int, std::uint64_t)> on_segment;
  std::function<void(std::uint32_t)> retired;
  SegmentShape first;
  std::byte* reserved = nullptr;  // addresses of the first segment, until that segment exists
  std::size_t active_slots = 0, active_packed_bytes = 0;
  std::vector<std::unique_ptr<ContentBook>> all_books;  // as many as there were loans at the same time
  // The segments that loans come from, in the order in which they were made; the others are retired. The first gets its
  // addresses when the pool is made, so that a full window is an error of create().
  os::HotVector<PoolSegment*> active;
  Error refusal;  // of the last find() that found nothing

  static State& of(Pool& pool) noexcept { return static_cast<State&>(pool); }
  static const State& of(const Pool& pool) noexcept { return static_cast<const State&>(pool); }
  ~State() override {
    if (reserved) Window::instance().value()->free(reserved, first.bytes());
  }
  Result<void> ensure_segment() { return active.empty() ? new_segment(first) : Result<void>(); }
  Result<void> new_segment(const SegmentShape& shape);
  SegmentShape next_shape() const noexcept;
  Error too_large(std::size_t message_bytes) const;
  Result<Slot*> grow(unsigned size_class, std::size_t wanted_bytes);
  bool packed_used_up() const noexcept;
  Slot* slot_of(Handle handle) const noexcept;
  Slot* loan_of(Handle handle) const noexcept;
  Slot*& free_of(unsigned size_class) noexcept {
    return size_class == kLargeClass ? free_large : free_packed[size_class];
  }
  void push_free(Slot* slot) noexcept { slot->older = std::exchange(free_of(slot->size_class), slot); }
  Slot* pop_warm(unsigned size_class, std::size_t wanted_bytes) noexcept;
  Slot* pop_free(unsigned size_class, std::size_t wanted_bytes) noexcept;
  Slot* pop_larger(unsigned size_class, std::size_t wanted_bytes) noexcept;
  Result<Slot*> fresh(unsigned size_class, std::size_t wanted_bytes);
  Slot* fresh_large() noexcept;
  Slot* reclaim(unsigned size_class, std::size_t wanted_bytes, bool only_backed = false);
  Slot* pop_backed(unsigned size_class, std::size_t wanted_bytes) noexcept;
  Slot* find(unsigned size_class, std::size_t wanted_bytes, std::size_t backed_bytes);
  Slot* find_memory(Slot* slot, unsigned size_class, std::size_t wanted_bytes, std::size_t backed_bytes);
  Result<Slot*> find_elsewhere(unsigned size_class, std::size_t wanted_bytes);
  Slot* find_missed(std::size_t wanted_bytes);
  void add_book();
  void return_book(Slot* slot) noexcept;
  Result<Chunk> start_loan(Slot* slot, std::size_t slot_bytes, std::size_t skeleton_bytes);
  void recycle(Slot* slot) noexcept;
  void drop_if_empty(PoolSegment* segment) noexcept;
  Account account() const noexcept;
  void retire(std::function<void(std::uint32_t)> on_retired);
};

Result<std::unique_ptr<Pool>> Pool::create(const PoolOptions& given, Evict evict,
                                           std::function<void(std::uint32_t, int, std::uint64_t)> on_segment) {
  Result<Window*> window = Window::instance();
  if (!window.ok()) return window.error();
  if (!process_limit().ok()) return process_limit().error();
  PoolOptions options = given;
  if (options.memory_limit_bytes == 0) options.memory_limit_bytes = kDefaultLimit;
  if (options.max_message_bytes == 0) options.max_message_bytes = (*window)->default_message_bytes();
  if (options.slot_count == 0) options.slot_count = PoolOptions{}.slot_count;
  if (options.max_message_bytes > kMaxMessageBytes)
    return Error{Errc::message_too_large, "max_message_bytes is " + std::to_string(options.max_message_bytes) +
                                              "; a message is at most " + std::to_string(kMaxMessageBytes) +
                                              " bytes (2 GiB)"};
  if (options.policy == Policy::kMediumEffort && options.attempts == 0)
    return Error{Errc::invalid_argument,
                 "the policy kMediumEffort needs attempts >= 1; with 0 nothing is ever reclaimed"};
  auto state = std::make_unique<State>();
  state->options = options;
  state->evict = std::move(evict);
  state->on_segment = std::move(on_segment);
  state->budget.limit.store(options.memory_limit_bytes, std::memory_order_relaxed);
  state->plain_header->magic = kChunkMagic;
  state->plain_header->version = kChunkVersion;
  state->plain_header->byte_order = kNativeByteOrder;
  SegmentShape& first = state->first;
  first.slot_bytes = slot_bytes_for(options.max_message_bytes);
  // A small window must have room for many publishers. A message that finds no packed slot gets a large slot, or
  // another segment.
  first.packed_bytes = round_up(
      std::min({options.memory_limit_bytes, kMostPackedBytes, std::max((*window)->size() / 4096, 4 * kRunBytes)}),
      kRunBytes);
  // All prefaulted slots lie in the first segment.
  const std::size_t paid = options.prefault ? options.memory_limit_bytes / first.slot_bytes : 0;
  first.slots = std::min<std::size_t>(options.slot_count, std::max(kFirstSlots, paid));
  Result<std::byte*> reserved = (*window)->allocate(first.bytes());
  if (!reserved.ok()) return reserved.error();
  state->reserved = *reserved;
  if (options.prefault) {
    if (options.max_message_bytes > options.memory_limit_bytes)
      return Error{Errc::invalid_argument,
                   "prefault backs whole slots, and one of " + format_size(options.max_message_bytes) +
                       " (max_message_bytes) exceeds memory_limit_bytes of " + format_size(options.memory_limit_bytes) +
                       "; set max_message_bytes to what a message needs"};
    if (Result<void> ready = state->ensure_segment(); !ready.ok()) return ready.error();
  }
  return std::unique_ptr<Pool>(std::move(state));
}

/// The shape of the next segment: three times the present number of slots, within the limit, and packed runs within the
/// memory limit.
SegmentShape Pool::State::next_shape() const noexcept {
  SegmentShape next;
  next.slot_bytes = first.slot_bytes;
  next.slots = std::min(3 * active_slots, options.slot_count - active_slots);
  const std::size_t packed =
      std::max(kMostPackedBytes, active_packed_bytes);  // twice as many, so that segments stay few
  const std::size_t limit = budget.limit.load(std::memory_order_relaxed);
  const std::size_t left = limit > active_packed_bytes ? limit - active_packed_bytes : 0;
  next.packed_bytes = round_up(std::min({left, packed, Window::instance().value()->size() / 64}), kRunBytes);
  return next;
}

Result<void> Pool::State::new_segment(const SegmentShape& shape) {
  const os::HotRoom room(this);
  if (segments.size() > UINT16_MAX)
    return Error{Errc::limit_reached,
                 "this publisher has made 65536 data segments, and a handle can name no more; make a new publisher"};
  Window& window = *Window::instance().value();
  std::byte* base = std::exchange(reserved, nullptr);
  const bool was_reserved = base != nullptr;
  if (!was_reserved) {
    Result<std::byte*> allocated = window.allocate(shape.bytes());
    if (!allocated.ok()) return allocated.error();
    base = *allocated;
  }
  Result<std::unique_ptr<PoolSegment>> made =
      PoolSegment::create(static_cast<std::uint32_t>(segments.size()), shape, &budget, base);
  if (!made.ok()) {
    if (was_reserved) {
      reserved = base;  // for the next attempt
    } else {
      window.free(base, shape.bytes());
    }
    return made.error();
  }
  BATON_CRASH_POINT("loan.segment_created");
  PoolSegment* segment = made->get();
  if (options.prefault) {
    // Whole slots, as many as the limit pays for: later loans take these first.
    for (Slot& slot : segment->large) {
      if (budget.left() < slot.bytes()) break;
      if (Result<void> backed = segment->back(slot, slot.bytes()); !backed.ok()) return backed;
      ++segment->large_used;
    }
  }
  active.reserve(active.size() + 1);
  segments.push_back(std::move(*made));
  active.push_back(segment);
  for (std::size_t i = segment->large_used; i-- > 0;) push_free(&segment->large[i]);
  active_slots += shape.slots;
  active_packed_bytes += shape.packed_bytes;
  if (on_segment) on_segment(segment->index, segment->fd.get(), segment->record.size);
  BATON_CRASH_POINT("loan.segment_announced");
  return {};
}

Slot* Pool::State::slot_of(Handle handle) const noexcept {
  const std::uint32_t index = handle_segment(handle);
  if (index >= segments.size() || !segments[index]) return nullptr;
  return segments[index]->find_slot(handle_offset(handle));
}

/// The slot of a loan, or null. Most loans end before the next one begins.
BATON_HOT_INLINE Slot* Pool::State::loan_of(Handle handle) const noexcept {
  Slot* slot = newest_loan;
  if (!slot || slot->handle != handle) slot = slot_of(handle);
  return slot && slot->state == Slot::State::kLoaned ? slot : nullptr;
}

// The warmest free slot that has memory for `wanted_bytes`; else the slot that needs least more, if the budget allows
// that.
BATON_HOT_SELDOM Slot* Pool::State::pop_free(unsigned size_class, std::size_t wanted_bytes) noexcept {
  Slot** best = nullptr;
  for (Slot** link = &free_of(size_class); *link; link = &(*link)->older) {
    if (!best || (*link)->backed > (*best)->backed) best = link;
    if ((*link)->backed >= wanted_bytes) break;
  }
  if (!best) return nullptr;
  Slot* slot = *best;
  if (slot->backed < wanted_bytes && wanted_bytes - slot->backed > budget.left()) return nullptr;
  *best = slot->older;
  return slot;
}

// The ordinary case of pop_free(): the warmest slot of all has memory enough.
BATON_HOT_INLINE Slot* Pool::State::pop_warm(unsigned size_class, std::size_t wanted_bytes) noexcept {
  Slot*& warmest = free_of(size_class);
  Slot* slot = warmest;
  if (!slot || slot->backed < wanted_bytes) return nullptr;
  warmest = slot->older;
  return slot;
}

// The warmest free slot that has memory for `wanted_bytes`.
Slot* Pool::State::pop_backed(unsigned size_class, std::size_t wanted_bytes) noexcept {
  for (Slot** link = &free_of(size_class); *link; link = &(*link)->older) {
    if ((*link)->backed >= wanted_bytes) return std::exchange(*link, (*link)->older);
  }
  return nullptr;
}

// A free slot of a larger class: a slot that is too large is better than a dropped message.
Slot* Pool::State::pop_larger(unsigned size_class, std::size_t wanted_bytes) noexcept {
  while (++size_class <= kLargeClass)
    if (Slot* slot = pop_free(size_class, wanted_bytes)) return slot;
  return nullptr;
}

/// A large slot that was never used, of the oldest segment that has one.
Slot* Pool::State::fresh_large() noexcept {
  for (PoolSegment* segment : active)
    if (segment->large_used < segment->large.size()) return &segment->large[segment->large_used++];
  return nullptr;
}

bool Pool::State::packed_used_up() const noexcept {
  return std::all_of(active.begin(), active.end(),
                     [](const PoolSegment* segment) { return segment->runs_used == segment->run_count; });
}

/// A slot of the existing segments.
Result<Slot*> Pool::State::fresh(unsigned size_class, std::size_t wanted_bytes) {
  if (size_class == kLargeClass) return budget.left() < wanted_bytes ? nullptr : fresh_large();
  if (budget.left() < kRunBytes) return static_cast<Slot*>(nullptr);
  for (PoolSegment* segment : active) {
    Result<Run*> run = segment->carve_run(size_class);
    if (!run.ok()) return run.error();
    if (!*run) continue;
    os::HotVector<Slot>& slots = (*run)->slots;
    for (std::size_t i = slots.size(); i-- > 1;) push_free(&slots[i]);
    return &slots[0];
  }
  return static_cast<Slot*>(nullptr);
}

/// A slot of an additional segment, if that many messages may be alive and memory for one more is left. A segment costs
/// addresses and a descriptor in this process and at each reader, but no memory. So the pool makes a segment before it
/// drops a message, and after it has looked at every free slot.
Result<Slot*> Pool::State::grow(unsigned size_class, std::size_t wanted_bytes) {
  const bool large = size_class == kLargeClass;
  if (budget.left() < (large ? wanted_bytes : kRunBytes)) return static_cast<Slot*>(nullptr);
  const SegmentShape next = next_shape();
  if ((large ? next.slots : next.packed_bytes) == 0 || (!large && !packed_used_up()))
    return static_cast<Slot*>(nullptr);
  if (Result<void> made = new_segment(next); !made.ok()) return made.error();
  return fresh(size_class, wanted_bytes);
}

// TZC III-E. A slot without references is in a free list already (lazy release costs nothing). So the messages left to
// release are unread in queues or in the publisher's history; in TZC's words, nobody uses them yet. A sample being read
// keeps its reference whatever evict() does. The search always begins at the oldest message, since queues evict only
// their oldest message.
//   best effort:   every message, until the new one fits
//   medium effort: the same, at most `attempts` messages looked at
//   worst effort:  ends at the first message that is in use, so that the newer ones stay
// `only_backed`: the system gives no more memory, so the slot must have it already.
Slot* Pool::State::reclaim(unsigned size_class, std::size_t wanted_bytes, bool only_backed) {
  if (!evict || options.policy == Policy::kNone) return nullptr;
  std::uint32_t attempts = options.policy == Policy::kMediumEffort ? options.attempts : UINT32_MAX;
  std::uint64_t age = 0;
  for (Slot* slot = published.oldest; slot && attempts > 0; slot = published.after(age), --attempts) {
    age = slot->age;
    evict(slot->handle);
    if (only_backed) {
      if (Slot* found = pop_backed(size_class, wanted_bytes)) return found;
    } else {
      if (Slot* found = pop_free(size_class, wanted_bytes)) return found;
      if (Slot* found = pop_larger(size_class, wanted_bytes)) return found;
    }
    if (options.policy == Policy::kWorstEffort && published.oldest && published.oldest->age <= age) return nullptr;
  }
  return nullptr;
}

/// When pop_warm() finds none: a slot for `wanted_bytes` of which the first `backed_bytes` have memory. Null: `refusal`.
BATON_HOT_SELDOM Slot* Pool::State::find(unsigned size_class, std::size_t wanted_bytes, std::size_t backed_bytes) {
  Slot* slot = free_of(size_class) ? pop_free(size_class, wanted_bytes) : nullptr;
  // Readers may have released slots without notifying: collect before taking memory that was never touched.
  if (!slot && collect) {
    collect();
    slot = pop_warm(size_class, wanted_bytes);
    if (!slot) slot = pop_free(size_class, wanted_bytes);
  }
  return slot && slot->backed >= backed_bytes ? slot : find_memory(slot, size_class, wanted_bytes, backed_bytes);
}

/// The rest of find(): `slot` needs more memory, or is null.
Slot* Pool::State::find_memory(Slot* slot, unsigned size_class, std::size_t wanted_bytes, std::size_t backed_bytes) {
  const auto refuse = [this](const Error& error) {
    refusal = error;
    return nullptr;
  };
  if (!slot) {
    if (Result<void> ready = ensure_segment(); !ready.ok()) return refuse(ready.error());
    Result<Slot*> found = pop_free(size_class, wanted_bytes);
    if (!*found) found = find_elsewhere(size_class, wanted_bytes);
    // A full packed area is no shortage while large slots are free.
    if (!found.ok() && size_class != kLargeClass && packed_used_up())
      return find(kLargeClass, wanted_bytes, backed_bytes);
    if (!found.ok()) return refuse(found.error());
    slot = *found;
  }
  if (Result<void> backed = slot->segment->back(*slot, backed_bytes); !backed.ok()) {
    push_free(slot);
    // Another limit than the pool's own: of the process, the domain, a cgroup or the machine.
    if (Slot* reclaimed = reclaim(size_class, backed_bytes, true)) return reclaimed;
    return refuse(backed.error());
  }
  return slot;
}

/// When no slot of this class is free.
Result<Slot*> Pool::State::find_elsewhere(unsigned size_class, std::size_t wanted_bytes) {
  Result<Slot*> slot = fresh(size_class, wanted_bytes);
  if (slot.ok() && *slot) return slot;
  if (Slot* larger = pop_larger(size_class, wanted_bytes)) return larger;
  if (slot.ok()) slot = grow(size_class, wanted_bytes);
  if (slot.ok() && *slot) return slot;
  if (Slot* reclaimed = reclaim(size_class, wanted_bytes)) return reclaimed;
  if (!slot.ok() && slot.error().code != Errc::limit_reached) return slot;
  // Free slots use up the limit, and none is large enough: start anew if no message is alive.
  const bool nobody =
      std::all_of(active.begin(), active.end(), [](const PoolSegment* segment) { return segment->live == 0; });
  if (nobody && retired && wanted_bytes <= budget.limit.load(std::memory_order_relaxed) &&
      budget.left() < wanted_bytes) {
    retire(retired);
    if (Result<void> ready = ensure_segment(); !ready.ok()) return ready.error();
    slot = fresh(size_class, wanted_bytes);
    if (slot.ok() && *slot) return slot;
  }
  if (!slot.ok()) return slot;
  // A slot that must grow beyond the limit: its message may be smaller than the last messages.
  if (size_class == kLargeClass && free_large) return std::exchange(free_large, free_large->older);
  if (size_class == kLargeClass && budget.left() >= os::page_bytes()) {
    if (Slot* unused = fresh_large()) return unused;
    slot = grow(size_class, os::page_bytes());
    if (!slot.ok() || *slot) return slot;
  }
  const Account now = account();
  const char* what =
      options.policy == Policy::kWorstEffort ? " (policy kWorstEffort: the oldest message is still in use)" : "";
  const std::string way_out = now.loaned_slots == 0      ? "release samples"
                              : now.published_slots == 0 ? "publish or end loans"
                                                         : "release samples, publish or end loans";
  return Error{Errc::limit_reached,
               "no memory for a message of " + format_size(wanted_bytes) + ": " + std::to_string(now.published_slots) +
                   " messages are held by readers or history, " + std::to_string(now.loaned_slots) + " are on loan, " +
                   format_size(now.backed_bytes) + " of " + format_size(now.limit_bytes) + " are used" + what + "; " +
                   way_out + ", or raise memory_limit_bytes or slot_count"};
}

void Pool::State::add_book() {
  const os::HotRoom room(this);
  all_books.push_back(std::make_unique<ContentBook>());
  books = all_books.back().get();
}

BATON_HOT_INLINE void Pool::State::return_book(Slot* slot) noexcept {
  slot->book->below = books;
  books = std::exchange(slot->book, nullptr);
}

BATON_HOT_INLINE Result<Chunk> Pool::State::start_loan(Slot* slot, std::size_t slot_bytes, std::size_t skeleton_bytes) {
  const std::size_t limit = std::min(slot_bytes - sizeof(ChunkHeader), kMaxMessageBytes);
  slot->book = books;
  books = books->below;
  slot->state = Slot::State::kLoaned;
  slot->starved = false;
  slot->book->reset(static_cast<std::uint32_t>(skeleton_bytes), static_cast<std::uint32_t>(limit));
  newest_loan = slot;
  ++slot->segment->live;
  ChunkHeader* header = slot->header();
  if (!slot->plain_header) {
    out_of_line([=] {
      *header = *plain_header;
      slot->plain_header = true;
    });
  }
  header->skeleton_bytes = static_cast<std::uint32_t>(skeleton_bytes);
  BATON_CRASH_POINT("loan.header_written");
  return Chunk{header, slot->handle, limit};
}

Error Pool::State::too_large(std::size_t message_bytes) const {
  std::string wanted = format_size(message_bytes), most = format_size(options.max_message_bytes);
  if (wanted == most) {  // as rounded
    wanted = std::to_string(message_bytes) + " bytes";
    most = std::to_string(options.max_message_bytes) + " bytes";
  }
  return Error{Errc::message_too_large, "a message of " + wanted + " exceeds max_message_bytes of " + most +
                                            "; raise max_message_bytes (at most 2 GiB)"};
}

Result<Chunk> Pool::loan_sized(std::size_t message_bytes, std::size_t skeleton_bytes) {
  State& s = State::of(*this);
  const std::size_t total = message_bytes + sizeof(ChunkHeader);
  if (message_bytes > kMaxMessageBytes ||
      (total > class_bytes(kClasses - 1) && message_bytes > s.options.max_message_bytes))
    return out_of_line([&] { return s.too_large(message_bytes); });
  unsigned size_class = 0;
  while (size_class < kLargeClass && class_bytes(size_class) < total) ++size_class;
  if (!s.books) out_of_line([&s] { s.add_book(); });  // before there is a slot that could be lost
  Slot* slot = s.pop_warm(size_class, total);
  if (!slot) slot = s.find(size_class, total, total);
  if (!slot) return out_of_line([&s]() -> Result<Chunk> { return s.refusal; });
  return s.start_loan(slot, slot->bytes(), skeleton_bytes);
}

Result<Chunk> Pool::loan_growing(std::size_t skeleton_bytes) {
  State& s = State::of(*this);
  const std::size_t needed = skeleton_bytes + sizeof(ChunkHeader);
  const std::size_t wanted = std::max<std::size_t>(needed, s.expected_bytes);
  if (!s.books) out_of_line([&s] { s.add_book(); });  // before there is a slot that could be lost
  Slot* slot = nullptr;
  if (unlikely(s.budget.missed.load(std::memory_order_relaxed) != 0))
    out_of_line([&] { slot = s.find_missed(wanted); });
  if (!slot) slot = s.pop_warm(kLargeClass, wanted);
  if (!slot) slot = s.find(kLargeClass, wanted, needed);
  if (!slot) return out_of_line([&s]() -> Result<Chunk> { return s.refusal; });
  return s.start_loan(slot, slot->segment->slot_bytes, skeleton_bytes);
}

Result<Chunk> Pool::loan_growing(std::size_t skeleton_bytes, std::size_t expected_bytes) {
  State& s = State::of(*this);
  if (expected_bytes > s.options.max_message_bytes) return s.too_large(expected_bytes);
  const std::size_t wanted = std::max(skeleton_bytes, expected_bytes) + sizeof(ChunkHeader);
  if (!s.books) s.add_book();
  Slot* slot = s.pop_warm(kLargeClass, wanted);
  if (!slot) slot = s.find(kLargeClass, wanted, skeleton_bytes + sizeof(ChunkHeader));
  if (!slot) return s.refusal;
  return s.start_loan(slot, slot->segment->slot_bytes, skeleton_bytes);
}

void Pool::raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes,
                        std::function<void(std::uint32_t index)> on_retired) {
  State& s = State::of(*this);
  if (memory_limit_bytes > s.budget.limit.load(std::memory_order_relaxed)) {
    s.budget.limit.store(memory_limit_bytes, std::memory_order_relaxed);
    s.options.memory_limit_bytes = memory_limit_bytes;
  }
  const std::size_t largest = std::min(max_message_bytes, kMaxMessageBytes);
  if (largest <= s.options.max_message_bytes) return;
  s.options.max_message_bytes = largest;
  const std::size_t needed = slot_bytes_for(largest);
  if (needed <= s.first.slot_bytes) return;
  if (s.reserved) Window::instance().value()->free(std::exchange(s.reserved, nullptr), s.first.bytes());
  // Half as large again at least: a publisher whose messages grow byte by byte makes few segments.
  s.first.slot_bytes =
      std::max(needed, std::min(slot_bytes_for(s.first.slot_bytes / 2 * 3), slot_bytes_for(kMaxMessageBytes)));
  // Large slots take many addresses.
  s.first.slots = std::clamp<std::size_t>(round_up(s.options.memory_limit_bytes, needed) / needed, 1, s.first.slots);
  retire_segment(std::move(on_retired));
}

/// After a loan that could not grow: a slot that has all the memory already, for which messages are reclaimed. Null: there is
/// none, and a smaller message may still find its place.
Slot* Pool::State::find_missed(std::size_t wanted_bytes) {
  const std::size_t missed = budget.missed.exchange(0, std::memory_order_relaxed);
  // Learned from a failure, so it must not exceed what the pool can ever give. What was published had memory.
  const std::size_t wanted = std::max(wanted_bytes, std::min(missed, budget.limit.load(std::memory_order_relaxed)));
  if (collect) collect();
  if (Slot* slot = pop_backed(kLargeClass, wanted)) return slot;
  return find(kLargeClass, wanted, wanted);
}

void Pool::State::drop_if_empty(PoolSegment* segment) noexcept {
  if (!segment->retired || segment->live > 0) return;
  const std::uint32_t index = segment->index;
  const auto notify = std::move(segment->on_retired);
  newest_loan = nullptr;  // it may lie there
  segments[index].reset();
  if (notify) notify(index);
}

void Pool::State::recycle(Slot* slot) noexcept {
  slot->state = Slot::State::kFree;
  PoolSegment* segment = slot->segment;
  --segment->live;
  if (segment->retired)
    drop_if_empty(segment);
  else
    push_free(slot);
}

bool Pool::abandon(const Chunk& chunk) noexcept {
  State& s = State::of(*this);
  Slot* slot = s.loan_of(chunk.handle);
  if (!slot) return false;
  const bool starved = slot->starved;
  s.return_book(slot);
  s.recycle(slot);
  return starved;
}

bool Pool::publish(const Chunk& chunk, std::uint32_t references, bool plain_header) noexcept {
  State& s = State::of(*this);
  Slot* slot = s.loan_of(chunk.handle);
  if (!slot) return false;
  const std::uint32_t bytes = chunk.header->size_bytes = slot->book->end();
  const bool largest = bytes > s.largest_bytes;
  if (unlikely(largest)) s.largest_bytes = bytes;
  static_assert(kMaxMessageBytes + sizeof(ChunkHeader) <= UINT32_MAX);
  if (slot->size_class == kLargeClass)
    s.expected_bytes =
        std::max(s.expected_bytes - s.expected_bytes / 64, bytes + static_cast<std::uint32_t>(sizeof(ChunkHeader)));
  slot->state = Slot::State::kPublished;
  slot->plain_header = plain_header;
  slot->references = references;
  s.return_book(slot);
  s.published.append(slot);
  return largest;
}

void Pool::set_publisher(const std::uint8_t* id, const std::uint8_t* type_hash) noexcept {
  ChunkHeader& header = *State::of(*this).plain_header;
  std::copy_n(id, sizeof header.publisher_id, header.publisher_id);
  std::copy_n(type_hash, sizeof header.type_hash, header.type_hash);
}

const ChunkHeader* Pool::header_of(Handle handle) const noexcept {
  Slot* slot = State::of(*this).slot_of(handle);
  return slot != nullptr ? slot->header() : nullptr;
}

void Pool::add_reference(Handle handle) noexcept {
  if (Slot* slot = State::of(*this).slot_of(handle)) ++slot->references;
}

void Pool::release(Handle handle) noexcept {
  State& s = State::of(*this);
  Slot* slot = s.slot_of(handle);
  if (!slot || slot->state != Slot::State::kPublished || --slot->references > 0) return;
  s.published.remove(slot);
  s.recycle(slot);
}

void Pool::set_collect(std::function<void()> collect) { State::of(*this).collect = std::move(collect); }

void Pool::set_retired(std::function<void(std::uint32_t)> on_retired) {
  State::of(*this).retired = std::move(on_retired);
}

void Pool::State::retire(std::function<void(std::uint32_t)> on_retired) {
  const os::HotVector<PoolSegment*> old = std::exchange(active, {});
  active_slots = active_packed_bytes = 0;
  free_large = nullptr;
  free_packed = {};
  for (PoolSegment* segment : old) {
    segment->retired = true;
    segment->on_retired = on_retired;
    drop_if_empty(segment);
  }
}

void Pool::retire_segment(std::function<void(std::uint32_t)> on_retired) {
  State& s = State::of(*this);
  if (s.active.empty()) return;
  s.expected_bytes = s.largest_bytes = 0;
  s.retire(std::move(on_retired));
}

Pool::Account Pool::State::account() const noexcept {
  Account account{};
  account.backed_bytes = budget.backed.load(std::memory_order_relaxed);
  account.limit_bytes = budget.limit.load(std::memory_order_relaxed);
  account.loaned_slots = all_books.size();  // each loan has one
  for (const ContentBook* unused = books; unused; unused = unused->below) --account.loaned_slots;
  for (const auto& segment : segments) {
    if (!segment) continue;
    ++account.segments;
    account.address_bytes += segment->record.size;
    account.published_slots += segment->live;
  }
  account.published_slots -= account.loaned_slots;
  if (reserved) account.address_bytes += first.bytes();
  return account;
}

Pool::Account Pool::account() const noexcept { return State::of(*this).account(); }

std::size_t Pool::bytes_of(Handle handle) const noexcept {
  const Slot* slot = State::of(*this).slot_of(handle);
  return slot != nullptr ? slot->backed : 0;
}

std::size_t Pool::published_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Slot* slot = State::of(*this).published.oldest; slot; slot = slot->newer) bytes += slot->backed;
  return bytes;
}

std::uint64_t Pool::room(std::size_t bytes, std::size_t left_bytes) const noexcept {
  const State& s = State::of(*this);
  std::size_t left = std::min(s.budget.left(), left_bytes);
  std::uint64_t count = 0;
  for (const Slot* slot = s.free_large; slot; slot = slot->older) {
    const std::size_t lacking = slot->backed < bytes ? bytes - slot->backed : 0;
    if (lacking > left) continue;
    left -= lacking;
    ++count;
  }
  return count + left / bytes;
}

std::size_t Pool::limit_bytes(const PoolOptions& options) noexcept {
  return options.memory_limit_bytes != 0 ? options.memory_limit_bytes : kDefaultLimit;
}

std::size_t Pool::slot_bytes(std::size_t bytes) noexcept {
  const std::size_t total = bytes + sizeof(ChunkHeader);
  return round_up(total, total > kRunBytes ? kRunBytes : os::page_bytes());  // as in PoolSegment::back_more()
}

std::uint64_t Pool::capacity(const PoolOptions& options, std::size_t message_bytes) noexcept {
  const std::uint64_t slots = options.slot_count != 0 ? options.slot_count : kDefaultSlots;
  if (message_bytes == 0) return slots;
  const std::uint64_t limit = limit_bytes(options);
  const std::uint64_t total = message_bytes + sizeof(ChunkHeader);
  const std::uint64_t large_bytes = slot_bytes(message_bytes);
  if (total > class_bytes(kClasses - 1)) return std::min(slots, limit / large_bytes);
  unsigned size_class = 0;
  while (class_bytes(size_class) < total) ++size_class;
  // Segments are added until the limit is used up; a message that finds no packed slot gets a large slot.
  const std::uint64_t packed = limit / kRunBytes * (kRunBytes / class_bytes(size_class));
  return packed > 0 ? packed : std::min(slots, limit / large_bytes);
}

void Pool::visit_segments(const std::function<void(std::uint32_t, int, std::uint64_t)>& visit) const {
  for (const auto& segment : State::of(*this).segments)
    if (segment) visit(segment->index, segment->fd.get(), segment->record.size);
}

}  // namespace baton::memory
