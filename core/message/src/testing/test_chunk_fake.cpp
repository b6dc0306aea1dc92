// SPDX-License-Identifier: Apache-2.0
// A simple model of memory/arena.hpp: first fit in gaps, bounds checks, counters, failure injection. It is stricter than the
// pool: freeing or resizing a block that it did not hand out aborts the test.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "baton/memory/arena.hpp"
#include "baton/os/result.hpp"
#include "testing/test_chunk.hpp"

namespace {

constexpr std::size_t kSlot = std::size_t{32} << 20;
constexpr std::size_t kSlots = 8;

struct Slot {
  bool used = false;
  bool published = false;
  std::size_t skeleton = 0;
  std::size_t limit = 0;
  std::size_t dirty = 0;                      // bytes that a message of this slot may have written
  std::map<std::size_t, std::size_t> blocks;  // offset -> bytes
  bool freed = false;                         // gaps are filled only once a block was freed: alignment gaps are not
};

std::byte* window() {
  static std::byte* base = [] {
    void* p = std::aligned_alloc(4096, kSlot * kSlots);  // pages come when touched; still reachable at exit
    if (p == nullptr) std::abort();
    std::memset(p, 0, 4096);  // AddressSanitizer fills the first page of an allocation; a segment's pages are zero
    baton::memory::g_window_range = {reinterpret_cast<std::uintptr_t>(p), kSlot * kSlots};
    return static_cast<std::byte*>(p);
  }();
  return base;
}
Slot g_slots[kSlots];
int g_fail_after = -1;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "fake arena: %s\n", what);
  std::abort();
}

Slot& slot_of(const void* owner) {
  const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(owner) - window());
  if (at >= kSlot * kSlots || !g_slots[at / kSlot].used) {
    throw baton::Exception({baton::Errc::invalid_argument, "not in a writable loan"});
  }
  return g_slots[at / kSlot];
}
std::byte* base_of(const Slot& s) { return window() + kSlot * static_cast<std::size_t>(&s - g_slots); }
std::size_t used(const Slot& s) {
  return s.blocks.empty() ? s.skeleton : s.blocks.rbegin()->first + s.blocks.rbegin()->second;
}
void maybe_fail() {
  if (g_fail_after < 0) return;
  if (g_fail_after-- == 0) {
    g_fail_after = 0;
    throw baton::Exception({baton::Errc::message_too_large, "injected"});
  }
}

}  // namespace

namespace baton::memory {

WindowRange g_window_range = {0, 0};

void* content_allocate(const void* owner, std::size_t bytes, std::size_t alignment) {
  Slot& s = slot_of(owner);
  if (bytes == 0) die("allocation of 0 bytes");
  maybe_fail();
  std::size_t at = s.freed ? s.skeleton : used(s);
  if (s.freed) {
    for (const auto& [offset, size] : s.blocks) {
      at = (at + alignment - 1) & ~(alignment - 1);
      if (at + bytes <= offset) break;
      at = offset + size;
    }
  }
  at = (at + alignment - 1) & ~(alignment - 1);
  if (at + bytes > s.limit) throw Exception({Errc::message_too_large, "fake limit"});
  s.blocks.emplace(at, bytes);
  s.dirty = std::max(s.dirty, used(s));
  return base_of(s) + at;
}

bool content_resize_in_place(const void* owner, void* content, std::size_t new_bytes) {
  Slot& s = slot_of(owner);
  if (new_bytes == 0) die("resize to 0 bytes");
  const auto it = s.blocks.find(static_cast<std::size_t>(static_cast<std::byte*>(content) - base_of(s)));
  if (it == s.blocks.end()) die("resize of a foreign block");
  const auto next = std::next(it);
  const std::size_t end = next == s.blocks.end() ? s.limit : next->first;
  if (it->first + new_bytes > end) return false;
  it->second = new_bytes;
  s.dirty = std::max(s.dirty, used(s));
  return true;
}

std::size_t content_capacity(const void* owner, const void* content) {
  Slot& s = slot_of(owner);
  const auto it = s.blocks.find(static_cast<std::size_t>(static_cast<const std::byte*>(content) - base_of(s)));
  if (it == s.blocks.end()) die("capacity of a foreign block");
  return it->second;
}

bool content_free(const void* owner, void* content) noexcept {
  Slot& s = slot_of(owner);
  if (s.published) return false;
  if (s.blocks.erase(static_cast<std::size_t>(static_cast<std::byte*>(content) - base_of(s))) != 1) die("double free");
  s.freed = true;
  return true;
}

}  // namespace baton::memory

namespace baton::message::testing {

struct TestChunk::State {
  Slot* slot;
};

TestChunk::TestChunk(std::size_t skeleton_bytes, std::size_t max_bytes) : state_(new State{nullptr}) {
  window();
  for (Slot& s : g_slots) {
    if (s.used) continue;
    s.used = true;
    s.published = false;
    s.skeleton = skeleton_bytes;
    s.limit = max_bytes < kSlot ? max_bytes : kSlot;
    s.blocks.clear();
    s.freed = false;
    s.dirty = std::max(s.dirty, skeleton_bytes);
    std::memset(base_of(s), 0, s.dirty);
    s.dirty = skeleton_bytes;
    state_->slot = &s;
    message_ = base_of(s);
    return;
  }
  die("no slot left");
}
TestChunk::~TestChunk() { state_->slot->used = false; }
std::size_t TestChunk::used_bytes() const noexcept { return used(*state_->slot); }
void TestChunk::publish() noexcept { state_->slot->published = true; }
int TestChunk::blocks() const noexcept { return static_cast<int>(state_->slot->blocks.size()); }
bool TestChunk::is_fake() noexcept { return true; }
void fail_allocations(int after) noexcept { g_fail_after = after; }

}  // namespace baton::message::testing
