// SPDX-License-Identifier: Apache-2.0
// guarded<C>: a container of Boost.Container (or a struct of such) in a shared heap, with its lock. If a process dies
// in the middle of a change, its buffers are freed, and no other process sees the half-changed container.
//
//   struct Table { boost::container::vector<int, allocator<int>> values; ... };
//   guarded<Table> table;                      member of a shared object
//   auto locked = table.lock();                locked->values.push_back(7);
//   if (locked.started_over()) ...             a process died while changing it: it is new and empty
//   auto seen = table.read();                  const; a process that dies during a read does no harm
//
// C is constructed from an allocator<std::byte>, which converts to the allocators of its containers. Pass
// locked.get_allocator() explicitly to containers inside these (nested strings, for example). Containers in it must not
// be moved out (allocator.hpp).
//
// How: every buffer is marked with this guard's place, in the same store that ends the allocating process's ownership
// of the buffer. `content` says whether C is complete; it is kChanging while a process has locked C for changes. A
// process that takes the lock over in that state, or ends the object in it, trusts no word of C. It frees all marked
// buffers, with the smart pointers stored in them, and constructs C anew.
//
// Thread rules: those of a mutex. REQUIRES of C: its destructor only frees its buffers and ends their elements.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "baton/objects/allocator.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/shareable.hpp"
#include "baton/os/crash_point.hpp"

namespace baton::objects {

namespace detail {

/// The beginning of every guarded<>.
struct alignas(64) GuardWords {
  enum Content : std::uint32_t { kNone, kWhole, kChanging };
  std::atomic<std::uint32_t> buffers{0};  // buffers marked with this guard; may be too high
  std::atomic<std::uint32_t> content{kNone};
};
/// Frees the buffers that are marked with `guard`, with the smart pointers in them and in the content.
void discard_content(std::byte* heap_base, std::uint32_t guard, void* content, std::size_t bytes) noexcept;

}  // namespace detail

template <class C>
class guarded {
 public:
  static_assert(std::is_constructible_v<C, const allocator<std::byte>&>,
                "what is guarded is constructed from its allocator, which may be needed at any time");

  /// Throws baton::Exception outside of open heaps (invalid_argument), and the exceptions of C's constructor.
  guarded() {
    try {
      make();
    } catch (...) {
      discard();
      throw;
    }
    words_.content.store(detail::GuardWords::kWhole, std::memory_order_release);  // pairs with the acquires below
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  /// May run on all-zero bytes, and again after a dead process began it.
  ~guarded() {
    const std::uint32_t content = words_.content.load(std::memory_order_acquire);
    if (content == detail::GuardWords::kNone) return;
    words_.content.store(detail::GuardWords::kChanging, std::memory_order_release);
    if (content == detail::GuardWords::kWhole) {
      get()->~C();
      BATON_CRASH_POINT("shared.guarded.ended");
    }
    discard();
    words_.content.store(detail::GuardWords::kNone, std::memory_order_release);
  }

  /// The locked content. Destroying it unlocks, as std::unique_lock does.
  template <class T>
  class Locked {
   public:
    Locked(Locked&& other) noexcept
        : guard_(other.guard_), owns_(std::exchange(other.owns_, false)), started_over_(other.started_over_) {}
    Locked& operator=(Locked&&) = delete;
    ~Locked() { unlock(); }
    /// For condition_variable, which waits with it: after lock() the content may have changed or started over.
    void lock() {
      if (owns_) return;
      started_over_ = guard_->take();
      owns_ = true;
      if constexpr (!std::is_const_v<T>) guard_->begin_change();
    }
    void unlock() noexcept {
      if (!std::exchange(owns_, false)) return;
      if (guard_->words_.content.load(std::memory_order_relaxed) == detail::GuardWords::kNone) {  // clear() threw
        guard_->lock_.unlock();
        return;
      }
      // release: pairs with the acquires in take() and the destructor; a reader of kWhole sees the content.
      guard_->words_.content.store(detail::GuardWords::kWhole, std::memory_order_release);
      BATON_CRASH_POINT("shared.guarded.whole");
      guard_->lock_.unlock();
    }
    T& operator*() const noexcept { return *guard_->get(); }
    T* operator->() const noexcept { return guard_->get(); }
    /// True: a process died while changing the content (or clear() failed), so it is new and empty. Only for the first
    /// lock() after that.
    bool started_over() const noexcept { return started_over_; }
    /// For containers inside elements that are made during this lock and put into the content.
    allocator<std::byte> get_allocator() const noexcept { return guard_->new_allocator(); }
    /// Discards the content. If C's constructor throws, there is no content until the next lock() constructs it
    /// (started_over()).
    void clear() const {
      static_assert(!std::is_const_v<T>, "read() is for looking only");
      guard_->discard();
      try {
        guard_->make();
      } catch (...) {
        guard_->discard();
        guard_->words_.content.store(detail::GuardWords::kNone, std::memory_order_release);
        throw;
      }
    }

   private:
    friend class guarded;
    Locked(guarded* guard, bool started_over) noexcept : guard_(guard), started_over_(started_over) {}
    guarded* guard_;
    bool owns_ = true;
    bool started_over_;
  };

  /// Throws the exceptions of C's constructor, if C must be constructed anew.
  Locked<C> lock() {
    const bool again = take();
    begin_change();
    return Locked<C>(this, again);
  }
  /// A lock for reading only.
  Locked<const C> read() { return Locked<const C>(this, take()); }

 private:
  void begin_change() noexcept {
    words_.content.store(detail::GuardWords::kChanging, std::memory_order_release);  // before any change
    BATON_CRASH_POINT("shared.guarded.locked");
  }
  /// True: C was constructed anew.
  bool take() {
    (void)lock_.lock();
    bool again = false;
    if (words_.content.load(std::memory_order_acquire) != detail::GuardWords::kWhole) {
      try {
        discard();
        make();
      } catch (...) {
        lock_.unlock();
        throw;
      }
      words_.content.store(detail::GuardWords::kWhole, std::memory_order_release);
      BATON_CRASH_POINT("shared.guarded.started_over");
      again = true;
    }
    if (lock_.owner_died()) lock_.consistent();
    return again;
  }
  void make() {
    words_.content.store(detail::GuardWords::kChanging, std::memory_order_release);
    std::memset(bytes_, 0, sizeof bytes_);  // nothing in it is a pointer
    ::new (static_cast<void*>(bytes_)) C(new_allocator());
    BATON_CRASH_POINT("shared.guarded.made");
  }
  void discard() noexcept { detail::discard_content(base(), place(), bytes_, sizeof bytes_); }
  std::byte* base() const noexcept { return detail::heap_base_of(this); }
  std::uint32_t place() const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<const std::byte*>(this) - base()) / 64);
  }
  allocator<std::byte> new_allocator() const noexcept { return {base(), place()}; }
  C* get() noexcept { return std::launder(reinterpret_cast<C*>(bytes_)); }

  detail::GuardWords words_;
  mutex lock_;  // outside of open heaps its constructor throws
  alignas(C) unsigned char bytes_[sizeof(C)];
};

template <class C>
struct declared_shareable<guarded<C>> : recoverable {};

}  // namespace baton::objects
