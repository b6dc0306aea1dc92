// SPDX-License-Identifier: Apache-2.0
// A subscription: its connections, one per matched publisher, merged by source time.
// Thread rules: look_again() may be called with or without mutex_. Lock order: Participant::Impl::mutex_ before Reader::Impl::mutex_ before wake_mutex_ before the hub's
// locks.
// Invariants: (1) a message is delivered at most once, and the messages of one publisher in the order of their sequence
// numbers; (2) an orphaned connection stays until its last unread message is taken or evicted by newer messages; (3)
// data from a publisher is checked before use, and a failed check ends that publisher's connection alone.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "baton/os/allowance.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"
#include "connection.hpp"
#include "endpoint_context.hpp"
#include "frames.hpp"
#include "pending_events.hpp"
#include "read_positions.hpp"
#include "wake_descriptor.hpp"

namespace baton::transport {

class Reader::Impl final : public std::enable_shared_from_this<Reader::Impl> {
 public:
  Impl(std::shared_ptr<EndpointContext> context, const Participant::ReaderOptions& options, const Gid& gid);
  ~Impl();

  static constexpr std::uint32_t kMostPassedOver = 256;  // messages in one call
  /// The messages that a call may still pass over: it gives them up, has delivered them before, finds them expired or loses them. Each look
  /// that another taker or the publisher made vain counts as well. A publisher can refill its queue as fast as a call empties it.
  class Passes {
   public:
    explicit Passes(std::uint32_t most = kMostPassedOver) noexcept : left_(most) {}
    bool spent() const noexcept { return left_ == 0; }
    void count() noexcept { left_ -= left_ != 0; }

   private:
    std::uint32_t left_;
  };

  Result<TakenSample> take(Passes& passes);
  Result<TakenSample> take_from(const Gid& publisher);
  Result<TakenSample> take_after(Result<TakenSample>&& taken, Passes& passes);
  bool has_data() const;
  std::size_t unread() const;
  bool awaits_memory(const Gid& publisher) const;
  std::uint32_t matched() const;
  std::map<Gid, bool> publishers() const;
  std::vector<EndpointInfo> gone_publishers() const;
  void stop_matching() noexcept;
  void continue_after(const Impl& before);
  void expel(const Gid& publisher, const std::string& what) noexcept;
  Statuses statuses() const;
  Losses losses() const;
  std::int64_t newest_ns() const;
  std::int64_t sign_of_life_ns(const Gid& publisher) const;
  void on_event(std::function<void(Event)> callback);
  const Gid& gid() const { return gid_; }
  Result<int> pollable_fd();

  // --- wait sets ---
  /// already_exists if another wait set has it.
  Result<void> join_wait_set(const std::shared_ptr<WaitSet::Impl>& wait_set);
  /// False if it is not in this wait set.
  bool leave_wait_set(const std::shared_ptr<WaitSet::Impl>& wait_set);
  void append_connections(os::HotVector<ConnectionRef>* out) const;
  /// Publishers that have no socket to wake this reader's poll().
  std::size_t publishers_without_socket() const;
  /// The processes to whose publishers it is connected.
  void append_notifiers(std::set<Notifier>* out) const;
  /// Gives each publisher the socket of `wake` for its process, unless it was given this socket last. False if there was no socket for a
  /// publisher; true if this reader is not (any more) in `wait_set`.
  bool give_sockets(const WaitSet::Impl* wait_set, WakeDescriptor& wake);
  /// An event that no publisher notifies of: makes the waiter check again. Any thread.
  void look_again();
  /// Its waiter cannot wait for lack of memory or descriptors.
  void report_lack(const Error& lack) noexcept;

