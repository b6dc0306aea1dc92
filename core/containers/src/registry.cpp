// SPDX-License-Identifier: Apache-2.0
#include "registry.hpp"

#include <new>

#include "baton/os/hot_path.hpp"
#include "baton/os/private_mapping.hpp"

namespace baton::containers {

BATON_HOT Registry& Registry::instance() {
  static auto* const registry = new Registry;
  return *registry;
}

BATON_HOT bool Registry::occupy(const std::byte* copy) {
  const os::Lock lock(mutex_);
  return occupied_.insert(copy).second;
}

BATON_HOT Entry* Registry::make() {
  const os::Lock lock(mutex_);
  if (spare_.empty()) {
    spare_.reserve(entries_ + 1);  // so that ending an entry never allocates
    spare_.push_back(std::make_unique<Entry>());
  }
  Entry* entry = spare_.back().release();
  spare_.pop_back();
  ++entries_;
  return entry;
}

BATON_HOT bool Registry::add(Entry* entry, void* address, std::size_t bytes) {
  const os::Lock lock(mutex_);
  if (!buffers_.emplace(address, Buffer{entry, bytes}).second) return false;
  ++entry->references;
  ++counters_.aliased;
  return true;
}

BATON_HOT bool Registry::belongs(const Entry* entry, const void* address) noexcept {
  const os::Lock lock(mutex_);
  const auto found = buffers_.find(address);
  return found != buffers_.end() && found->second.entry == entry;
}

BATON_HOT std::size_t Registry::remove(const Entry* entry, void* address) noexcept {
  const os::Lock lock(mutex_);
  const auto found = buffers_.find(address);
  if (found == buffers_.end() || found->second.entry != entry) return 0;
  const std::size_t bytes = found->second.bytes;
  --found->second.entry->references;
  buffers_.erase(found);
  ++counters_.freed;
  return bytes;
}

BATON_HOT std::size_t Registry::references(const Entry* entry) noexcept {
  const os::Lock lock(mutex_);
  return entry->references;
}

BATON_HOT void Registry::drop(Entry* entry) noexcept {
  {
    const os::Lock lock(mutex_);
    if (--entry->references != 0) return;
  }
  finish(entry);
}

BATON_HOT bool Registry::freed(void* address) noexcept {
  Entry* entry = nullptr;
  {
    const os::Lock lock(mutex_);
    const auto found = buffers_.find(address);
    if (found == buffers_.end()) return false;
    entry = found->second.entry;
    buffers_.erase(found);
    ++counters_.freed;
    if (--entry->references != 0) return true;
  }
  finish(entry);
  return true;
}

void Registry::count_unknown() noexcept {
  const os::Lock lock(mutex_);
  ++counters_.unknown;
}

BATON_HOT void Registry::finish(Entry* entry) noexcept {
  // In this order: the next message in these pages must find them unchanged, and comes only after the release.
  if (entry->copy != nullptr) {
    const std::size_t pages = os::discard_private_changes(entry->copy, entry->copy_bytes);
    const os::Lock lock(mutex_);
    occupied_.erase(entry->copy);
    counters_.discarded_pages += pages;
  }
  if (entry->writer && entry->loan.header != nullptr) entry->writer->abandon(entry->loan);
  const std::shared_ptr<std::atomic<std::size_t>> quota = std::move(entry->quota);
  // Assigned, not destroyed: destroying the old values may free memory, which must not happen under the mutex.
  *entry = Entry{};
  if (quota) quota->fetch_sub(1, std::memory_order_relaxed);  // after the sample was released
  const os::Lock lock(mutex_);
  spare_.emplace_back(entry);
  --entries_;
}

std::size_t Registry::usable(const void* address) noexcept {
  const os::Lock lock(mutex_);
  const auto found = buffers_.find(address);
  return found == buffers_.end() ? 0 : found->second.bytes;
}

Counters Registry::counters() noexcept {
  const os::Lock lock(mutex_);
  Counters now = counters_;
  now.live_buffers = buffers_.size();
  now.live_messages = entries_;
  return now;
}

}  // namespace baton::containers
