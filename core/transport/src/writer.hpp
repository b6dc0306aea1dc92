// SPDX-License-Identifier: Apache-2.0
// A publisher: its pool, its connections, its replay history.
// Thread rules: no lock is held while a user's callback runs.
// Lock order: Participant::Impl::mutex_ before Writer::Impl::mutex_ before the hub's locks.
// Invariants: (1) a message is pushed to every live connection or, on an error, to none; (2) a data segment's
// descriptor is sent to a peer before the first handle in the segment is pushed, or later if no descriptor is free; (3)
// publish makes no system call unless a reader sleeps.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "baton/os/allowance.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/pi_mutex.hpp"
#include "baton/transport/transport.hpp"
#include "connection.hpp"
#include "endpoint_context.hpp"
#include "frames.hpp"
#include "grants.hpp"
#include "held_memory.hpp"
#include "kept_messages.hpp"
#include "live_connections.hpp"
#include "pending_events.hpp"
#include "resting.hpp"

namespace baton::transport {

class Writer::Impl final : public Writer, public std::enable_shared_from_this<Writer::Impl>, public os::Hot {
 public:
  static Result<std::shared_ptr<Writer::Impl>> create(std::shared_ptr<EndpointContext> context,
                                                      const Participant::WriterOptions& options, const Gid& gid)
      BATON_UNCHECKED_LOCKS;  // no other thread knows the writer yet
  ~Impl();
  /// The handle of the program, once. The writer is open until the handle and all loans' shares are gone.
  std::shared_ptr<Writer> open();
  void hold() noexcept {
    holders_.fetch_add(1, std::memory_order_relaxed);  // by the holder of another share: orders nothing
  }
  void give_up() noexcept;

  Result<memory::Chunk> loan(std::size_t message_bytes, bool growing);
  void abandon(const memory::Chunk& chunk) noexcept;
  /// What publish() does. `info`: null for an ordinary message.
  Result<std::uint64_t> deliver(const memory::Chunk& chunk, const PublishInfo* info);
  Result<void> keep(const memory::Chunk& chunk);
  Result<std::uint64_t> publish_to(const memory::Chunk& kept, const Gid& reader);
  Unread unread(const Gid& reader);
  void drop(const memory::Chunk& kept) noexcept;
  std::uint32_t matched() const;
  bool hand_newest_to(const Gid& reader);
  std::vector<Gid> matched_readers() const { return readers_of(UINT64_MAX); }
  std::vector<Gid> readers_of(std::uint64_t sequence) const;
  Statuses statuses() const;
  void on_event(std::function<void(Event)> callback);
  void assert_liveliness();
  Result<void> wait_for_all_acked(std::chrono::nanoseconds timeout);
  Result<void> wait_for_queues(std::chrono::nanoseconds timeout);
  const Gid& gid() const { return gid_; }
  memory::Pool::Account memory_account() const;
  void trim();
  Result<memory::Chunk> loan_expecting(std::size_t expected_bytes);
  void raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes);

  // --- the participant's side ---
  const Participant::WriterOptions& options() const noexcept { return options_; }
  AnnounceFrame announcement() const;
  /// How many of this writer's messages each reader has now.
  std::vector<Holding> holdings();
  /// A reader requests a connection. Sends ATTACHED or REFUSED. An error means that the peer broke the protocol. If it
  /// throws std::bad_alloc, there is no connection.
  Result<void> attach(PeerId peer, const Party& party, const QoS& requested, const AttachFrame& frame,
                      const os::UniqueFd& segment, Charge charge = {});
  void refuse_attach(PeerId peer, const Party& party, const QoS& requested, const AttachFrame& frame,
                     const Error& error);
  /// The cost of a connection to such a reader for this process.
  static std::size_t connection_bytes(const QoS& requested) noexcept;
  void detach(PeerId peer, const Gid& reader);
  /// A reader matches this writer of seldom messages: it rests until there is one for it.
  void rest(PeerId peer, const Gid& reader, const QoS& requested, Charge charge);
  void set_wake_socket(PeerId peer, const Gid& reader, WakeSocketRef notify_end);
  /// Ends one connection for lack of a resource: the reader is informed and tries again.
  void end_connection(PeerId peer, const Gid& reader, const Error& reason);
  /// Frames to and from the peer have ended. Its unread messages are given up; samples that it holds stay until it
  /// releases them.
  void peer_disconnected(PeerId peer);
  /// After peer_disconnected(): whether the peer still holds messages.
  bool is_held_by(PeerId peer);
  /// Whether a reader of the peer is connected.
  bool serves(PeerId peer);
  /// After peer_disconnected(): the peer's process is dead or holds nothing; all its slots come back.
  void peer_gone(PeerId peer);
  void reader_gone(PeerId peer, const Gid& reader);
  /// Without `text` the event is only counted.
  void report_incompatible(Event event, const std::string* text, Policy policy = Policy::kNone);
  void explain_incompatible(const std::string& text);
  /// Called after the last user handle is gone.
  void close();
  void start_timers();

