// SPDX-License-Identifier: Apache-2.0
// Endpoints that move chunks of any type between processes: the whole interface on which node/, python/ and ros2/ are
// built. Untyped: a message is a chunk plus a TypeInfo.
// Thread rules: Participant, Writer, Reader, WaitSet, GuardCondition are thread-safe unless a line says otherwise; a
// TakenSample may be released from any thread. After fork() every call on an object of the parent returns Errc::forked,
// and releases are no-ops.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baton/memory/pool.hpp"
#include "baton/os/hot_path.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/gid.hpp"
#include "baton/transport/qos.hpp"

namespace baton::transport {

/// The hash that ROS 2 gives a type (REP 2011, RIHS01). Baton passes the hash on and compares its own hash only.
struct RosTypeHash {
  std::uint8_t version = 0;  ///< 0: none, then `value` is zero; 1: RIHS01
  std::array<std::uint8_t, 32> value{};

  bool operator==(const RosTypeHash& other) const noexcept { return version == other.version && value == other.value; }
  bool operator<(const RosTypeHash& other) const noexcept {
    return version != other.version ? version < other.version : value < other.value;
  }
};

/// The type information that the handshake compares. The other side requests `definition` only when hashes differ, to
/// print the difference.
struct TypeInfo {
  std::string name;  ///< "sensor_msgs/Image"
  std::array<std::uint8_t, 16> hash{};
  std::string definition;
  std::uint32_t skeleton_bytes = 0;
  bool fixed_size = false;  ///< the skeleton is the whole message (no strings, no sequences)
  RosTypeHash ros_hash{};   ///< announced with each endpoint; none for a type that does not come from ROS 2
};

struct ParticipantOptions {
  int domain = -1;                                       ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;                         ///< empty: BATON_RUNTIME_DIR, else the per-user default
  std::function<void(const Diagnostic&)> on_diagnostic;  ///< empty: dropped (the runtime never prints)
  /// `on_diagnostic` is called while the owner lives; null: while the participant lives. Of several callbacks with one
  /// owner only the first is kept.
  std::shared_ptr<const void> diagnostic_owner;
};

struct EndpointInfo {
  Gid gid{};
  bool is_writer = false;
  std::string topic, type_name, node;
  std::array<std::uint8_t, 16> type_hash{};
  QoS qos;
  std::int32_t pid = 0;  ///< for people: the number that a process not visible in this PID namespace states by itself
  std::int32_t local_pid = 0;  ///< for system calls: 0 if the process is not visible here
  /// The connection over which this process knows the endpoint, 0 for its own. A process that was disconnected and has
  /// come back has another number.
  std::uint64_t connection = 0;
  RosTypeHash ros_type_hash{};  ///< as its process announces it
};

/// A topic with the type of some of its publishers, or of some of its subscriptions.
struct TopicInfo {
  std::string topic, type_name;
  bool is_writer = false;
};

struct NodeInfo {
  std::string name;
  std::string enclave;   ///< of ROS 2; empty: the process announces none
  std::int32_t pid = 0;  ///< as EndpointInfo::pid
};

/// How many of one publisher's messages one subscription has, and how many it may have.
struct Holding {
  enum class Standing : std::uint8_t {
    kConnected,
    kLeft,     ///< the subscription is gone, but its process still holds samples
    kRefused,  ///< it matches and is not connected: see `reason`
  };
  struct HeldChunk {
    memory::Handle handle = 0;
    std::uint64_t sequence = 0;
    std::uint32_t size_bytes = 0;
  };
  Gid writer{}, reader{};
  std::uint32_t unread = 0;       ///< in its queue
  std::uint32_t held = 0;         ///< taken and still in use
  std::uint64_t held_bytes = 0;   ///< the messages of `held`, all of them
  std::vector<HeldChunk> chunks;  ///< the oldest kMostChunks of the held chunks
  Standing standing = Standing::kConnected;
  std::uint32_t wished = 0;   ///< its requested QoS::held
  std::uint32_t granted = 0;  ///< granted of `wished`; docs/format/qos.md
  std::string reason;         ///< printable ASCII, from the publisher: why it was refused or got less; else empty
  // Of the publisher; the same in each of its rows.
  std::uint32_t slot_count = 0;  ///< messages that may be alive at the same time
  std::uint32_t shared = 0;      ///< of `slot_count`: the most that all subscriptions together may hold
  std::uint32_t promised = 0;    ///< of `shared`: granted, or held by subscriptions that left
  static constexpr std::size_t kMostChunks = 8;
};

/// Messages that a subscription did not get, by reason. No count decreases; each stays at 2^60. docs/format/error-codes.md names the errors
/// behind `limit`, `memory` and `malformed`.
struct Losses {
  std::uint64_t overflow = 0;     ///< newer messages took their place in the queue (KEEP_LAST)
  std::uint64_t held = 0;         ///< the same, while the subscription held as many samples as QoS::held allows
  std::uint64_t limit = 0;        ///< a limit of this process: what it maps and copies of one publisher's process
  std::uint64_t memory = 0;       ///< this process had no memory, memory area or descriptor left
  std::uint64_t malformed = 0;    ///< failed a check, or waited behind such a message; that connection ended
  std::uint64_t interrupted = 0;  ///< published, or given up unread, while the processes were disconnected
  std::uint64_t lifespan = 0;     ///< expired before the take; not lost, as in DDS
  /// Delivered, and not lost: the publisher's stamp lay in the future, and was corrected.
  std::uint64_t stamp = 0;
  std::uint64_t total() const noexcept { return overflow + held + limit + memory + malformed + interrupted; }
  bool any() const noexcept { return (total() | lifespan | stamp) != 0; }
};

/// The answers of a domain's processes.
struct Report {
  std::vector<Holding> holdings;
  std::map<Gid, Losses> losses;  ///< by subscription; one that lost nothing has no entry
};

/// Slots of a service's responses, if the program gives no number: 64 responses for about a thousand clients. A slot that is not used
/// costs nothing.
inline constexpr std::uint32_t kResponseSlots = 65536;

class GuardCondition;
class Writer;
class Reader;
struct ReaderConnection;  // private to transport
struct SegmentUse;

/// This process in one domain: its socket, its one background thread, its view of the graph.
class Participant : public std::enable_shared_from_this<Participant> {
 public:
  /// One per (process, domain, directory): returns the existing one if it is alive.
  static Result<std::shared_ptr<Participant>> join(const ParticipantOptions& options);
  ~Participant();
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  /// `gid` of both options: an endpoint id that another middleware has already given, unique in the domain; zero: the
  /// participant makes one. Error already_exists if a known endpoint has this id. An id may be used again once its
  /// endpoint is gone; the sequence numbers of the new endpoint begin at 1.
  struct WriterOptions {
    std::string topic, node;
    TypeInfo type;
    QoS qos;
    memory::PoolOptions pool;
    Gid gid{};
    /// The last byte of the id that the participant makes: tells apart the parts of a program that share the participant.
    std::uint8_t part = 0;
    /// Stands for a publisher of another machine: every publish() is given PublishInfo::origin.
    bool relayed = false;
    /// Grants part of a great wish to hold samples, where QoS::held is otherwise granted in full or refused: for responses of a
    /// service, whose clients all wish for much and seldom use it (docs/format/qos.md).
    bool grants_in_part = false;
    /// With keep_all: a subscription whose queue is full does not get the message, and publish() fails with queue_full only if
    /// no subscription has room. For requests of a service: one server that does not read must not stop the others.
    bool skips_full = false;
    /// Its messages are seldom, and its subscriptions many: a subscription matches without a connection, gets one when a message is
    /// published, and loses it when nothing was published for seconds. The first message after a pause comes later. None is lost by
    /// that, unless the writer ends before it lies in the queues: wait_for_queues().
    /// REQUIRES: keep_last, automatic liveliness, no deadline; else create_writer() fails with invalid_argument. publish_to() and
    /// PublishInfo::only_reader reach a subscription only while it has a connection.
    bool seldom = false;
  };
  struct ReaderOptions {
    std::string topic, node;
    TypeInfo type;
    QoS qos;
    /// Checks a chunk's content once, at take; false ends that publisher's connection. If `why` is not null, it gets the reason. Null:
    /// any bytes are accepted.
    bool (*validate)(const void* context, const std::byte* message, std::uint32_t size_bytes, Error* why) = nullptr;
    std::shared_ptr<const void> validate_context;
    Gid gid{};
    std::uint8_t part = 0;  ///< as in WriterOptions
    /// Does not connect to this participant's relayed publishers (WriterOptions::relayed): for a process that relays in both directions.
    bool not_relayed = false;
    /// Connects to a publisher of seldom messages before it publishes (WriterOptions::seldom). So publishers() says when the publisher knows
    /// this reader: for a caller that replaces another reader by it.
    bool connects_at_once = false;
  };
  /// create_writer(), create_reader() and join() leave nothing behind after out_of_memory: an announcement that was
  /// sent is withdrawn.
  Result<std::shared_ptr<Writer>> create_writer(const WriterOptions& options);
  Result<std::shared_ptr<Reader>> create_reader(const ReaderOptions& options);

