// SPDX-License-Identifier: Apache-2.0
// A received message whose arrays become the buffers of ordinary containers, without a copy. The buffers lie in a
// private mapping of the publisher's segment: the program may write them, which copies the touched pages for this
// process alone.
//
// Thread rules: a Received is a value of one thread; the buffers may be used and freed by any threads, in any order,
// also after the subscription, the participant or the publisher is gone.
// Invariants: (1) the sample is released when the Received and all its buffers are gone, after the program's changes
// were discarded; (2) an address is aliased at most once at a time; (3) two messages that are aliased at the same time
// share no page, even if they are the same chunk taken by two subscriptions (each has a lane of its own).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::containers {

struct Entry;

/// How many messages of a subscription may be aliased at the same time. A subscription may hold a limited number of
/// samples, so a program that keeps more messages gets copies of the others. Messages may outlive the quota.
class Quota {
 public:
  explicit Quota(std::size_t most) : most_(most), now_(std::make_shared<std::atomic<std::size_t>>(0)) {}
  std::size_t now() const noexcept { return now_->load(std::memory_order_relaxed); }

 private:
  friend class Received;
  std::size_t most_;
  std::shared_ptr<std::atomic<std::size_t>> now_;  // orders nothing: relaxed
};

class Received {
 public:
  /// Takes the sample over. Errors, with `sample` untouched (copy it then): unsupported (not active(); a message that
  /// shares its pages with others, i.e. of at most half a page; a segment mapped before active() was first called;
  /// locked memory), limit_reached (eight subscriptions of this process have aliased the message, or the quota is used
  /// up), window_exhausted, out_of_memory, system.
  static Result<Received> begin(transport::TakenSample& sample);
  static Result<Received> begin(transport::TakenSample& sample, const Quota& quota);

  Received(Received&& other) noexcept;
  Received& operator=(Received&& other) noexcept;
  ~Received();

  const std::byte* message() const noexcept;  ///< the read-only bytes, as the publisher wrote them
  std::uint32_t size_bytes() const noexcept;

  /// A buffer of `bytes` > 0 with the content at `content`. A free() or operator delete ends it. Null (copy it then) if
  /// the content is not inside this message, misaligned for `alignment`, or aliased already (contents that overlap in a
  /// hostile message).
  void* alias(const void* content, std::size_t bytes, std::size_t alignment) noexcept;

 private:
  explicit Received(Entry* entry) noexcept : entry_(entry) {}
  static Result<Received> begin(transport::TakenSample& sample, const Quota* quota);
  Entry* entry_;
};

}  // namespace baton::containers
