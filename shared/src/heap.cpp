// SPDX-License-Identifier: Apache-2.0
// Making, mapping and leaving a heap.
#include "baton/shared/heap.hpp"

#include <algorithm>
#include <new>

#include "baton/os/file_lock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/sparse_memory.hpp"
#include "closing.hpp"
#include "hand_over.hpp"
#include "heap_state.hpp"

namespace baton::shared {
namespace detail {
namespace {

constexpr std::size_t kMinLimit = std::size_t{1} << 20;
constexpr std::size_t kMaxLimit = std::size_t{16} << 30;

std::size_t header_bytes(std::size_t limit) noexcept {
  return sizeof(HeapHeader) + limit / kSpanBytes * sizeof(std::uint32_t);
}
std::size_t private_bytes(std::size_t limit) noexcept {
  return (limit / 64 * sizeof(LocalCount) + kSpanBytes - 1) / kSpanBytes * kSpanBytes + kPrivateBytes;
}

}  // namespace

Result<void> HeapState::map(std::size_t limit) {
  Result<memory::Window*> window = memory::Window::instance();
  if (!window) return window.error();
  const std::size_t beside = private_bytes(limit);
  Result<std::byte*> at = (*window)->allocate(beside + limit);
  if (!at) return at.error();
  window_base_ = *at;
  window_bytes_ = beside + limit;
  generation_ = os::fork_generation();
  if (Result<void> mapped = os::map_private_sparse(beside, window_base_); !mapped) return mapped;
  if (Result<void> mapped = os::map_common_sparse(share_.get(), limit, window_base_ + beside); !mapped) return mapped;
  base_ = window_base_ + beside;
  locals_ = reinterpret_cast<LocalCount*>(window_base_);
  new (&private_of(base_)) HeapPrivate{};
  private_of(base_).state = this;
  private_of(base_).locals = locals_;
  private_of(base_).limit = limit;
  record_.base = window_base_;
  record_.size = window_bytes_;
  record_.heap = this;
  (*window)->publish(&record_);
  published_ = true;
  start_listening();
  listening_ = true;
  return {};
}

Result<std::shared_ptr<HeapState>> HeapState::create(const HeapOptions& options) {
  if (options.limit_bytes < kMinLimit || options.limit_bytes > kMaxLimit) {
    return Error{Errc::invalid_argument,
                 "limit_bytes of a shared heap is " + std::to_string(options.limit_bytes) + ": give 1 MiB to 16 GiB"};
  }
  const std::size_t limit = (options.limit_bytes + kSpanBytes - 1) / kSpanBytes * kSpanBytes;
  std::shared_ptr<HeapState> state(new HeapState);
  if (options.on_event) state->on_event_ = std::make_shared<std::function<void(const HeapEvent&)>>(options.on_event);
  Result<os::UniqueFd> fd = os::create_common_sparse("baton-heap", limit);
  if (!fd) return fd.error();
  state->share_ = std::move(*fd);
  if (Result<void> mapped = state->map(limit); !mapped) return mapped.error();
  const std::size_t header = (header_bytes(limit) + kSpanBytes - 1) / kSpanBytes;
  if (Result<void> backed = os::back_sparse(state->share_.get(), 0, header * kSpanBytes, state->base_); !backed)
    return backed.error();
  auto* const h = new (state->base_) HeapHeader(state->base_);
  h->limit = limit;
  h->spans = static_cast<std::uint32_t>(limit / kSpanBytes);
  h->first_span = static_cast<std::uint32_t>(header);
  h->backed = h->first_span;
  h->magic = kMagic;  // nobody else has the descriptor yet
  if (Result<void> joined = state->join(); !joined) return joined.error();
  return state;
}

Result<std::shared_ptr<HeapState>> HeapState::attach(const os::UniqueFd& descriptor, const HeapOptions& options) {
  Result<std::size_t> limit = os::common_sparse_bytes(descriptor.get());
  if (!limit) return limit.error();
  if (*limit < kMinLimit || *limit > kMaxLimit)
    return Error{Errc::protocol_violation, "the descriptor is no shared heap: wrong size"};
  std::shared_ptr<HeapState> state(new HeapState);
  if (options.on_event) state->on_event_ = std::make_shared<std::function<void(const HeapEvent&)>>(options.on_event);
  state->share_ = os::duplicate(descriptor.get());
  if (!state->share_) return Error{Errc::out_of_descriptors, "no descriptor is left for a shared heap"};
  if (Result<void> mapped = state->map(*limit); !mapped) return mapped.error();
  const HeapHeader& h = state->header();
  if (h.magic != kMagic || h.limit != *limit)
    return Error{Errc::protocol_violation, "the descriptor is no shared heap"};
  if (h.version != kVersion || h.layout_bytes != sizeof(HeapHeader)) {
    return Error{Errc::version_mismatch, "the shared heap was made by another version of Baton"};
  }
  if (Result<void> joined = state->join(); !joined) return joined.error();
  return state;
}

HeapState::~HeapState() {
  stop_membership();
  if (!forked() && published_ && live_) {
    free_mine();
    leave();
  }
  end_membership();  // the sockets hang up when all is done: a death before that is heard
  if (listening_) stop_listening();
  if (forked()) return;  // what is mapped, and where, is the parent's affair
  if (window_base_ != nullptr) (*memory::Window::instance())->free(window_base_, window_bytes_);
}

std::uint64_t HeapState::count_holds() {
  std::uint64_t count = 0;
  const std::uint64_t bit = std::uint64_t{1} << slot_;
  walk(kMaxProcesses, [&](const Found& found) {
    count += (__atomic_load_n(&found.block->holds, __ATOMIC_RELAXED) & bit) != 0;
    count += (__atomic_load_n(&found.block->weak_holds, __ATOMIC_RELAXED) & bit) != 0;
  });
  return count;
}

void HeapState::begin_closing() noexcept {
  closing_.store(true, std::memory_order_release);  // pairs with the acquire in let_go()
}

// Others may get and drop holds while the bits are counted. Who gets one is counted first, so what was got meanwhile is noticed, and asked for again;
// what was dropped meanwhile makes holds_ too low, and the next look come early.
bool HeapState::nothing_held() noexcept {
  if (holds_.load(std::memory_order_acquire) > 0) return false;
  const std::uint64_t gains = gains_.load(std::memory_order_acquire);
  holds_.store(0, std::memory_order_relaxed);
  const std::uint64_t count = count_holds();
  holds_.fetch_add(static_cast<std::int64_t>(count), std::memory_order_acq_rel);
  if (gains_.load(std::memory_order_acquire) == gains) return count == 0;
  holds_.store(0, std::memory_order_relaxed);
  Inside::want();
  return false;
}

const HeapState*& HeapState::background() noexcept {
  thread_local const HeapState* of = nullptr;
  return of;
}

// Both on the background thread.
void HeapState::park(std::shared_ptr<HeapState> self) noexcept { parked_ = std::move(self); }
std::shared_ptr<HeapState> HeapState::take_parked() noexcept { return std::move(parked_); }

void HeapState::set_membership(std::unique_ptr<Membership> membership) {
  const std::lock_guard<std::mutex> lock(membership_mutex_);
  membership_ =
      std::unique_ptr<Membership, void (*)(Membership*)>(membership.release(), [](Membership* m) { delete m; });
}

void HeapState::stop_membership() noexcept {
  Membership* membership = nullptr;
  {
    const std::lock_guard<std::mutex> lock(membership_mutex_);
    membership = membership_.get();
  }
  if (membership != nullptr) membership->stop();  // without the lock: its thread may fork
}

void HeapState::end_membership() noexcept {
  std::unique_ptr<Membership, void (*)(Membership*)> ended(nullptr, nullptr);
  {
    const std::lock_guard<std::mutex> lock(membership_mutex_);
    ended = std::move(membership_);
  }
}

void HeapState::before_attaching() noexcept {
  if (forked() || unwatched()) return;
  const std::lock_guard<std::mutex> lock(membership_mutex_);
  if (!membership_) return;  // nobody hears
  set_unwatched();
  membership_->look();
}

// A destructor that runs in a recovery may fork.
void HeapState::before_fork() {
  if (!recovers()) recovery_mutex_.lock();
  membership_mutex_.lock();
}
void HeapState::after_fork_in_parent() {
  membership_mutex_.unlock();
  if (!recovers()) recovery_mutex_.unlock();
}
void HeapState::after_fork_in_child() {
  live_.reset();  // or the child would keep its parent alive
  share_.reset();
  if (membership_) membership_->after_fork_in_child();
  membership_mutex_.unlock();
  if (!recovers()) recovery_mutex_.unlock();
}

}  // namespace detail

detail::HeapState& detail::HeapAccess::state(Heap& heap) noexcept { return *heap.state_; }

Heap::Heap(std::shared_ptr<detail::HeapState> state) noexcept : state_(std::move(state)) {}
Heap::Heap(Heap&&) noexcept = default;
Heap& Heap::operator=(Heap&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Heap::~Heap() {
  if (!state_) return;
  if (state_->forked()) return;
  const detail::Inside inside;  // behind it, it is closed if there are no pointers
  state_->tell_nobody();
  state_->begin_closing();
  detail::Inside::keep_until_closed(std::move(state_));
}

Result<Heap> Heap::open(const HeapOptions& options) {
  Result<std::shared_ptr<detail::HeapState>> state = detail::open_named(options);
  if (!state) return state.error();
  return Heap(std::move(*state));
}
Result<std::vector<std::string>> Heap::names(const HeapOptions& options) { return detail::names_of_heaps(options); }
Result<Heap> Heap::create(const HeapOptions& options) {
  Result<std::shared_ptr<detail::HeapState>> state = detail::HeapState::create(options);
  if (!state) return state.error();
  return Heap(std::move(*state));
}
Result<Heap> Heap::attach(const os::UniqueFd& descriptor, const HeapOptions& options) {
  Result<std::shared_ptr<detail::HeapState>> state = detail::HeapState::attach(descriptor, options);
  if (!state) return state.error();
  return Heap(std::move(*state));
}

const os::UniqueFd& Heap::descriptor() const noexcept {
  state_->before_attaching();
  return state_->descriptor();
}
Result<void*> Heap::allocate(std::size_t bytes, std::size_t alignment) {
  if (!state_->forked()) state_->note_raw();
  return state_->allocate(std::max<std::size_t>(bytes, 1), alignment);
}
void Heap::keep(void* memory) noexcept {
  if (memory != nullptr && !state_->forked()) state_->settle(memory, detail::HeapState::Kind::kRaw);
}
void Heap::deallocate(void* memory) noexcept {
  if (memory != nullptr && !state_->forked()) state_->release(memory);
}
std::size_t Heap::collect() { return state_->collect(); }
HeapStats Heap::stats() const { return state_->forked() ? HeapStats{} : state_->stats(); }
void Heap::prefault() noexcept {
  if (!state_->forked()) state_->prefault();
}
Result<void> Heap::reserve(std::size_t bytes, std::size_t count) { return state_->reserve(bytes, count); }
std::byte* Heap::base() const noexcept { return state_->forked() ? nullptr : state_->base(); }

}  // namespace baton::shared