  /// Names and enclaves have at most 1024 bytes; longer ones are cut. Nodes of one name and enclave are counted.
  void add_node(const std::string& name, const std::string& enclave = {});
  void remove_node(const std::string& name, const std::string& enclave = {});

  // Graph queries: the endpoints known now, own ones included. Endpoints that come or go during the query may be
  // missing.
  std::vector<EndpointInfo> endpoints() const;
  std::vector<EndpointInfo> endpoints_of(const std::string& topic) const;  ///< those of one topic
  /// Each topic once for each of its types and each end, however many endpoints it has. `nodes`: only of endpoints of these nodes; empty: of all.
  /// `wanted`: only topics for whose names it returns true; empty: all. It must not call the participant.
  std::vector<TopicInfo> topics(const std::vector<std::string>& nodes = {},
                                const std::function<bool(const std::string& topic)>& wanted = {}) const;
  /// The names of the nodes that have endpoints, each once: also of nodes that no process announces, as the link's of other hosts.
  std::vector<std::string> nodes_of_endpoints() const;
  std::vector<NodeInfo> nodes() const;
  /// Number of processes in the domain of which nothing is known yet: the handshake is running, or the process is
  /// stopped, dead, or another user's.
  std::size_t unmet_count() const;
  /// Those of them that have accepted a connection and not answered, by the pid that the kernel gives; without those that
  /// this process's PID namespace does not show.
  std::vector<std::int32_t> unmet_pids() const;
  std::uint64_t graph_version() const;  ///< changes with the graph, and with matches and refusals
  /// Waits until graph_version() != seen. Error timed_out after `timeout`.
  Result<std::uint64_t> wait_graph_change(std::uint64_t seen, os::Nanoseconds timeout);
  /// From now on triggers `guard` after each change of graph_version(), while somebody owns it. Thread-safe.
  void trigger_on_graph_change(const std::shared_ptr<GuardCondition>& guard);