  // --- the participant's side ---
  const Participant::ReaderOptions& options() const noexcept { return options_; }
  bool forked() const noexcept { return generation_ != os::fork_generation(); }
  AnnounceFrame announcement() const;
  /// False: the pair matches no more. If it throws std::bad_alloc, there is no connection. REQUIRES: !is_connected().
  Result<bool> begin_attach(const EndpointInfo& writer, Charge charge = {});
  /// The cost of a connection for this process.
  std::size_t connection_bytes() const noexcept;
  /// Errors are the publisher's fault.
  Result<void> attached(PeerId peer, const AttachedFrame& frame, const std::vector<os::ReceivedFd>& fds,
                        const std::vector<std::pair<std::uint32_t, std::shared_ptr<memory::ForeignSegment>>>& segments);
  /// True from ATTACH until the end of the connection.
  bool is_connected(const Gid& writer) const;
  /// True while ATTACH is sent and not answered.
  bool is_attaching(const Gid& writer) const;
  /// REFUSED, or CLOSED by the writer. False if there is no such connection. `tries_again`: this reader, if it still matches.
  bool ended_by_writer(PeerId peer, const Gid& writer, bool tries_again);
  /// A writer of seldom messages matches, and calls this reader when there is one. No effect on a pair that is connected. `charge`: of
  /// kRestingBytes; it takes the place of the one that a resting pair has.
  void rest(PeerId peer, const Gid& writer, Charge charge);
  bool rests(const Gid& writer) const;
  /// CALL came: until the connection is there, the writer keeps messages for this reader.
  void called(const Gid& writer);
  /// REST: as ended_by_writer(), but the pair still matches.
  bool rested_by_writer(PeerId peer, const Gid& writer);
  void add_segment(const Gid& writer, std::uint32_t index, const std::shared_ptr<memory::ForeignSegment>& segment);
  void retire_segment(const Gid& writer, std::uint32_t index);
  /// `for_good`: the writer was withdrawn; else its process was disconnected, and both may come back.
  void writer_gone(PeerId peer, const Gid& writer, bool for_good) noexcept;
  /// The writer matches and does not serve this reader, for now or for ever.
  void refused(const Gid& writer, const std::string& text);
  /// Without `text` it is only counted.
  void report_incompatible(Event event, const std::string* text, Policy policy = Policy::kNone);
  void explain_incompatible(const std::string& text);
  void close();
  void start_timers();
  /// Messages of this connection have waited for seconds because of the held limit: counts and reports it, on the
  /// background thread. Takes the hub's lock only.
  void report_held_limit_later(const ReaderConnection& connection);
  /// The last sample of this orphan was released: if nothing is unread, it ends on the background thread, also if no take follows. Takes
  /// the hub's lock only.
  void drop_useless_later(const ReaderConnection& connection) noexcept;

 private:
  /// kSpent: the call may pass over no further message, and a wait must come back at once.
  enum class Pick : std::uint8_t { kNone, kFound, kFailed, kSpent };
  /// A message in its queue, and later the same message taken.
  struct Candidate {
    ReaderConnection* connection;
    SegmentUse* segment;
    memory::QueuedMessage message;
  };
  /// A connection while messages are given up: a heap.
  struct Merging {
    std::int64_t order_ns = 0;  ///< of its oldest message
    ReaderConnection* connection = nullptr;
  };
  /// A writer that matches and is not live: it calls.
  struct Resting {
    PeerId peer = 0;
    bool called = false;
    Charge charge;
  };
  static constexpr int kMostLost = 64;                 // messages in one take_next(), each of which takes long
  static constexpr std::uint32_t kFewestDropped = 64;  // messages in one drop_useless()
  static constexpr std::uint32_t kMostDropped = 1024;  // the same, of a reader with a long queue

