// SPDX-License-Identifier: Apache-2.0
// A writer's last messages, as many as its depth: for readers that come late, and for readers that rest. A ring.
// Pure: it knows no pool, no connection, no clock and no lock. Messages that leave it are for the caller to release.
// Thread rules: externally synchronised.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/memory/handle.hpp"
#include "baton/os/hot_memory.hpp"

namespace baton::transport {

struct KeptMessage {
  memory::Handle handle;
  std::int64_t source_monotonic_ns;
  std::uint64_t sequence;
};

class KeptMessages {
 public:
  /// Makes room for `depth` messages, the first time. Throws std::bad_alloc: nothing has changed.
  void make_room(std::size_t depth) {
    if (ring_.empty()) ring_.resize(depth);
  }
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  /// 0: the newest message. REQUIRES: back < size().
  const KeptMessage& before_newest(std::size_t back) const noexcept {
    return ring_[(begin_ + size_ - 1 - back) % ring_.size()];
  }
  /// REQUIRES: !empty().
  const KeptMessage& oldest() const noexcept { return ring_[begin_]; }
  memory::Handle remove_oldest() noexcept {
    const memory::Handle handle = ring_[begin_].handle;
    begin_ = (begin_ + 1) % ring_.size();
    --size_;
    return handle;
  }
  /// If there is no room left, the oldest message leaves: release(handle). REQUIRES: make_room().
  template <class Release>
  void add(const KeptMessage& message, Release&& release) {
    if (size_ == ring_.size()) release(remove_oldest());
    ring_[(begin_ + size_++) % ring_.size()] = message;
  }
  /// How many of the newest `most` messages have number `from` or a later one.
  std::size_t count_from(std::uint64_t from, std::size_t most) const noexcept {
    std::size_t count = 0;
    while (count < size_ && count < most && before_newest(count).sequence >= from) ++count;
    return count;
  }
  void clear() noexcept { size_ = 0; }

 private:
  os::HotVector<KeptMessage> ring_;
  std::size_t begin_ = 0, size_ = 0;
};

}  // namespace baton::transport