 private:
  /// A reader that matches and was refused. It tries again, unless its wish never fits.
  struct Refusal {
    enum class Why : std::uint8_t {
      kGrant,  ///< answer()
      kHeld,   ///< its party holds too much memory now
      kOther,  ///< this process's memory, descriptors or the budget of the reader's process was short
    };
    Errc code;
    Why why;
    Party party;
    std::uint32_t wished;
  };

  Impl(std::shared_ptr<EndpointContext> context, const Participant::WriterOptions& options, const Gid& gid);
  bool forked() const noexcept { return generation_ != os::fork_generation(); }
  Error forked_error() const;
  /// A function that releases a message in the pool. For channels, which do not keep it.
  auto release() const BATON_REQUIRES(mutex_) {
    return [this](memory::Handle handle) BATON_UNCHECKED_LOCKS { pool_->release(handle); };
  }
  bool evict(memory::Handle oldest) BATON_REQUIRES(mutex_);
  void collect() BATON_REQUIRES(mutex_);
  BATON_COLD void collect_drained() BATON_REQUIRES(mutex_);
  void send_segment(std::uint32_t index, int fd, std::uint64_t size) BATON_REQUIRES(mutex_);
  void send_retired(std::uint32_t index) noexcept BATON_REQUIRES(mutex_);
  void owe_segment(PeerId peer, std::uint32_t index) BATON_REQUIRES(mutex_);
  void send_owed();
  void send_owed(const std::vector<std::pair<PeerId, std::uint32_t>>& owed) BATON_REQUIRES(mutex_);
  Result<memory::Chunk> loan_locked(std::size_t message_bytes, bool growing);
  BATON_COLD void deliver_frames_to_self() BATON_REQUIRES(mutex_);
  Result<memory::Chunk> loan_in_shortage(std::size_t message_bytes, bool growing, Error error) BATON_REQUIRES(mutex_);
  bool give_up_oldest_unread() BATON_REQUIRES(mutex_);
  Granted granted(const Party& party, std::uint32_t above = 0) const BATON_REQUIRES(mutex_);
  /// How a wish is answered, by the slots or by the sizes of the messages, whichever allows less.
  struct Answer {
    Shares shares;
    Granted before;
    std::uint64_t message_bytes;  ///< what a slot costs of memory_limit_bytes; 0: the slots count
    Grant grant;
  };
  Answer answer(const Party& party, std::uint32_t wish) const BATON_REQUIRES(mutex_);
  std::string explain_grant(const Party& party, std::uint32_t wish) const BATON_REQUIRES(mutex_);
  // writer_memory.cpp
  bool guards_memory() const noexcept;
  std::uint64_t units(std::size_t bytes) const noexcept BATON_REQUIRES(mutex_) {
    return (bytes + unit_bytes_ - 1) / unit_bytes_;
  }
  BATON_COLD void larger_message(std::size_t bytes) noexcept BATON_REQUIRES(mutex_);
  BATON_COLD void look_at_memory(bool short_of_it) BATON_REQUIRES(mutex_);
  void divide_memory(const memory::Pool::Account& now, bool same) BATON_REQUIRES(mutex_);
  void measure_holders() BATON_REQUIRES(mutex_);
  std::size_t left_outside() BATON_REQUIRES(mutex_);
  Granted held_by(const Party& party) const noexcept BATON_REQUIRES(mutex_);
  void give_up_unread_beyond(std::uint64_t allowed, std::uint64_t unread) BATON_REQUIRES(mutex_);
  void close_holders(const Party& party, std::uint64_t held) BATON_REQUIRES(mutex_);
  std::string explain_memory(const Granted& held) const BATON_REQUIRES(mutex_);
  bool memory_for(const Party& party) BATON_REQUIRES(mutex_);
  BATON_COLD void dropped(const char* why) noexcept BATON_REQUIRES(mutex_);
  bool overheld(WriterConnection& connection) BATON_REQUIRES(mutex_);
  memory::PushStatus push(WriterConnection& connection, const KeptMessage& message) BATON_REQUIRES(mutex_);
  memory::PushStatus push_referenced(WriterConnection& connection, const KeptMessage& message) BATON_REQUIRES(mutex_);
  void remember(const KeptMessage& message) BATON_REQUIRES(mutex_);
  WriterConnection* find(const Gid& reader) const BATON_REQUIRES(mutex_);
  WriterConnection* find(PeerId peer, const Gid& reader) const BATON_REQUIRES(mutex_);
  Error not_connected() const;
  Error published_before(std::uint64_t sequence) const BATON_REQUIRES(mutex_);
  /// What becomes of one message.
  struct Delivery {
    std::uint64_t sequence;
    WriterConnection* only;    ///< the one reader that gets it; null: every reader
    std::uint32_t references;  ///< one for each push, and those that stay with this publisher; at least one
    bool wanted;               ///< false: nobody gets it, and the one reference is given up
    bool remembered;           ///< for late readers
    bool asserts;              ///< it is a sign of life
    bool skips_full;           ///< readers with a full queue do not get it
    bool timed;                ///< there is a deadline
  };
  Result<std::uint64_t> deliver_specially(const memory::Chunk& chunk, const PublishInfo* info) BATON_REQUIRES(mutex_);
  std::uint64_t carry_out(const memory::Chunk& chunk, const Delivery& delivery, const PublishInfo* info)
      BATON_REQUIRES(mutex_);
  void not_pushed(WriterConnection& connection, memory::Handle handle, memory::PushStatus status)
      BATON_REQUIRES(mutex_);
  static void add(memory::ChunkHeader& header, const PublishInfo& info);
  bool room_for(const WriterConnection* only) BATON_REQUIRES(mutex_);
  static std::int64_t complete(memory::ChunkHeader& header, std::uint64_t sequence, const PublishInfo* info);
  void replay(WriterConnection& connection, std::size_t count) BATON_REQUIRES(mutex_);
  BATON_COLD void expel_broken() BATON_REQUIRES(mutex_);
  void wake_readers() BATON_REQUIRES(mutex_);
  void drain(const WriterConnection& connection) BATON_REQUIRES(mutex_);
  std::unique_ptr<WriterConnection> remove_live(const WriterConnection& connection) BATON_REQUIRES(mutex_);
  void notify(Event event) noexcept BATON_REQUIRES(mutex_);
  void refuse(PeerId peer, const AttachFrame& frame, const Refusal& refusal, const std::string& text)
      BATON_REQUIRES(mutex_);
  void introduce(WriterConnection& added, const QoS& requested, const RestingReaders::Entry* rested, bool first_of_peer,
                 std::size_t ring_bytes, const os::SharedFd& ring) BATON_REQUIRES(mutex_);
  void check_deadline();
  void check_liveliness();
  void forget_history() noexcept BATON_REQUIRES(mutex_);
  void call_resting() noexcept BATON_REQUIRES(mutex_);
  void rest_later(std::chrono::nanoseconds pause) BATON_REQUIRES(mutex_);
  void rest_idle(std::uint64_t last, std::chrono::nanoseconds pause);
  bool rest(WriterConnection& connection) BATON_REQUIRES(mutex_);

