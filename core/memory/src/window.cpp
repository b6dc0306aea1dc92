// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/window.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "baton/os/environment.hpp"
#include "baton/os/fork_listener.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/sparse_memory.hpp"
#include "parse_size.hpp"
#include "set_window_range.hpp"
#include "window_table.hpp"

namespace baton::memory {

WindowRange g_window_range{0, 0};
BATON_HOT_BSS WindowRange g_own_window_range{0, 0};
BATON_HOT_BSS WindowTable g_window_table{};
// Behind the variables of BATON_HOT_BSS.
[[gnu::section(".bss.baton_hot_array")]] WindowTable::Entry g_near_records[64];

void set_window_range(const WindowRange& range) noexcept {
  g_window_range = range;
  g_own_window_range = range;
}

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kWanted = sizeof(void*) == 8 ? std::size_t{1} << 46 : std::size_t{1} << 29;
constexpr std::size_t kSmallest = 64 * kMiB;
constexpr std::size_t kMostGranules = std::size_t{1} << 18;

// Guards the making of the window and free_ranges. Held during a fork, so that the child finds both consistent and
// unlocked.
struct WindowLock final : os::ForkListener {
  os::Mutex mutex;

  WindowLock() { start_listening(); }
  void before_fork() override BATON_ACQUIRES(mutex) { mutex.lock(); }
  void after_fork_in_parent() override BATON_RELEASES(mutex) { mutex.unlock(); }
  void after_fork_in_child() override BATON_RELEASES(mutex) { mutex.unlock(); }
};

os::Mutex& window_mutex() {
  static auto* const lock = new WindowLock;  // lives to the end of the process, as the window does
  return lock->mutex;
}

// Made when the library is loaded: a child forked while another thread makes it would wait for that thread for ever.
[[maybe_unused]] const os::Mutex& g_made_early = window_mutex();

// All state of the one window. The table is read without a lock: an entry is written (release) after its record is
// complete and cleared before the record is destroyed. A reader that uses an address must itself keep the segment
// alive.
struct WindowState {
  std::byte* base = nullptr;
  std::size_t size = 0;
  unsigned granule_shift = 20;
  WindowTable::Entry* table = nullptr;
  std::map<std::size_t, std::size_t> free_ranges BATON_GUARDED_BY(window_mutex());  // first granule -> granules
  // One spare per allocation, so that free() needs no memory: a range that is given back may need an entry of its own.
  std::map<std::size_t, std::size_t> spares BATON_GUARDED_BY(window_mutex());
  std::size_t spare_number BATON_GUARDED_BY(window_mutex()) = 0;
};

WindowState* g_state = nullptr;  // set once, by instance()

Result<void> reserve(WindowState& state) BATON_REQUIRES(window_mutex()) {
  std::size_t wanted = kWanted;
  bool exact = false;
  if (const char* text = os::environment("BATON_WINDOW")) {
    const std::optional<std::size_t> given = parse_size(text);
    if (!given || *given < kSmallest)
      return Error{Errc::invalid_argument, std::string("BATON_WINDOW='") + text +
                                               "': give a number of bytes, at least 64M, with K, M, G or T behind it"};
    wanted = *given;
    exact = true;
  } else {
    const std::size_t left = os::address_space_left();
    if (left / 2 < wanted) wanted = left / 2;
  }
  for (; wanted >= kSmallest; wanted /= 2) {
    std::size_t granule = kMiB;
    unsigned shift = 20;
    while (wanted / granule > kMostGranules) granule *= 2, ++shift;
    const std::size_t size = wanted / granule * granule;
    if (std::byte* base = os::reserve_addresses(size, granule)) {
      state.base = base;
      state.size = size;
      state.granule_shift = shift;
      const std::size_t granules = size >> shift;
      // Zero pages take no memory until touched, and zero bytes are null pointers.
      state.table = reinterpret_cast<WindowTable::Entry*>(os::map_lazily(granules * sizeof(*state.table)));
      if (!state.table) {
        os::release_addresses(base, size);
        return Error{Errc::out_of_memory, "no memory for the window's table"};
      }
      state.free_ranges.emplace(0, granules);
      return {};
    }
    if (exact) break;
  }
  return Error{Errc::window_exhausted,
               "no address space for Baton's window of " + std::to_string(wanted / kMiB) +
                   " MiB; raise RLIMIT_AS (ulimit -v), or set BATON_WINDOW to a size that fits"};
}

}  // namespace

