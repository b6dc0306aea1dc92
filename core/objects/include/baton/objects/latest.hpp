// SPDX-License-Identifier: Apache-2.0
// Latest<T>: the newest value of a plain struct in a shared heap. Readers never block writers, writers
// never block readers, and a writer killed in the middle leaves the value before. Every process that can write the memory is trusted.
//
// Thread rules: constructed in an open heap by one thread before others know its address. Any number of writers (serialised by a robust
// lock) and readers. read() is repeated only if kSlots - 1 values were completed while it copied one.
//
// version = values completed; value v lies in slot v % kSlots. A writer makes value w = version + 1: words of slot w % kSlots,
// then version = w. Slots are copied word by word with atomics, so a reader that is overtaken reads garbage but no undefined
// behaviour, and notices:
//   [V] version: release store, acquire load: the words of that value are seen.
//   [S] slot words: release store, acquire load. A reader of v that met a word of value w >= v + kSlots also sees the version that its
//       writer saw: version >= w - 1. So a version still below v + kSlots - 1 after the copy proves that no word was overwritten.
// No fences: ThreadSanitizer follows every edge.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "baton/memory/platform.hpp"
#include "baton/objects/deadline.hpp"
#include "baton/objects/event_count.hpp"
#include "baton/objects/process_lock.hpp"
#include "baton/objects/shareable.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects {

/// The words and the protocol, one writer at a time (tests/model runs this).
template <class Platform, std::size_t Words, std::size_t Slots = 4>
struct LatestCell {
  static_assert(Slots >= 2);
  using Word = typename Platform::template atomic<std::uint64_t>;
  Word version;
  Word words[Slots][Words];

  /// For the one writer: the new version.
  std::uint64_t write(const std::uint64_t (&value)[Words]) noexcept {
    // relaxed: versions are stored by writers only, and the lock orders them.
    const std::uint64_t next = version.load(std::memory_order_relaxed) + 1;
    auto& slot = words[next % Slots];
    for (std::size_t i = 0; i < Words; ++i) slot[i].store(value[i], std::memory_order_release);  // [S]
    BATON_CRASH_POINT("shared.latest.written");
    version.store(next, std::memory_order_release);  // [V] the value is there
    BATON_CRASH_POINT("shared.latest.done");
    return next;
  }
  /// The version read; 0: no value yet.
  std::uint64_t read(std::uint64_t (&value)[Words]) const noexcept {
    for (;;) {
      const std::uint64_t v = version.load(std::memory_order_acquire);  // [V]
      if (v == 0) return 0;
      const auto& slot = words[v % Slots];
      for (std::size_t i = 0; i < Words; ++i) value[i] = slot[i].load(std::memory_order_acquire);  // [S]
      // relaxed: ordered after the loads above, which are acquire.
      if (version.load(std::memory_order_relaxed) < v + Slots - 1) return v;
    }
  }
};

template <class T>
class Latest {
  static_assert(detail::check_shareable<T>() && detail::check_copied_as_bytes<T>());
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;

 public:
  Latest() = default;
  Latest(const Latest&) = delete;
  Latest& operator=(const Latest&) = delete;

  /// Returns the value's version, from 1. Waits for other writers only.
  std::uint64_t write(const T& value) noexcept {
    std::uint64_t words[kWords] = {};
    std::memcpy(words, &value, sizeof(T));
    if (lock_.lock() == detail::Locked::kOwnerDied) lock_.make_consistent();  // its slot is written anew
    const std::uint64_t version = cell_.write(words);
    lock_.unlock();
    event_count_.notify(INT_MAX);
    return version;
  }
  /// The version copied into *value; 0: none was written yet, and *value is as it was.
  std::uint64_t read(T* value) const noexcept {
    std::uint64_t words[kWords];
    const std::uint64_t version = cell_.read(words);
    if (version != 0) std::memcpy(static_cast<void*>(value), words, sizeof(T));
    return version;
  }
  std::optional<T> read() const noexcept {
    T value;
    if (read(&value) == 0) return std::nullopt;
    return value;
  }
  std::uint64_t version() const noexcept { return cell_.version.load(std::memory_order_acquire); }  // [V]

  /// Until a version above `seen` is there, then read() (0: the time is over).
  template <class Rep, class Period>
  std::uint64_t read_newer_for(std::uint64_t seen, T* value,
                               const std::chrono::duration<Rep, Period>& duration) noexcept {
    return event_count_.wait([&] { return version() > seen; }, detail::deadline_after(duration)) ? read(value) : 0;
  }

 private:
  alignas(memory::kCacheLineBytes) LatestCell<memory::StdPlatform, kWords> cell_{};
  alignas(memory::kCacheLineBytes) detail::ProcessLock lock_;  // writers
  EventCount event_count_;
};

}  // namespace baton::objects