  /// Message memory of this process and of all known processes of the domain. A limit of SIZE_MAX means no limit
  /// (BATON_PROCESS_MEMORY_LIMIT, BATON_DOMAIN_MEMORY_LIMIT).
  struct MemoryAccount {
    std::size_t process_backed_bytes, process_limit_bytes, domain_backed_bytes, domain_limit_bytes;
  };
  MemoryAccount memory_account() const;
  /// The type of a known endpoint of this domain, with its definition, which its process is asked for. `fixed_size` is not
  /// known and false. A call with a timeout of 0 asks and does not wait: the answer changes graph_version(), and the next call
  /// returns it. A process that does not answer is asked again after 10 s, however many calls there are. Errors: not_found
  /// (no such endpoint, or its process is gone), timed_out, forked.
  Result<TypeInfo> type_of(const Gid& endpoint, os::Nanoseconds timeout);
  /// Asks every process of the domain which subscriptions hold, and may hold, which of its messages, and what its own
  /// subscriptions lost. Answers that do not come within `timeout` are missing. So are a publisher's connections beyond
  /// 512, its refused subscriptions beyond 64, and a process's subscriptions with losses beyond 4096.
  Result<Report> report(os::Nanoseconds timeout);
  /// The holdings of report() alone.
  Result<std::vector<Holding>> holdings(os::Nanoseconds timeout);
  int domain() const;

  class Impl;  // private to transport
  Impl& impl() const noexcept { return *impl_; }

