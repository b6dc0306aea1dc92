// SPDX-License-Identifier: Apache-2.0
// The machine's own limits, measured between the same two processes as Baton: a futex wake and a cache-line hand-over.
// Thread rules: one parent, several children, each one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "baton/os/child.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/futex.hpp"
#include "baton/os/process.hpp"
#include "baton/os/shared_memory.hpp"

namespace baton::perf {

/// The shared page. Children wait for `word`; `stamp_ns` was written before it (release), so it is read after it.
struct BarePage {
  alignas(64) std::atomic<std::uint32_t> word;
  alignas(64) std::atomic<std::int64_t> stamp_ns;
  alignas(64) std::atomic<std::uint32_t> rounds_done;  // sum over children: the parent waits until all finished a round
  std::atomic<std::uint32_t> children_ready;
};

/// The page, made by the parent and opened by children through /proc.
class Bare {
 public:
  static Bare create() {
    Bare bare;
    auto segment = os::create_segment("baton-bare", sizeof(BarePage), os::Writers::kBothEnds).or_throw();
    bare.mapping_ = std::move(segment.mapping);
    bare.fd_ = std::move(segment.fd);
    return bare;
  }
  static Bare open(std::int32_t parent, int fd) {
    Bare bare;
    bare.fd_ = os::open_descriptor_of(parent, fd).or_throw();
    bare.mapping_ = os::map_segment(bare.fd_, os::round_to_pages(sizeof(BarePage)), os::Writers::kBothEnds).or_throw();
    return bare;
  }
  BarePage& page() const noexcept { return *reinterpret_cast<BarePage*>(mapping_.base()); }
  int fd() const noexcept { return fd_.get(); }

  /// Parent: one bare hand-over; returns how long the call took in ns.
  std::int64_t wake_all() const noexcept {
    BarePage& p = page();
    const std::int64_t before = os::monotonic_ns();
    p.stamp_ns.store(before, std::memory_order_relaxed);
    p.word.fetch_add(1, std::memory_order_release);  // pairs with the acquire in wait()/spin()
    os::futex_wake(&p.word, 1 << 30);
    return os::monotonic_ns() - before;
  }
  void touch() const noexcept {
    BarePage& p = page();
    p.stamp_ns.store(os::monotonic_ns(), std::memory_order_relaxed);
    p.word.fetch_add(1, std::memory_order_release);  // pairs with the acquire in spin()
  }
  /// Child: waits asleep until the word is no longer `seen`; returns the one-way latency in ns.
  std::int64_t wait(std::uint32_t seen) const noexcept {
    BarePage& p = page();
    const os::FutexWait waits[] = {{&p.word, seen}};
    while (p.word.load(std::memory_order_acquire) == seen) os::futex_waits(waits, 1, INT64_MAX);
    return os::monotonic_ns() - p.stamp_ns.load(std::memory_order_relaxed);
  }
  std::int64_t spin(std::uint32_t seen) const noexcept {
    BarePage& p = page();
    while (p.word.load(std::memory_order_acquire) == seen) {
    }
    return os::monotonic_ns() - p.stamp_ns.load(std::memory_order_relaxed);
  }

 private:
  os::SharedMapping mapping_;
  os::UniqueFd fd_;
};

}  // namespace baton::perf