  Error forked_error() const;
  Result<TakenSample> take_any(const Gid* only, Passes& passes, const Candidate* begun = nullptr)
      BATON_REQUIRES(mutex_);
  Pick choose(Candidate* found, const Gid* only, Passes& passes, Result<TakenSample>* out) BATON_REQUIRES(mutex_);
  void count_taken(ReaderConnection& connection, const memory::QueuedMessage& message) BATON_REQUIRES(mutex_);
  bool unwanted(ReaderConnection& connection, const memory::QueuedMessage& message) BATON_REQUIRES(mutex_);
  const memory::ChunkHeader* checked(const Candidate& found, std::uint32_t* size_bytes) const BATON_REQUIRES(mutex_);
  void accept_closely(const Candidate& found, Result<TakenSample>* out) BATON_REQUIRES(mutex_);
  static Result<TakenSample> sample_of(const Candidate& found, const memory::ChunkHeader* header,
                                       std::uint32_t size_bytes) noexcept;
  const memory::ChunkHeader* look_closer(ReaderConnection& connection, SegmentUse** segment,
                                         const memory::QueuedMessage& message, std::uint32_t* size_bytes,
                                         Result<TakenSample>* out) BATON_REQUIRES(mutex_);
  SegmentUse* map_or_copy(ReaderConnection& connection, SegmentUse& segment, const memory::QueuedMessage& message,
                          std::uint64_t* offset, Result<TakenSample>* out) BATON_REQUIRES(mutex_);
  Pick pick(ReaderConnection** best, memory::QueuedMessage* message, std::uint64_t* unread, std::optional<Error>* error,
            Passes& passes, bool holdable, const Gid* only = nullptr) BATON_REQUIRES(mutex_);
  void give_back(ReaderConnection& connection, const memory::QueuedMessage& message) noexcept BATON_REQUIRES(mutex_);
  /// If there is no memory to end the connection, it stays until the next check.
  /// `least`: so many messages wait in its queue, whatever its head says.
  Error expel(ReaderConnection& connection, Errc code, const std::string& what, std::uint64_t least = 0) noexcept
      BATON_REQUIRES(mutex_);
  Error refuse(ReaderConnection& connection, Errc code, const std::string& what) noexcept BATON_REQUIRES(mutex_);
  void lose(ReaderConnection& connection, const memory::QueuedMessage& message, const Error& why,
            Result<TakenSample>* out) BATON_REQUIRES(mutex_);
  void report_loss(const Error& lost) noexcept BATON_EXCLUDES(mutex_);
  /// The connection ends when the result is destroyed, if it has no other user.
  ConnectionRef forget(ReaderConnection& connection) noexcept BATON_REQUIRES(mutex_);
  static bool oldest_of(ReaderConnection& connection, memory::QueuedMessage* oldest) noexcept;
  bool merged_away(std::uint64_t unread, bool holdable, Passes& passes) noexcept BATON_REQUIRES(mutex_);
  void drop_useless() noexcept BATON_REQUIRES(mutex_);
  void drop_retired(ReaderConnection& connection) BATON_REQUIRES(mutex_);
  bool any_readable() const BATON_REQUIRES(mutex_);
  bool rearm() BATON_REQUIRES(mutex_);
  void disarm() BATON_REQUIRES(mutex_);
  void find_usual() noexcept BATON_REQUIRES(mutex_);
  bool give_sockets(WakeDescriptor& wake) BATON_REQUIRES(mutex_);
  void give_own_sockets() BATON_REQUIRES(mutex_);
  void forget_socket(PeerId peer) noexcept BATON_REQUIRES(mutex_);
  void connections_changed() BATON_REQUIRES(mutex_);
  ReaderConnection* find(const Gid& writer) const BATON_REQUIRES(mutex_);
  bool may_connect(const Gid& writer) const BATON_REQUIRES(mutex_) {
    return !closed_ && (matches_ || resting_.count(writer) != 0) && find(writer) == nullptr;
  }
  ConnectionRef orphan(ReaderConnection& connection, bool rests = false) noexcept BATON_REQUIRES(mutex_);
  void rests_no_more(PeerId peer, const Gid& writer) noexcept BATON_REQUIRES(mutex_);
  std::vector<ReadPositions::Position> positions() const BATON_EXCLUDES(mutex_);
  void notify(Event event) noexcept BATON_REQUIRES(mutex_);
  void check_deadline();
  void report_held_limit(const Gid& writer);
  void check_liveliness();
  std::int64_t last_arrival_ns() const BATON_REQUIRES(mutex_);
  std::int64_t last_arrival_ns(const ReaderConnection& connection) const BATON_REQUIRES(mutex_);
  std::int64_t newest_stamp_ns(const ReaderConnection& connection) const BATON_REQUIRES(mutex_);
  std::int64_t corrected_order_ns(ReaderConnection& connection, std::int64_t stamp_ns, std::uint64_t position)
      BATON_REQUIRES(mutex_);
  std::int64_t order_ns(ReaderConnection& connection, const memory::QueuedMessage& message) BATON_REQUIRES(mutex_);
  std::int64_t turn_ns(ReaderConnection& connection, std::int64_t order_ns, std::uint64_t position)
      BATON_REQUIRES(mutex_);
  std::int64_t not_before_known(ReaderConnection& connection, std::int64_t order_ns, std::uint64_t position) const
      BATON_REQUIRES(mutex_);

