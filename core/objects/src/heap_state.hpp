// SPDX-License-Identifier: Apache-2.0
// An open heap: its shared words and the parts of this process that own them. core/objects/README.md has the order and the
// invariants.
// Thread rules: as Heap. Parts are constructed before any other thread knows the heap, and destroyed after the last
// thread left it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "baton/os/fork_listener.hpp"
#include "membership.hpp"
#include "names.hpp"

namespace baton::objects::detail {

/// The first bytes of the memfd, and a span word per span behind them: docs/format/shared-heap.md.
struct HeapHeader {
  explicit HeapHeader(std::byte* base) : spans(base), allocations(base), names(base) {}
  std::uint64_t magic = 0;  // stored last
  std::uint32_t version = kHeapVersion;
  std::uint32_t header_bytes = sizeof(HeapHeader);  // two builds that differ here cannot share
  std::uint64_t limit = 0;
  SpanWords spans;
  AllocationWords allocations;
  ProcessWords processes;
  WaiterWords waiters;
  BlockWords blocks;
  NameWords names;
  std::atomic<std::uint32_t>* span_words() noexcept { return reinterpret_cast<std::atomic<std::uint32_t>*>(this + 1); }
};

class HeapState final : public Closable, os::ForkListener {
 public:
  static Result<std::shared_ptr<HeapState>> create(const HeapOptions& options);
  static Result<std::shared_ptr<HeapState>> attach(const os::UniqueFd& descriptor, const HeapOptions& options);
  static Result<std::shared_ptr<HeapState>> open(const HeapOptions& options);
  HeapState(std::unique_ptr<Mapping> mapping, HeapHeader& header, const HeapOptions& options);
  ~HeapState();

  HeapStats stats() const;
  bool is_unused() noexcept override { return !mapping->forked() && blocks.nothing_held(); }
  /// Call before the heap's descriptor is given to a process without sockets.
  void before_attaching() noexcept;

  // In the order of the layers: each uses the ones before.
  const std::unique_ptr<Mapping> mapping;
  Events events;
  ProcessTable processes;
  Waiters waiters;
  Allocations allocations;
  Blocks blocks;
  Contents contents;
  Recovery recovery;

  /// This process has used Heap::allocate(): pending allocations are freed when it closes the heap.
  std::atomic<bool> has_pending{false};

 private:
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  std::mutex membership_mutex_;
  std::unique_ptr<Membership> membership_;  // under membership_mutex_; null without a name
};

}  // namespace baton::objects::detail