  const Gid gid_;
  std::int64_t last_publish_ns_ BATON_GUARDED_BY(mutex_) = 0;  // where there is a deadline
  // What every message touches: the second line of the object, which ends with the first word of mutex_.
  [[no_unique_address]] LiveConnections live_ BATON_GUARDED_BY(mutex_);  // its last bytes are the next word's
  std::uint32_t loans_left_ BATON_GUARDED_BY(mutex_) = 0;                // until look_at_memory()
  std::atomic<std::uint32_t> holders_{1};                                // that keep the writer open
  const std::uint32_t generation_;
  const std::uint32_t skeleton_bytes_;
  const bool special_;                             // deliver_specially() is for every message
  bool expel_ BATON_GUARDED_BY(mutex_) = false;    // a connection was found broken
  bool frames_ BATON_GUARDED_BY(mutex_) = false;   // frames_to_self_ has some
  bool drained_ BATON_GUARDED_BY(mutex_) = false;  // draining_ has some
  std::unique_ptr<memory::Pool> pool_ BATON_GUARDED_BY(mutex_);
  std::uint64_t last_sequence_ BATON_GUARDED_BY(mutex_) = 0;  // of publish()
  ControlLine* control_ = nullptr;                            // of line_
  mutable os::PiMutex mutex_;

