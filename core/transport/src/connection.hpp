// SPDX-License-Identifier: Apache-2.0
// The two ends of one writer/reader pair and the shared memory between them. Byte tables: docs/format/connection.md.
//
//   event page      one memfd per process with a line per writer; the writer writes, readers map it read-only
//   ring            one memfd per connection; the writer writes, the reader maps it read-only
//   connection      one memfd per connection, made by the reader; both write (cursor by CAS, the rest by the reader only)
//
// Thread rules: WriterConnection belongs to its writer's mutex. ReaderConnection is counted. Its queue belongs to its
// reader's mutex; the words with its state are atomics, for wait sets and samples.
// Invariants: (1) a ReaderConnection outlives every sample taken from it, and every data segment in which such a sample
// lies stays mapped; (2) in a forked child no function of this file touches shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "baton/memory/channel.hpp"
#include "baton/memory/pool.hpp"
#include "baton/os/disposal.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/shared_memory.hpp"
#include "baton/os/unique_fd.hpp"
#include "baton/transport/transport.hpp"
#include "budgets.hpp"
#include "grants.hpp"
#include "hub.hpp"
#include "publisher_stamps.hpp"
#include "wake_sockets.hpp"

namespace baton::transport {

/// Deadlines and leases from this length on never end: added to a time they could overflow.
inline constexpr std::chrono::nanoseconds kEndless = kInfinite / 2;

/// When a time of a message's life ends; `lifespan_ns` is not negative. INT64_MAX: never.
constexpr std::int64_t ends_after(std::int64_t stamp_ns, std::int64_t lifespan_ns) noexcept {
  return stamp_ns > INT64_MAX - lifespan_ns ? INT64_MAX : stamp_ns + lifespan_ns;
}

using Platform = memory::StdPlatform;
using WakeWord = memory::WakeWord<Platform>;
using Ring = memory::RingLayout<Platform>;
using Layout = memory::ConnectionLayout<Platform>;

/// A writer's words that all its readers see.
struct ControlLine {
  WakeWord event;                         //  0  incremented per publish; readers sleep on it
  std::uint32_t reserved;                 //  4
  std::atomic<std::int64_t> asserted_ns;  //  8  CLOCK_MONOTONIC of the last sign of life (manual liveliness)
  std::uint8_t unused[48];                // 16
};
static_assert(sizeof(ControlLine) == 64);

inline constexpr std::size_t kEventPageBytes = 4096;
inline constexpr std::size_t kLinesPerPage = kEventPageBytes / sizeof(ControlLine);

/// One page of control lines.
struct EventPage {
  os::SharedMapping mapping;
  os::SharedFd fd;
  std::array<bool, kLinesPerPage> used{};
};

class EventPages;

/// A line in use; given back at destruction.
class EventLine {
 public:
  EventLine() = default;
  EventLine(EventLine&& other) noexcept;
  EventLine& operator=(EventLine&& other) noexcept;
  ~EventLine();
  ControlLine* line() const noexcept { return line_; }
  const os::SharedFd& fd() const noexcept { return page_->fd; }
  std::uint32_t offset() const noexcept { return index_ * static_cast<std::uint32_t>(sizeof(ControlLine)); }

 private:
  friend class EventPages;
  ControlLine* line_ = nullptr;  // in page_
  std::shared_ptr<EventPages> pages_;
  std::shared_ptr<EventPage> page_;
  std::uint32_t index_ = 0;
};

/// All event pages of this process. Thread-safe.
class EventPages : public std::enable_shared_from_this<EventPages> {
 public:
  Result<EventLine> allocate();

