// SPDX-License-Identifier: Apache-2.0
#include "baton/os/hot_memory.hpp"

#include <pthread.h>

#include <atomic>
#include <bitset>
#include <cstdint>
#include <utility>

#include "baton/os/lock.hpp"

namespace baton::os {
namespace {

constexpr std::size_t kPageBytes = 4096, kSlabBytes = 16 * kPageBytes;
constexpr std::size_t kUnit = 16, kLine = 64;
constexpr std::size_t kUnits = kPageBytes / kUnit, kFirstUnit = kLine / kUnit;
constexpr std::size_t kMostBytes = kPageBytes - kLine;
constexpr std::size_t kMostLookedAt = 16;  // shared pages per search, so that a search does not grow with their number

/// The first line of a page.
struct Page {
  enum class Use : std::uint8_t { kFree, kRoom, kShared };

  std::bitset<kUnits> used;    // of the units from kFirstUnit on
  Page* next = nullptr;        // kFree: in that list; kShared: in that ring
  Page* older_slab = nullptr;  // of the first page of a slab
  std::uint32_t open = 0;      // HotRooms
  Use use = Use::kFree;
};
static_assert(sizeof(Page) <= kLine);

struct Pages {
  Mutex mutex;
  Page* free BATON_GUARDED_BY(mutex) = nullptr;    // rooms that ended
  Page* shared BATON_GUARDED_BY(mutex) = nullptr;  // where place was found last
  Page* slab BATON_GUARDED_BY(mutex) = nullptr;    // the newest
  std::size_t unused BATON_GUARDED_BY(mutex) = 0;  // pages at its end
  bool any_room BATON_GUARDED_BY(mutex) = false;