  const bool keep_all_;  // nothing is published while a queue of a reliable keep_all reader is full
  bool closed_ BATON_GUARDED_BY(mutex_) = false;
  std::shared_ptr<Impl> self_;  // while it is open: of its first and its last holder
  const std::shared_ptr<EndpointContext> context_;
  const Participant::WriterOptions options_;
  EventLine line_;
  std::vector<Frame> frames_to_self_;  // made during a loan: handled when mutex_ is free, before the loan returns
  KeptMessages history_ BATON_GUARDED_BY(mutex_);  // transient local, or while a reader that rests is called
  const Shares shares_;
  std::vector<std::unique_ptr<WriterConnection>> draining_;
  std::vector<std::pair<PeerId, std::uint32_t>> owed_segments_
      BATON_GUARDED_BY(mutex_);  // whose descriptors could not be sent, because no descriptor was free
  std::map<std::pair<PeerId, Gid>, Refusal> refused_ BATON_GUARDED_BY(mutex_);
  RestingReaders resting_ BATON_GUARDED_BY(mutex_);
  bool rests_later_ BATON_GUARDED_BY(mutex_) = false;     // rest_idle() is going to run
  std::uint64_t last_kept_ BATON_GUARDED_BY(mutex_) = 0;  // of keep()
  std::uint64_t last_connection_ BATON_GUARDED_BY(mutex_) = 0;
  std::uint64_t handed_over_ BATON_GUARDED_BY(mutex_) = 0;  // by publish_to(), on all connections
  Statuses statuses_ BATON_GUARDED_BY(mutex_);
  PendingEvents pending_ BATON_GUARDED_BY(mutex_);
  std::uint32_t shown_bytes_ BATON_GUARDED_BY(mutex_) = 0;  // of the largest message so far
  // What look_at_memory() saw: writer_memory.cpp.
  HeldMemory held_ BATON_GUARDED_BY(mutex_);
  std::size_t unit_bytes_ BATON_GUARDED_BY(mutex_) = 1;  // memory of the largest message so far, or a little less
  Shares memory_ BATON_GUARDED_BY(mutex_);               // in such units; none yet: slots is 0
  std::size_t seen_backed_ BATON_GUARDED_BY(mutex_) = SIZE_MAX, seen_outside_ BATON_GUARDED_BY(mutex_) = SIZE_MAX;
  os::Allowance drop_lines_ BATON_GUARDED_BY(mutex_);
  std::int64_t deadline_due_ns_ BATON_GUARDED_BY(mutex_) = 0;
  std::int64_t lease_due_ns_ BATON_GUARDED_BY(mutex_) = 0;
  bool lease_lost_ BATON_GUARDED_BY(mutex_) = false;
};

inline Writer::Impl& Writer::impl() noexcept { return static_cast<Impl&>(*this); }
inline const Writer::Impl& Writer::impl() const noexcept { return static_cast<const Impl&>(*this); }

}  // namespace baton::transport