 private:
  friend class EventLine;
  os::Mutex mutex_;
  std::vector<std::shared_ptr<EventPage>> pages_ BATON_GUARDED_BY(mutex_);  // and their `used`
};

/// As many messages as one connection carries at most (entry_token.hpp).
inline constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 44;
static_assert(kMostMessages == std::uint64_t{1} << (64 - memory::kEntryBits));

/// How many messages are lost if so many numbers of a publisher are missing. More than a publisher can have sent are a lie, of which
/// nothing follows but that something is missing.
constexpr std::uint64_t lost_in_gap(std::uint64_t missing) noexcept { return missing < kMostMessages ? missing : 1; }

/// No count of losses grows beyond this one, however publishers lie: then no count decreases, and no sum of a few exceeds 64 bits.
inline constexpr std::uint64_t kMostLosses = std::uint64_t{1} << 60;

constexpr void add_losses(std::uint64_t& count, std::uint64_t more) noexcept {
  count += std::min(more, kMostLosses - std::min(count, kMostLosses));
}

/// The writer's end.
struct WriterConnection : os::Hot {
  WriterConnection(os::SharedMapping ring_mapping, os::SharedMapping segment_mapping, const Ring& ring_view,
                   const Layout& layout, std::uint32_t depth)
      : channel(ring_view, layout, depth), ring(std::move(ring_mapping)), segment(std::move(segment_mapping)) {
#if defined(__LP64__) && !defined(_GLIBCXX_DEBUG)  // else members have other sizes, and a push touches more lines
    static_assert(sizeof channel == 2 * memory::kCacheLineBytes - sizeof(std::uint64_t) - sizeof next);
#endif
  }

  // One line for what is read when messages come back, and one for what every message touches.
  std::uint32_t held = 0;          ///< granted
  bool refuses_when_full = false;  ///< a reliable reader that keeps all
  bool reliable = false;
  bool broken = false;          ///< corrupted: ended at the next opportunity
  bool holds_too_much = false;  ///< with `broken`: more than `held`
  memory::ChannelWriter<Platform> channel;
  WriterConnection* next = nullptr;  ///< LiveConnections

  os::SharedMapping ring, segment;
  Gid reader{};
  PeerId peer = 0;
  WakeSocketRef notify_end;          ///< of a reader that waits in poll(); empty: the reader gave none
  Party party;                       ///< the party whose share `held` uses
  std::uint32_t wished = 0;          ///< the subscription's requested QoS held
  std::size_t held_bytes = 0;        ///< at the last look at memory (writer_memory.cpp)
  bool draining = false;             ///< detached: nothing is pushed, held samples come back
  std::uint64_t first_sequence = 0;  ///< of the oldest message that it was given, or will be
  std::uint64_t handed_before = 0;   ///< by publish_to(), on all connections of the writer before this one began
  std::uint64_t number = 0;          ///< of this writer's connections, from 1
  Charge charge;                     ///< the connection's cost for this process, on the peer's account
};

/// A foreign data segment as used by one connection.
struct SegmentUse : os::Hot {
  static constexpr std::uint32_t kCopy = UINT32_MAX;  ///< index of a copy of one message; no publisher's index

  std::uint32_t index = 0;
  std::shared_ptr<memory::ForeignSegment> segment;
  std::atomic<std::uint32_t> held{0};  ///< samples that lie in it
  bool retired = false;                ///< unmapped once held is 0
  bool reported = false;               ///< a mapping failure was reported
};

/// The reader's end.
struct ReaderConnection : os::Hot {
  enum class State : std::uint8_t {
    kAttaching,  ///< ATTACH sent
    kLive,
    kOrphaned,  ///< the writer is gone; unread messages stay readable
    kEnded,     ///< nothing is read any more
  };

  // What every message touches, side by side: two cache lines.
  WakeWord* sleeping = nullptr;  ///< layout.sleeping
  std::optional<memory::ChannelReader<Platform>> channel;
  const std::uint32_t generation = os::fork_generation();
  std::atomic<std::uint32_t> references{1};
  std::atomic<State> state{State::kAttaching};
  std::atomic<bool> blocked{false};           ///< the oldest message lies in a segment that has not arrived yet
  std::atomic<std::uint32_t> outstanding{0};  ///< samples held
  std::atomic<std::uint32_t> limit{0};        ///< the most samples that may be held
  SegmentUse* last_used = nullptr;            ///< of `segments`, that of the last message; null: look there
  std::uint64_t next_sequence = 0;            ///< of the message that is expected next; 0: unknown
  /// When message_waits() was first called since the last take, negative once that was reported; 0: not called. Relaxed: it orders nothing,
  /// and a report that comes a moment too early or too late harms nobody.
  mutable std::atomic<std::int64_t> waiting_since_ns{0};
  const ControlLine* line = nullptr;