 private:
  explicit Participant(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

/// Counters of ROS 2's statuses; `total` never decreases.
struct Statuses {
  std::uint64_t matched_now = 0, matched_total = 0;
  std::uint64_t incompatible_qos_total = 0, incompatible_type_total = 0;
  std::string last_incompatibility;
  Policy last_incompatible_policy = Policy::kNone;  ///< of the last endpoint that `incompatible_qos_total` counts
  /// Endpoints that match and are not connected, because the publisher cannot serve them (now, or with its `slot_count`
  /// never): the last reason.
  std::uint64_t refused_now = 0;
  std::string last_refusal;
  std::uint64_t deadline_missed_total = 0;
  std::uint64_t liveliness_lost_total = 0;  // writer
  /// Writer: messages that were not published because there was no memory: a loan failed, or could not grow and was given back.
  std::uint64_t dropped_total = 0;
  std::uint64_t alive_now = 0, not_alive_now = 0;  // reader: liveliness changed
  std::uint64_t lost_total = 0;                    // reader: Losses::total()
  std::uint64_t copied_total = 0;                  // reader: messages copied because their segment cannot be mapped
  /// Reader: publishers whose messages wait now because this subscription holds as many of their samples as it may
  /// (QoS::held).
  std::uint64_t held_limit_now = 0;
  /// Reader: times that messages waited so for more than two seconds while a program looked for them (a wait set, an
  /// executor, has_data(), the descriptor).
  std::uint64_t held_limit_total = 0;
};
enum class Event : std::uint8_t {
  kMatched,
  kIncompatibleQos,
  kIncompatibleType,
  kDeadlineMissed,
  kLivelinessLost,
  kLivelinessChanged,
  kMessageLost,
  kMessageDropped  ///< of a publisher: Statuses::dropped_total
};

/// Where a message was published first, if that was not here.
struct Origin {
  std::uint64_t sequence = 0;       ///< its number there, which it keeps; what is missing between two counts as lost
  std::int64_t source_time_ns = 0;  ///< CLOCK_REALTIME of that machine
};

/// Sent beside a message, in its chunk header (docs/format/chunk.md, section 3).
struct PublishInfo {
  // Services: the client and the request that a response answers.
  Gid correlation_client{};
  std::uint64_t correlation_sequence = 0;
  /// If `correlation_client` is a connected reader, only this reader gets the message; the other readers count it as
  /// lost.
  bool only_client = false;
  /// Only this reader gets the message; the other readers count it as lost, and late readers do not get it. Error
  /// not_found if it is not connected: nothing was published. Null: every reader.
  const Gid* only_reader = nullptr;
  /// Of a message of another machine. Its number must be greater than that of every message before: else error
  /// already_exists, and the chunk stays a loan. The monotonic source time is that of this publish(). Null: published here.
  const Origin* origin = nullptr;
  /// The caller goes on using the message, which it does not change any more, until drop().
  bool keep = false;
  memory::Selection selection = memory::Selection::kInPlace;
  /// Words of a higher layer for its peers. The first 8 bytes name their format; all zero: none.
  std::array<std::uint8_t, sizeof memory::ChunkHeader::attachment> attachment{};
};

class Writer {
 public:
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// See Pool. Thread-safe (a process-private mutex). A subscription that holds so much that the publisher's memory would run short is
  /// disconnected before, until it has released enough (docs/format/qos.md). If there is no memory all the same, the message counts in
  /// Statuses::dropped_total.
  Result<memory::Chunk> loan_sized(std::size_t message_bytes);
  Result<memory::Chunk> loan_growing();
  /// A loan for a message that arrives in parts and is to have `expected_bytes`: room is made for them, and memory is taken as the message
  /// grows.
  Result<memory::Chunk> loan_growing(std::size_t expected_bytes);
  /// Raises max_message_bytes and memory_limit_bytes of WriterOptions::pool, for a publisher that stands for another one whose limits it learns
  /// from its messages. A lower number changes nothing. Thread-safe.
  void raise_limits(std::size_t max_message_bytes, std::size_t memory_limit_bytes);
  void abandon(const memory::Chunk& chunk) noexcept;
  /// Hands the chunk to every matched reader. On error (queue_full, forked) the chunk stays a loan. REQUIRES: the caller has
  /// written no word of `chunk.header`, since the next loan of this memory does not write the words that stay the same.
  Result<std::uint64_t> publish(const memory::Chunk& chunk);  ///< sequence number
  Result<std::uint64_t> publish(const memory::Chunk& chunk, const PublishInfo& info);

  /// Hands the newest message to a reader that connected after it was published and whose durability is volatile, as ROS 1's
  /// latched topics do. REQUIRES: durability transient_local, which keeps that message. True: the reader has been given
  /// this message, by this call or before. False: there is no message, the reader is not connected, or it has been given
  /// a newer message by PublishInfo::only_reader. Thread-safe.
  bool hand_newest_to(const Gid& reader);

  // Hand-over beside a channel of the caller's, which fixes the order and wakes the readers (TZC III-B: the control
  // part goes by a socket). A writer that uses these calls does not use publish().
  /// Closes the loan and keeps the message until drop(). The caller may go on writing the content until the first
  /// publish_to().
  Result<void> keep(const memory::Chunk& chunk);
  /// Adds a kept message to the queue of one reader and wakes nobody. On error nothing was handed over: not_found (this
  /// reader is not connected), queue_full (it has not taken `depth` messages; nothing is ever evicted), held_limit
  /// (its unread and held messages are as many as it may hold), forked. Returns the number of the connection that has
  /// the message: a reader that was disconnected and has come back has another number, never 0.
  Result<std::uint64_t> publish_to(const memory::Chunk& kept, const Gid& reader);
  /// A reader's connection, and how many messages it has not taken; connection 0: it is not connected. When a connection
  /// ends, the messages that the reader had not taken are given up: the caller sends them by another way.
  struct Unread {
    std::uint64_t connection = 0;
    std::uint64_t messages = 0;
  };
  Unread unread(const Gid& reader);
  /// Ends the caller's use of a kept message (keep(), PublishInfo::keep). Its memory comes back when no reader has it any more.
  void drop(const memory::Chunk& kept) noexcept;

  std::uint32_t matched() const;
  std::vector<Gid> matched_readers() const;
  /// Those of them that were given message `sequence`: a reader may connect while a message is published.
  std::vector<Gid> readers_of(std::uint64_t sequence) const;
  Statuses statuses() const;
  /// Called on the background thread; an empty function removes it. Waiting events of one kind become one call: the
  /// statuses have the counts.
  void on_event(std::function<void(Event)> callback);
  void assert_liveliness();
  /// Returns once every reliable reader took all messages published so far, or they were evicted. Error timed_out after
  /// `timeout`.
  Result<void> wait_for_all_acked(os::Nanoseconds timeout);
  /// Returns once each published message lies in the queue of each matched subscription, where it stays readable after the writer is gone:
  /// at once, unless WriterOptions::seldom. Error timed_out after `timeout`.
  Result<void> wait_for_queues(os::Nanoseconds timeout);
  const Gid& gid() const;
  memory::Pool::Account memory_account() const;
  /// Replaces the data segment, so that memory backed for past large messages returns to the system when they are
  /// released.
  void trim();

  class Impl;  // private to transport, and every writer is one
  Impl& impl() noexcept;
  const Impl& impl() const noexcept;

 protected:
  Writer() = default;
  ~Writer() = default;

 private:
  friend class WriterShare;
  void hold_share() noexcept;
  void give_up_share() noexcept;
};

/// Keeps a writer open, as a std::shared_ptr to it does, for a loan. The count lies beside what every message touches; that of a
/// std::shared_ptr costs two more cache lines. Move-only.
class WriterShare {
 public:
  WriterShare() = default;
  /// REQUIRES: somebody holds a share of `writer`, or a std::shared_ptr to it, during the call.
  explicit WriterShare(Writer& writer) noexcept : writer_(&writer) { writer.hold_share(); }
  WriterShare(WriterShare&& other) noexcept : writer_(std::exchange(other.writer_, nullptr)) {}
  WriterShare& operator=(WriterShare&& other) noexcept {
    if (this != &other) {
      reset();
      writer_ = std::exchange(other.writer_, nullptr);
    }
    return *this;
  }
  ~WriterShare() { reset(); }
  void reset() noexcept {
    if (writer_ != nullptr) std::exchange(writer_, nullptr)->give_up_share();
  }
  /// Null: empty.
  Writer* get() const noexcept { return writer_; }
  Writer* operator->() const noexcept { return writer_; }

 private:
  Writer* writer_ = nullptr;
};

/// A message held by a subscription. Move-only. Releasing (destruction) is wait-free and without a system call, from
/// any thread. It works also after the Reader, the Participant or the publisher is gone.
class TakenSample {
 public:
  TakenSample() = default;
  // Moves and the end of an empty one are a few instructions where they are: a call for each made up a tenth of a take.
  TakenSample(TakenSample&& other) noexcept
      : header_(std::exchange(other.header_, nullptr)),
        token_(other.token_),
        sequence_(other.sequence_),
        connection_(other.connection_),
        segment_(other.segment_),
        size_bytes_(other.size_bytes_) {}
  BATON_HOT_INLINE TakenSample& operator=(TakenSample&& other) noexcept {
    if (this == &other) return *this;
    if (header_ != nullptr) release();
    header_ = std::exchange(other.header_, nullptr);
    token_ = other.token_;
    sequence_ = other.sequence_;
    connection_ = other.connection_;
    segment_ = other.segment_;
    size_bytes_ = other.size_bytes_;
    return *this;
  }
  ~TakenSample() {
    if (header_ != nullptr) release();
  }
  explicit operator bool() const noexcept { return header_ != nullptr; }
  const memory::ChunkHeader& header() const noexcept { return *header_; }  ///< untrusted bytes of the publisher
  /// The publisher over whose connection the message came; the header may name another publisher. REQUIRES: not empty.
  const Gid& publisher() const noexcept;
  /// A number of the process over whose connection the message came, the same for all its endpoints, whatever ids it gives them. 0: that
  /// process had left before the connection was made. REQUIRES: not empty.
  std::uint64_t process() const noexcept;
  /// Of a request: whether the reader that waits for the response is one of the publisher's process. A server answers no other request: the
  /// response would reach a client that has not asked. REQUIRES: not empty.
  bool names_own_client() const noexcept;
  const void* message() const noexcept { return header_ + 1; }
  std::uint32_t size_bytes() const noexcept { return size_bytes_; }  ///< fetched once, checked
  std::uint64_t sequence() const noexcept { return sequence_; }
  BATON_NO_PLT void release() noexcept;

 private:
  friend class Reader;
  friend class baton::detail::ResultState<TakenSample>;  // makes it where take()'s result lies
  TakenSample(const memory::ChunkHeader* header, std::uint64_t token, std::uint64_t sequence,
              ReaderConnection* connection, SegmentUse* segment, std::uint32_t size_bytes) noexcept
      : header_(header),
        token_(token),
        sequence_(sequence),
        connection_(connection),
        segment_(segment),
        size_bytes_(size_bytes) {}

  const memory::ChunkHeader* header_ = nullptr;
  std::uint64_t token_ = 0;  // of the release table
  std::uint64_t sequence_ = 0;
  ReaderConnection* connection_ = nullptr;  // counted
  SegmentUse* segment_ = nullptr;           // counted
  std::uint32_t size_bytes_ = 0;
};

class Reader {
 public:
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  /// The oldest message by source time over all publishers; an empty sample if there is none (not an error). Errors are
  /// the program's (held_limit, forked), or say that one message is lost: whose() in whose.hpp. A lost message is counted
  /// (losses()). One call passes over at most 256 messages (displaced by newer ones, expired, had before); then it returns an empty
  /// sample, has_data() stays true, and a wait returns at once.
  BATON_NO_PLT Result<TakenSample> take();
  /// The same for programs: lost messages are passed over, 64 at most, and reported at most every 10 s. Errors: held_limit, forked.
  BATON_NO_PLT Result<TakenSample> take_next();
  /// The same over one publisher only, of which no message is given up for KEEP_LAST. For callers that learn by a channel
  /// of their own which message comes next (TZC III-B). REQUIRES: no pollable_fd().
  Result<TakenSample> take_from(const Gid& publisher);
  /// Ends the connection to a publisher that changed a taken message after its check, as take() does where the check finds
  /// a malformed message; `what` says how it shows. Nothing happens if there is no such connection. Thread-safe.
  void expel(const Gid& publisher, const std::string& what) noexcept;
  bool has_data() const;
  /// Unread messages of all publishers; with several publishers possibly more than KEEP_LAST keeps. Without those that
  /// a take() has passed over because their memory has not arrived yet: awaits_memory().
  std::size_t unread() const;
  /// True if a take() has passed over messages of this publisher: they lie in a segment that is still on its way. A wait
  /// set wakes when it has arrived. Thread-safe.
  bool awaits_memory(const Gid& publisher) const;
  std::uint32_t matched() const;
  /// Its publishers; false: it is still connecting to this one. Thread-safe.
  std::map<Gid, bool> publishers() const;
  /// Publishers that are gone, or whose process was disconnected, and of which messages wait here, as the graph knew them: for a caller
  /// of take_from(), which has to know whom to ask. Thread-safe.
  std::vector<EndpointInfo> gone_publishers() const;
  /// From now on matches no further publisher, and none of its own again that ends their connection. A publisher of seldom messages that
  /// it matches still gives it the messages that it keeps for this reader. For a caller that replaces this reader by another one and must
  /// know when it has all publishers of this one. Thread-safe.
  void stop_matching() noexcept;
  /// From now on neither delivers nor counts what `before` has delivered, given up or lost of its publishers. Gives up to 256 such messages
  /// back at once. For a caller that replaces `before` by this reader and takes from both: a message that both got is lost once at most.
  /// Thread-safe; `before` is a reader of the same participant and topic.
  void continue_after(const Reader& before);
  Statuses statuses() const;
  Losses losses() const;
  /// When the newest message that reached this reader was published, CLOCK_MONOTONIC, taken or not; 0: no message yet.
  std::int64_t newest_ns() const;
  /// When a publisher with manual_by_topic liveliness gave its last sign of life, CLOCK_MONOTONIC: a publish or assert_liveliness().
  /// 0: it is not connected, or its liveliness is automatic.
  std::int64_t sign_of_life_ns(const Gid& publisher) const;
  /// Called on the background thread; an empty function removes it. Waiting events of one kind become one call: the
  /// statuses have the counts.
  void on_event(std::function<void(Event)> callback);
  const Gid& gid() const;
  /// A descriptor that is readable (poll, epoll, asyncio) while has_data() may be true. Owned by the Reader, and the
  /// same for its whole life. After the first call, publishers make it readable with one send(2) per publish while the
  /// reader is idle. A Reader is either polled or in a WaitSet.
  Result<int> pollable_fd();

  class Impl;  // private to transport
  explicit Reader(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  Impl& impl() const noexcept { return *impl_; }

 private:
  const std::shared_ptr<Impl> impl_;  // the participant and samples keep parts of it
};

/// Wakes wait sets: trigger() from any thread of this process (not async-signal-safe).
class GuardCondition {
 public:
  GuardCondition();
  ~GuardCondition();
  void trigger();
  bool exchange_triggered();  ///< reads and clears
  bool is_triggered() const;

  struct Impl;  // private to transport

 private:
  friend class WaitSet;
  std::shared_ptr<Impl> impl_;
};

/// The unit of waiting. wait() may be called by one thread at a time. A Reader belongs to at most one WaitSet.
class WaitSet {
 public:
  WaitSet();
  ~WaitSet();
  Result<void> add(const std::shared_ptr<Reader>& reader);
  void remove(const std::shared_ptr<Reader>& reader);
  Result<void> add(GuardCondition& guard);
  void remove(GuardCondition& guard);
  /// For a caller that counts messages and leaves them unread: from now on wait() returns once for each message that is published, or
  /// for several together, and not because messages wait unread. It may return without one. REQUIRES: no wait() before.
  void wake_once_for_each_message();
  /// Bounded spinning before sleeping, 0 = none (default).
  void set_spin(os::Nanoseconds budget);
  /// Returns true when some reader may have data, some guard was triggered, or wake() was called; false on timeout. Without
  /// the memory or descriptors for waiting it returns true after 100 ms, and a diagnostic says so. Error: forked.
  BATON_NO_PLT Result<bool> wait(os::Nanoseconds timeout);
  /// A reader in which the last wait() found a message, or null. A hint: the wait may have ended for another reason, and another thread
  /// may have taken the message. Only the thread that waited may call this function. Compare the pointer with Reader::impl(), and do
  /// not use it otherwise: the reader may have been destroyed, and a new reader may have its address.
  const Reader::Impl* reader_with_work() const noexcept;
  void wake();  ///< makes a running or the next wait() return; any thread

  struct Impl;  // private to transport

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::transport