  const std::shared_ptr<EndpointContext> context_;
  const Gid gid_;
  // What every take() touches, on one cache line, since 48 bytes and the counts of make_hot_shared() come before; the three after
  // generation_ are of options_.
  const std::uint32_t generation_;
  const std::uint32_t skeleton_bytes_;
  const decltype(Participant::ReaderOptions::validate) validate_;
  const void* const validate_context_;
  /// The only connection, if it is live and its messages need no more than the usual look, and the reader has not announced its sleep:
  /// find_usual(). Else null.
  ReaderConnection* usual_ BATON_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<WakeDescriptor> wake_;  // if polled; set once, also with wake_mutex_, which is enough for notify()
  mutable os::PiMutex mutex_;

  bool closed_ BATON_GUARDED_BY(mutex_) = false;
  bool matches_ BATON_GUARDED_BY(mutex_) = true;
  bool armed_ BATON_GUARDED_BY(mutex_) = false;  // if polled
  os::HotVector<ConnectionRef> connections_ BATON_GUARDED_BY(mutex_);
  const Participant::ReaderOptions options_;
  std::map<Gid, ReaderConnection*> by_writer_ BATON_GUARDED_BY(mutex_);  // connections that are attaching or live
  Losses losses_ BATON_GUARDED_BY(mutex_);
  ReadPositions interrupted_ BATON_GUARDED_BY(mutex_);
  os::HotVector<Merging> merging_ BATON_GUARDED_BY(mutex_);  // of merged_away() alone; has room for all connections_
  std::map<Gid, Resting> resting_ BATON_GUARDED_BY(mutex_);
  std::set<Gid> refused_by_ BATON_GUARDED_BY(mutex_);
  Statuses statuses_ BATON_GUARDED_BY(mutex_);
  PendingEvents pending_ BATON_GUARDED_BY(mutex_);
  bool gives_sockets_again_ BATON_GUARDED_BY(mutex_) = false;  // a retry is scheduled
  bool lack_of_sockets_reported_ BATON_GUARDED_BY(mutex_) = false;
  bool held_limit_reported_ BATON_GUARDED_BY(mutex_) = false;
  std::int64_t seen_now_ns_ BATON_GUARDED_BY(mutex_) = 0;  // a time that has passed, CLOCK_MONOTONIC
  os::Allowance loss_lines_;
  std::int64_t deadline_due_ns_ BATON_GUARDED_BY(mutex_) = 0, last_arrival_ns_ BATON_GUARDED_BY(mutex_) = 0;

  mutable os::Mutex wake_mutex_;
  std::shared_ptr<WaitSet::Impl> wait_set_ BATON_GUARDED_BY(wake_mutex_);
};

}  // namespace baton::transport