  std::weak_ptr<const os::UniqueFd> socket_given;  ///< the writer's wake socket; expired: it has none
  bool interrupted = false;                      ///< the reader has had, or may get, another connection to this writer
  std::int64_t lifespan_ns = kInfinite.count();  ///< of its messages: the shorter one of both ends
  PublisherStamps stamps;
  os::HotVector<std::unique_ptr<SegmentUse>> segments;
  const Reader::Impl* reader = nullptr;  ///< the owner, to be compared only: it may be gone

  os::SharedMapping segment, event_page, ring;
  Layout layout;
  QoS offered;
  Gid writer{};
  PeerId peer = 0;
  std::uint64_t process = 0;  ///< Participant::Impl::process_of(peer)
  /// Keeps the memory that this connection may read from being reused, also after its peer was disconnected
  /// (Hub::claim).
  std::shared_ptr<const void> claim;
  std::weak_ptr<Reader::Impl> owner;
  bool alive = true;  ///< liveliness
  Charge charge;      ///< the connection's cost for this process, on the peer's account
  // Of the writer, as the graph knew it; the rest is the reader's own.
  std::string node;
  std::int32_t pid = 0, local_pid = 0;

  SegmentUse* find_segment(std::uint32_t index) noexcept {
    if (likely(last_used != nullptr && last_used->index == index)) return last_used;
    return search_segment(index);
  }
  /// For a taken message whose number is not `next_sequence`, and its position in the queue: how many messages before it were evicted, or
  /// refused because no release entry was free.
  std::uint64_t count_lost(std::uint64_t sequence, std::uint64_t position) noexcept;
  /// Whether messages waited since the last take because the held limit was reached.
  bool held_back() const noexcept { return waiting_since_ns.load(std::memory_order_relaxed) != 0; }
  /// A message was taken: waiting has ended.
  void end_waiting() noexcept {
    if (unlikely(waiting_since_ns.load(std::memory_order_relaxed) != 0))
      waiting_since_ns.store(0, std::memory_order_relaxed);
  }
  /// The held limit is reached.
  bool full() const noexcept {
    // acquire: pairs with the release in TakenSample::release().
    return outstanding.load(std::memory_order_acquire) >= limit.load(std::memory_order_relaxed);
  }
  /// True if there is a message to take, or an error that take() must report.
  bool readable() const noexcept {
    const State now = state.load(std::memory_order_acquire);  // pairs with the release in Reader::Impl: channel is set
    if ((now != State::kLive && now != State::kOrphaned) || blocked.load(std::memory_order_relaxed)) return false;
    if (!full()) return channel->queue().ready();
    if (channel->queue().ready()) message_waits();
    return false;
  }
  /// A message waits because the held limit is reached. If this goes on for seconds without a take, the reader's owner
  /// reports it. Called by a look for messages: a wait set's, has_data(), take().
  void message_waits() const noexcept;
  void add_reference() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() noexcept {
    // acq_rel: pairs with itself; the last decrement sees the effects of all others.
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  SegmentUse* search_segment(std::uint32_t index) noexcept;
};

/// A counted pointer to a ReaderConnection.
class ConnectionRef {
 public:
  ConnectionRef() = default;
  static ConnectionRef adopt(ReaderConnection* connection) noexcept { return ConnectionRef(connection); }
  explicit ConnectionRef(ReaderConnection& connection) noexcept : connection_(&connection) {
    connection.add_reference();
  }
  ConnectionRef(const ConnectionRef& other) noexcept : connection_(other.connection_) {
    if (connection_ != nullptr) connection_->add_reference();
  }
  ConnectionRef(ConnectionRef&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  ConnectionRef& operator=(ConnectionRef other) noexcept {
    std::swap(connection_, other.connection_);
    return *this;
  }
  ~ConnectionRef() {
    if (connection_ != nullptr) connection_->drop_reference();
  }
  ReaderConnection* get() const noexcept { return connection_; }
  ReaderConnection* operator->() const noexcept { return connection_; }
  ReaderConnection& operator*() const noexcept { return *connection_; }

 private:
  explicit ConnectionRef(ReaderConnection* connection) noexcept : connection_(connection) {}
  ReaderConnection* connection_ = nullptr;
};

}  // namespace baton::transport