  Page* take(Page::Use use) BATON_REQUIRES(mutex);
  Page* room() BATON_REQUIRES(mutex);
  void settle(Page& page) noexcept BATON_REQUIRES(mutex);
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPlain = true;
#else
constexpr bool kPlain = false;
#endif
std::atomic<bool> g_plain{kPlain};  // set before the first block: relaxed

/// Of this thread.
thread_local Page* t_open = nullptr;
thread_local Page* t_last =
    nullptr;  // opened last: what a wait set makes lies beside the endpoint that its thread made

/// Never destroyed: objects with static lifetime free their blocks late.
Pages& pages() {
  static Pages* const made = [] {
    // A child of fork(2) must not inherit a lock that another thread holds.
    const auto unlock = []() BATON_RELEASES(pages().mutex) { pages().mutex.unlock(); };
    ::pthread_atfork([]() BATON_ACQUIRES(pages().mutex) { pages().mutex.lock(); }, unlock, unlock);
    return new Pages;
  }();
  return *made;
}

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever. And before the handlers of
// fork(2) whose locks are held while blocks are freed.
[[maybe_unused]] const Pages& g_made_early = pages();

std::size_t rounded_to(std::size_t unit, std::size_t value) noexcept { return (value + unit - 1) / unit * unit; }

std::size_t rounded(std::size_t bytes) noexcept {
  return bytes == 0 ? kUnit : rounded_to(bytes >= kLine ? kLine : kUnit, bytes);
}

bool is_plain() noexcept { return g_plain.load(std::memory_order_relaxed); }
bool is_plain(std::size_t bytes) noexcept { return bytes > kMostBytes || is_plain(); }

Page* page_of(const void* block) noexcept {
  return reinterpret_cast<Page*>(reinterpret_cast<std::uintptr_t>(block) / kPageBytes * kPageBytes);
}

/// The first place for `bytes`, which are rounded; null: there is none.
void* cut(Page& page, std::size_t bytes) noexcept {
  const std::size_t units = bytes / kUnit, step = bytes >= kLine ? kLine / kUnit : 1;
  for (std::size_t begin = kFirstUnit; begin + units <= kUnits;) {
    std::size_t end = begin + units;
    while (end > begin && !page.used[end - 1]) --end;
    if (end != begin) {
      begin = rounded_to(step, end);
      continue;
    }
    for (std::size_t i = 0; i < units; ++i) page.used.set(begin + i);
    return reinterpret_cast<std::byte*>(&page) + begin * kUnit;
  }
  return nullptr;
}

Page* Pages::take(Page::Use use) {
  Page* page = free;
  if (page != nullptr) {
    free = page->next;
  } else {
    if (unused == 0) {
      // Of operator new, and in a list: a leak detector of the program (LSan) finds what only these objects point to.
      auto* const added = new (::operator new (kSlabBytes, std::align_val_t{kPageBytes})) Page;
      added->older_slab = std::exchange(slab, added);
      unused = kSlabBytes / kPageBytes;
      page = added;
    } else {
      page = new (reinterpret_cast<std::byte*>(slab) + kSlabBytes - unused * kPageBytes) Page;
    }
    --unused;
  }
  page->use = use;
  return page;
}

Page* Pages::room() {
  const bool first = !std::exchange(any_room, true);
  if (!first || shared == nullptr || shared->next != shared || shared->used.count() > kUnits / 4) {
    return take(Page::Use::kRoom);
  }
  // The first room begins on the page with what the process made before: its executor lies beside its first endpoint.
  Page* const page = std::exchange(shared, nullptr);
  page->use = Page::Use::kRoom;
  return page;
}

/// A room ends when it has no block, and nobody has it open.
void Pages::settle(Page& page) noexcept {
  if (page.use != Page::Use::kRoom || page.open != 0 || page.used.any()) return;
  page.use = Page::Use::kFree;
  page.next = std::exchange(free, &page);
}

}  // namespace

void keep_hot_memory_plain() noexcept { g_plain.store(true, std::memory_order_relaxed); }

void* hot_allocate(std::size_t bytes) {
  if (is_plain(bytes)) return ::operator new(bytes);
  bytes = rounded(bytes);
  Pages& all = pages();
  const Lock lock(all.mutex);
  for (Page* const room : {t_open, t_last}) {
    if (room == nullptr || room->use == Page::Use::kFree) continue;  // what was opened last may have ended
    if (void* const block = cut(*room, bytes)) return block;
  }
  if (const Page* const begin = all.shared) {
    std::size_t looked = 0;
    do {
      if (void* const block = cut(*all.shared, bytes)) return block;
      all.shared = all.shared->next;
    } while (all.shared != begin && ++looked < kMostLookedAt);
  }
  Page* const added = all.take(Page::Use::kShared);
  added->next = all.shared != nullptr ? std::exchange(all.shared->next, added) : added;
  all.shared = added;
  return cut(*added, bytes);
}

void hot_free(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  if (is_plain(bytes)) return ::operator delete(block);
  Page& page = *page_of(block);
  const std::size_t begin = (reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(&page)) / kUnit;
  Pages& all = pages();
  const Lock lock(all.mutex);
  for (std::size_t i = 0; i < rounded(bytes) / kUnit; ++i) page.used.reset(begin + i);
  all.settle(page);
}

HotRoom::HotRoom() {
  if (is_plain() || t_open != nullptr) return;
  Pages& all = pages();
  const Lock lock(all.mutex);
  Page* const room = all.room();
  ++room->open;
  page_ = t_open = t_last = room;
}

void HotRoom::open(const void* beside) noexcept {
  if (is_plain() || beside == nullptr) return;
  Page* const room = page_of(beside);
  const Lock lock(pages().mutex);
  ++room->open;
  page_ = room;
  before_ = std::exchange(t_open, room);
}

HotRoom::~HotRoom() {
  if (page_ == nullptr) return;
  Page& room = *static_cast<Page*>(page_);
  t_open = static_cast<Page*>(before_);
  Pages& all = pages();
  const Lock lock(all.mutex);
  --room.open;
  all.settle(room);
}

}  // namespace baton::os
