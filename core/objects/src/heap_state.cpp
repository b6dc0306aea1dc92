// SPDX-License-Identifier: Apache-2.0
#include "heap_state.hpp"

#include <algorithm>
#include <new>

#include "baton/os/crash_point.hpp"
#include "baton/os/sparse_memory.hpp"

namespace baton::objects {
namespace detail {
namespace {

constexpr std::size_t kMinLimit = std::size_t{1} << 20;
constexpr std::size_t kMaxLimit = std::size_t{16} << 30;

HeapHeader& header_of(const Mapping& mapping) noexcept { return *reinterpret_cast<HeapHeader*>(mapping.base()); }

}  // namespace

HeapState::HeapState(std::unique_ptr<Mapping> mapped, HeapHeader& header, const HeapOptions& options)
    : mapping(std::move(mapped)),
      events(options.on_event),
      processes(*mapping, header.processes),
      waiters(*mapping, header.waiters),
      allocations(*mapping, processes, Spans(*mapping, header.spans, header.span_words()), header.allocations,
                  [this] { return recovery.reclaim(); }),
      blocks(*mapping, allocations, header.blocks, events),
      contents(*mapping, allocations),
      recovery(*mapping, processes, allocations, blocks, contents, events) {
  HeapPrivate& here = mapping->here();
  here.processes = &processes;
  here.waiters = &waiters;
  here.blocks = &blocks;
  here.contents = &contents;
  here.names = &header.names;
  start_listening();
}

Result<std::shared_ptr<HeapState>> HeapState::create(const HeapOptions& options) {
  if (options.limit_bytes < kMinLimit || options.limit_bytes > kMaxLimit) {
    return Error{Errc::invalid_argument,
                 "limit_bytes of a shared heap is " + std::to_string(options.limit_bytes) + ": give 1 MiB to 16 GiB"};
  }
  const std::size_t spans = (options.limit_bytes + kSpanBytes - 1) / kSpanBytes;
  const std::size_t limit = spans * kSpanBytes;
  Result<os::UniqueFd> fd = os::create_common_sparse("baton-heap", limit);
  if (!fd) return fd.error();
  Result<std::unique_ptr<Mapping>> mapping = Mapping::make(std::move(*fd), limit);
  if (!mapping) return mapping.error();
  const std::size_t first = (sizeof(HeapHeader) + spans * sizeof(std::uint32_t) + kSpanBytes - 1) / kSpanBytes;
  if (Result<void> backed = (*mapping)->back(0, first * kSpanBytes); !backed) return backed.error();
  auto* const header = new ((*mapping)->base()) HeapHeader((*mapping)->base());
  header->limit = limit;
  header->spans.count = static_cast<std::uint32_t>(spans);
  header->spans.first = static_cast<std::uint32_t>(first);
  header->spans.backed = header->spans.first;
  header->magic = kHeapMagic;  // no other process has the descriptor yet
  auto state = std::make_shared<HeapState>(std::move(*mapping), *header, options);
  if (Result<void> joined = state->recovery.join(); !joined) return joined.error();
  return state;
}

Result<std::shared_ptr<HeapState>> HeapState::attach(const os::UniqueFd& descriptor, const HeapOptions& options) {
  Result<std::size_t> limit = os::common_sparse_bytes(descriptor.get());
  if (!limit) return limit.error();
  if (*limit < kMinLimit || *limit > kMaxLimit)
    return Error{Errc::protocol_violation, "the descriptor is no shared heap: wrong size"};
  os::UniqueFd own = os::duplicate(descriptor.get());
  if (!own) return Error{Errc::out_of_descriptors, "no descriptor is left for a shared heap"};
  Result<std::unique_ptr<Mapping>> mapping = Mapping::make(std::move(own), *limit);
  if (!mapping) return mapping.error();
  HeapHeader& header = header_of(**mapping);
  if (header.magic != kHeapMagic || header.limit != *limit)
    return Error{Errc::protocol_violation, "the descriptor is no shared heap"};
  if (header.version != kHeapVersion || header.header_bytes != sizeof(HeapHeader)) {
    return Error{Errc::version_mismatch, "the shared heap was made by another version of Baton"};
  }
  auto state = std::make_shared<HeapState>(std::move(*mapping), header, options);
  if (Result<void> joined = state->recovery.join(); !joined) return joined.error();
  return state;
}

Result<std::shared_ptr<HeapState>> HeapState::open(const HeapOptions& options) {
  Result<Meeting> meeting = meet(options);
  if (!meeting) return meeting.error();
  Result<std::shared_ptr<HeapState>> opened =
      meeting->descriptor ? attach(meeting->descriptor, options) : create(options);
  if (!opened) return opened.error();
  HeapState& state = **opened;
  if (meeting->lost || !meeting->unreached.empty()) {
    state.waiters.set_unwatched();
    connect_unreached(
        *meeting);  // a member whose backlog is still full checks `unwatched` after it has accepted the waiting
                    // newcomers
  }
  BATON_CRASH_POINT("shared.rendezvous.opened");
  if (Result<void> listens = listen(meeting->presence); !listens) return listens.error();
  Result<std::unique_ptr<Membership>> membership =
      Membership::start(std::move(meeting->presence), {*state.mapping, state.waiters, state.recovery, &state});
  if (!membership) return membership.error();
  {
    const std::lock_guard<std::mutex> lock(state.membership_mutex_);
    state.membership_ = std::move(*membership);
  }
  meeting->lock.reset();     // destructors and on_event may open heaps, too
  state.recovery.collect();  // processes that died before this one joined
  return opened;
}

HeapState::~HeapState() {
  Membership* membership = nullptr;
  {
    const std::lock_guard<std::mutex> lock(membership_mutex_);
    membership = membership_.get();
  }
  if (membership != nullptr) membership->stop();  // without the lock: its thread may fork
  if (!mapping->forked() && processes.has_joined()) {
    if (has_pending.load(std::memory_order_relaxed))
      contents.free_pending([this](ProcessWord process) { return process == mapping->me(); });
    processes.leave();
  }
  std::unique_ptr<Membership> ended;  // destroyed last: until then the other members notice this process's death
  {
    const std::lock_guard<std::mutex> lock(membership_mutex_);
    ended = std::move(membership_);
  }
  ended.reset();
  stop_listening();
}

HeapStats HeapState::stats() const {
  HeapStats out;
  out.limit_bytes = mapping->limit();
  out.backed_bytes = allocations.spans().backed_bytes();
  allocations.for_each([&out](const Allocation& found) {
    ++out.allocations;
    out.used_bytes += found.bytes;
    if (found.kind != Kind::kBlock) return;
    ++out.objects;
    out.orphans += found.block().state.load(std::memory_order_relaxed) == BlockState::kOrphan;  // a snapshot
  });
  out.processes = processes.count_living();
  return out;
}

void HeapState::before_attaching() noexcept {
  if (mapping->forked() || waiters.unwatched()) return;
  const std::lock_guard<std::mutex> lock(membership_mutex_);
  if (!membership_) return;  // no thread watches
  waiters.set_unwatched();
  membership_->wake();
}

void HeapState::before_fork() { membership_mutex_.lock(); }
void HeapState::after_fork_in_parent() { membership_mutex_.unlock(); }
void HeapState::after_fork_in_child() {
  processes.after_fork_in_child();
  mapping->after_fork_in_child();
  if (membership_) membership_->after_fork_in_child();
  after_fork_in_parent();
}

}  // namespace detail

Heap::Heap(std::shared_ptr<detail::HeapState> state) noexcept : state_(std::move(state)) {}
Heap::Heap(Heap&&) noexcept = default;
Heap& Heap::operator=(Heap&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Heap::~Heap() {
  if (!state_ || state_->mapping->forked()) return;
  const detail::OperationGuard guard;  // its end closes the heap if there are no pointers
  state_->events.silence();
  state_->blocks.begin_closing();
  detail::OperationGuard::close_later(std::move(state_));
}

namespace {
Result<Heap> heap_of(Result<std::shared_ptr<detail::HeapState>> state) {
  if (!state) return state.error();
  return Heap(std::move(*state));
}
}  // namespace

Result<Heap> Heap::open(const HeapOptions& options) { return heap_of(detail::HeapState::open(options)); }
Result<std::vector<std::string>> Heap::names(const HeapOptions& options) { return detail::names_of_heaps(options); }
Result<Heap> Heap::create(const HeapOptions& options) { return heap_of(detail::HeapState::create(options)); }
Result<Heap> Heap::attach(const os::UniqueFd& descriptor, const HeapOptions& options) {
  return heap_of(detail::HeapState::attach(descriptor, options));
}

const os::UniqueFd& Heap::descriptor() const noexcept {
  state_->before_attaching();
  return state_->mapping->descriptor();
}
Result<void*> Heap::allocate(std::size_t bytes, std::size_t alignment) {
  state_->has_pending.store(true, std::memory_order_relaxed);  // read by the destructor, after every call
  return state_->allocations.allocate(std::max<std::size_t>(bytes, 1), alignment);
}
void Heap::keep(void* memory) noexcept {
  if (memory != nullptr && !state_->mapping->forked()) state_->allocations.settle(memory, detail::Kind::kRaw);
}
void Heap::deallocate(void* memory) noexcept {
  if (memory != nullptr && !state_->mapping->forked()) state_->allocations.release(memory);
}
std::size_t Heap::collect() { return state_->recovery.collect(); }
HeapStats Heap::stats() const { return state_->mapping->forked() ? HeapStats{} : state_->stats(); }
void Heap::prefault() noexcept {
  if (state_->mapping->forked()) return;
  const detail::OperationGuard guard;  // makes this thread's mark, which its first operation would otherwise allocate
  state_->mapping->prefault(state_->allocations.spans().backed_bytes());
}
Result<void> Heap::reserve(std::size_t bytes, std::size_t count) { return state_->allocations.reserve(bytes, count); }
std::byte* Heap::base() const noexcept { return state_->mapping->forked() ? nullptr : state_->mapping->base(); }

}  // namespace baton::objects
