// SPDX-License-Identifier: Apache-2.0
// A writable chunk for the tests of this room: a place inside the window where messages can be built. Two implementations:
// test_chunk_pool.cpp (the memory room's pool) and test_chunk_fake.cpp (a plain model of arena.hpp, with failure injection).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace baton::message::testing {

class TestChunk {
 public:
  /// A loan whose skeleton has `skeleton_bytes` and whose message may have at most `max_bytes`.
  explicit TestChunk(std::size_t skeleton_bytes, std::size_t max_bytes = std::size_t{8} << 20);
  ~TestChunk();
  TestChunk(const TestChunk&) = delete;
  TestChunk& operator=(const TestChunk&) = delete;

  std::byte* message() const noexcept { return message_; }
  /// Skeleton and contents up to the end of the last content. The pool's answer is at least the right one only while it has
  /// no gaps.
  std::size_t used_bytes() const noexcept;
  /// Ends the loan, as publishing does: readers have the message now.
  void publish() noexcept;
  /// Content blocks alive. The pool does not tell: then -1.
  int blocks() const noexcept;
  static bool is_fake() noexcept;

  template <class T>
  T* make() {
    return ::new (static_cast<void*>(message_)) T();
  }
  template <class T>
  T* make(const T& from) {
    return ::new (static_cast<void*>(message_)) T(from);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::byte* message_ = nullptr;
};

/// The next allocations, after `after` successful ones, throw message_too_large. Fake only. Negative: never.
void fail_allocations(int after) noexcept;

/// Fills a TestChunk object with T and keeps it for a test's duration.
template <class T>
class Loaned {
 public:
  explicit Loaned(std::size_t max_bytes = std::size_t{8} << 20)
      : chunk_(sizeof(T), max_bytes), value_(chunk_.make<T>()) {}
  T& operator*() const noexcept { return *value_; }
  T* operator->() const noexcept { return value_; }
  TestChunk& chunk() noexcept { return chunk_; }

 private:
  TestChunk chunk_;
  T* value_;
};

}  // namespace baton::message::testing