Result<Window*> Window::instance() {
  static Window* window = nullptr;  // lives to the end of the process: samples may outlive every static object
  const os::Lock lock(window_mutex());
  if (!window) {
    auto state = std::make_unique<WindowState>();
    if (Result<void> reserved = reserve(*state); !reserved.ok()) return reserved.error();
    g_window_table = {state->table, state->granule_shift};
    set_window_range({reinterpret_cast<std::uintptr_t>(state->base), state->size});
    g_state = state.release();
    window = new Window();
  }
  return window;
}

Result<std::byte*> Window::allocate(std::size_t bytes) {
  WindowState& s = *g_state;
  const std::size_t granule = std::size_t{1} << s.granule_shift;
  const std::size_t granules = bytes / granule + (bytes % granule != 0);
  const os::Lock lock(window_mutex());
  for (auto it = s.free_ranges.begin(); it != s.free_ranges.end(); ++it) {
    if (it->second < granules) continue;
    try {
      s.spares.emplace(++s.spare_number, 0);
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
    auto range = s.free_ranges.extract(it);
    const std::size_t first = range.key();
    range.key() += granules;
    range.mapped() -= granules;
    if (range.mapped() > 0) s.free_ranges.insert(std::move(range));
    return s.base + (first << s.granule_shift);
  }
  return Error{Errc::window_exhausted,
               "no room for a segment of " + std::to_string(bytes / kMiB) + " MiB in the window of " +
                   std::to_string(s.size / kMiB) +
                   " MiB; lower max_message_bytes or slot_count of the publishers, or raise BATON_WINDOW or RLIMIT_AS"};
}

void Window::publish(SegmentRecord* record) noexcept {
  WindowState& s = *g_state;
  const std::size_t first = static_cast<std::size_t>(record->base - s.base) >> s.granule_shift;
  const std::size_t last = static_cast<std::size_t>(record->base - s.base + record->size - 1) >> s.granule_shift;
  // Release: a thread that finds the record (acquire in find) sees it complete.
  for (std::size_t i = first; i <= last; ++i) record_of(i).store(record, std::memory_order_release);
}

void Window::free(std::byte* base, std::size_t bytes) noexcept {
  WindowState& s = *g_state;
  const std::size_t first = static_cast<std::size_t>(base - s.base) >> s.granule_shift;
  const std::size_t granule = std::size_t{1} << s.granule_shift;
  std::size_t granules = bytes / granule + (bytes % granule != 0);
  for (std::size_t i = first; i < first + granules; ++i) record_of(i).store(nullptr, std::memory_order_release);
  os::unmap_to_reservation(base, granules << s.granule_shift);
  const os::Lock lock(window_mutex());
  std::size_t start = first;
  auto next = s.free_ranges.lower_bound(first);
  if (next != s.free_ranges.end() && next->first == first + granules) {
    granules += next->second;
    next = s.free_ranges.erase(next);
  }
  if (next != s.free_ranges.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == first) {
      start = before->first;
      granules += before->second;
      s.free_ranges.erase(before);
    }
  }
  auto range = s.spares.extract(s.spares.begin());  // every allocation has a spare
  range.key() = start;
  range.mapped() = granules;
  s.free_ranges.insert(std::move(range));
}

const SegmentRecord* Window::find(const void* p) noexcept { return find_segment(p); }

std::size_t Window::size() const noexcept { return g_state->size; }
std::size_t Window::granule() const noexcept { return std::size_t{1} << g_state->granule_shift; }

std::size_t Window::default_message_bytes() const noexcept {
  // 256 messages of this size are 1/1024 of the window: the first segments of more than ten thousand publishers fit.
  return std::clamp(size() / 1024 / 256, std::size_t{64} << 10, 256 * kMiB);
}

}  // namespace baton::memory
