// SPDX-License-Identifier: Apache-2.0
// A reader of Baton behind an entity of the application, in one wait set at a time: the one in which the application
// waits, or that of the callback thread.
// Thread rules: all functions from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "baton/transport/transport.hpp"

namespace baton::rmw {

class WaitSetMember {
 public:
  WaitSetMember(const WaitSetMember&) = delete;
  WaitSetMember& operator=(const WaitSetMember&) = delete;

  /// Unique in this process.
  std::uint64_t id() const noexcept { return id_; }
  /// Baton's reader wakes this wait set, unless there is a callback.
  virtual void wait_in(const std::shared_ptr<transport::WaitSet>& wait_set) = 0;
  virtual void leave(const std::shared_ptr<transport::WaitSet>& wait_set) = 0;

 protected:
  WaitSetMember() = default;
  ~WaitSetMember() = default;

 private:
  static inline std::atomic<std::uint64_t> last_id{0};
  const std::uint64_t id_ = last_id.fetch_add(1, std::memory_order_relaxed) + 1;  // only uniqueness matters
};

}  // namespace baton::rmw
