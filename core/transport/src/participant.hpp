// SPDX-License-Identifier: Apache-2.0
// This process in one domain: handles the hub's callbacks, keeps the graph, connects matching endpoints.
// Thread rules: mutex_ comes before the locks of endpoints and of the hub. Frames are handled with it. User callbacks run on the background thread without any lock.
// Shortage of memory: a handler of a peer's frame may throw std::bad_alloc and leave the state of that peer incomplete,
// because the hub then ends its connection. A posted or scheduled function may throw and is called again; so is
// on_peer_down(). Therefore each of these functions must be repeatable, and state of this process alone changes
// entirely or not at all.
// Invariants: (1) an endpoint's ANNOUNCE precedes every other frame about it, on every socket; (2) own endpoints are in
// the graph under kSelf, and frames to kSelf are handled like frames to others: a pair in one process is no special
// case.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attach_attempts.hpp"
#include "baton/os/line_budget.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
#include "budgets.hpp"
#include "connection.hpp"
#include "domain_account.hpp"
#include "endpoint_context.hpp"
#include "graph.hpp"
#include "hub.hpp"
#include "id_owners.hpp"
#include "reader.hpp"
#include "writer.hpp"

namespace baton::transport {

class Participant::Impl final : public EndpointContext, private HubHandler {
 public:
  Impl();
  static Result<std::shared_ptr<Participant>> join(const ParticipantOptions& options);
  ~Impl();

  Result<std::shared_ptr<Writer>> create_writer(std::shared_ptr<Impl> self, const WriterOptions& options);
  Result<std::shared_ptr<Reader>> create_reader(std::shared_ptr<Impl> self, const ReaderOptions& options);
  void add_node(const NodeName& node);
  void remove_node(const NodeName& node);
  std::vector<EndpointInfo> endpoints() const;
  std::vector<EndpointInfo> endpoints_of(const std::string& topic);
  std::vector<TopicInfo> topics(const std::vector<std::string>& nodes,
                                const std::function<bool(const std::string&)>& wanted) const;
  std::vector<std::string> nodes_of_endpoints() const;
  std::vector<NodeInfo> nodes() const;
  std::size_t unmet_count() const;
  std::vector<std::int32_t> unmet_pids() const;
  std::uint64_t graph_version() const;
  Result<std::uint64_t> wait_graph_change(std::uint64_t seen, std::chrono::nanoseconds timeout);
  void trigger_on_graph_change(const std::shared_ptr<GuardCondition>& guard);
  MemoryAccount memory_account() const override;
  Result<Report> report(std::chrono::nanoseconds timeout);
  Result<TypeInfo> type_of(const Gid& endpoint, std::chrono::nanoseconds timeout);
  int domain() const { return hub_->domain(); }

  // EndpointContext, which describes these
  void send(PeerId peer, FrameType type, Payload payload, std::vector<os::SharedFd> fds = {}) override;
  void deliver_to_self(Frame&& frame) override;
  Hub& hub() noexcept override { return *hub_; }
  void diagnose(Diagnostic::Level level, Errc code, std::string text) noexcept override;
  std::uint64_t process_of(PeerId peer) const override BATON_REQUIRES(mutex_) {
    const auto found = peers_.find(peer);
    return found == peers_.end() ? 0 : found->second.process();
  }
  os::SharedFd duplicate(int fd) override;
  EventPages& event_pages() noexcept override { return *event_pages_; }
  void give_wake_socket(PeerId peer, const Gid& writer, const Gid& reader, const os::SharedFd& notify_end) override;
  WakePairs& wake_pairs() noexcept override { return wake_pairs_; }
  void broke_wake_socket(PeerId peer) override;
  void ban(const Gid& endpoint) override;
  void expel(PeerId peer, const Gid& reader, const Gid& writer, const Error& error) override;
  std::int32_t pid_of(PeerId peer) const override { return pids_of(peer).shown; }
  void graph_changed() noexcept override;
  void withdraw_writer(const Gid& gid) noexcept override BATON_EXCLUDES(mutex_);
  void withdraw_reader(const Gid& gid) noexcept override BATON_EXCLUDES(mutex_);
  /// The party whose share of a writer's slots a peer's subscriptions use.
  Party party_of(PeerId peer) const BATON_REQUIRES(mutex_);

  static constexpr unsigned kMaxReports = 32;
  static constexpr std::chrono::seconds kReportWindow{10};

 private:
  /// A foreign writer to which a reader of this process is connected.
  struct RemoteWriter {
    PeerId peer = 0;
    std::vector<Gid> readers;  // of this process, that are connected or about to be
    std::vector<std::pair<std::uint32_t, std::shared_ptr<memory::ForeignSegment>>> segments;
    std::optional<Error> lacking;  // its next segment could not be kept, for this reason: its readers disconnect
  };
  /// A definition that was requested from a peer.
  struct Wanted {
    Gid endpoint{};  // of the peer
    TypeHash hash{};
    std::vector<Gid> own;  // endpoints of this process that differ from it
  };
  struct PeerState {
    std::int32_t pid = 0;
    std::uint32_t uid = 0;
    std::uint64_t identity = 0;  // PeerInfo's
    std::string name;
    std::shared_ptr<PeerRates> rates;            // of its process
    std::shared_ptr<memory::WindowShare> share;  // the same
    std::vector<Wanted> wanted;
    bool account_due = false;  // ACCOUNT has not been sent since the last change: no link is opened for it
    /// Identifies the peer's process: its identity, or if that is unknown its user.
    std::uint64_t process() const noexcept { return identity != 0 ? identity : std::uint64_t{1} << 62 | uid; }
  };
  struct Pids {
    std::int32_t shown = 0, local = 0;  // EndpointInfo's
  };
  struct Reported {
    Pids pids;
    std::shared_ptr<PeerRates> rates;
  };
  std::optional<os::LineBudget::Line> admit(PeerId about, Errc kind) noexcept override;
  void say(const os::LineBudget::Line& line, Diagnostic::Level level, Errc code, std::string text) noexcept override;
  Pids pids_of(PeerId peer) const;
  static EndpointInfo info_of(const EndpointRecord& record, const Pids& pids);
  template <class Endpoint>
  using Endpoints = std::map<Gid, std::shared_ptr<Endpoint>>;

  Result<void> usable() const;
  Gid new_gid(std::uint8_t part) BATON_REQUIRES(mutex_);
  Result<Gid> gid_for(const Gid& wanted, std::uint8_t part) BATON_REQUIRES(mutex_);
  void broadcast(FrameType type, const Payload& payload) BATON_REQUIRES(mutex_);
  /// If there is no memory for the frame, all peers are disconnected: they get the news when they come back.
  template <class Encode>
  void broadcast_or_disconnect(FrameType type, Encode&& encode) noexcept BATON_REQUIRES(mutex_);
  template <class Endpoint>
  Result<void> announce_own(Endpoints<Endpoint>& endpoints, const std::shared_ptr<Endpoint>& own)
      BATON_REQUIRES(mutex_);
  void withdraw_own(const Gid& gid) noexcept BATON_REQUIRES(mutex_);
  static Result<std::shared_ptr<Participant>> join_or_throw(const ParticipantOptions& options);
  void end_peer(PeerId peer, const Error& error) BATON_REQUIRES(mutex_);
  void report_account();
  void deliver_to_self_from_queue();
  Result<void> handle_next_to_self(Frame&& frame);
  void deliver_last_to_self(const Gid& writer) noexcept BATON_REQUIRES(mutex_);
  void drop_to_self(const Gid& reader) noexcept BATON_REQUIRES(mutex_);
  void add_diagnostic_callback(const ParticipantOptions& options);
  void call_diagnostic_callbacks(const Diagnostic& diagnostic) noexcept;

  // HubHandler
  void on_peer_up(PeerId peer, const PeerInfo& info) override;
  void on_peer_down(PeerId peer, const Error& reason) override;
  bool holds_anything(PeerId peer) override;
  Need needs_link(PeerId peer) override;
  void on_link_open(PeerId peer) override;
  void on_peer_gone(PeerId peer) override;
  Result<void> on_frame(PeerId peer, Frame&& frame) override;

  // frames
  Result<void> handle(PeerId peer, Frame&& frame) BATON_REQUIRES(mutex_);
  Result<void> on_announcements(PeerId peer, const std::vector<AnnounceFrame>& frames) BATON_REQUIRES(mutex_);
  Result<void> on_announce(PeerId peer, const AnnounceFrame& frame) BATON_REQUIRES(mutex_);
  Result<void> on_withdraw(PeerId peer, const Gid& gid) BATON_REQUIRES(mutex_);
  Result<void> on_node_up(PeerId peer, const NodeName& node) BATON_REQUIRES(mutex_);
  void on_node_down(PeerId peer, const NodeName& node) BATON_REQUIRES(mutex_);
  void on_detach(PeerId peer, const PairFrame& frame) BATON_REQUIRES(mutex_);
  void on_account(PeerId peer, const AccountFrame& frame);
  Result<void> on_attach(PeerId peer, const AttachFrame& frame, const std::vector<os::ReceivedFd>& fds)
      BATON_REQUIRES(mutex_);
  Result<void> on_attached(PeerId peer, const AttachedFrame& frame, const std::vector<os::ReceivedFd>& fds)
      BATON_REQUIRES(mutex_);
  Result<void> on_ended(PeerId peer, const RefusedFrame& frame) BATON_REQUIRES(mutex_);
  Result<void> on_segment(PeerId peer, const SegmentFrame& frame, std::vector<os::ReceivedFd>& fds)
      BATON_REQUIRES(mutex_);
  void lacks_segment(PeerId peer, const Gid& writer, RemoteWriter& remote, const Error& why) BATON_REQUIRES(mutex_);
  Result<void> on_retired(PeerId peer, const SegmentFrame& frame) BATON_REQUIRES(mutex_);
  Result<void> on_wake_socket(PeerId peer, const PairFrame& frame, std::vector<os::ReceivedFd>& fds)
      BATON_REQUIRES(mutex_);
  Result<void> on_call(PeerId peer, const PairFrame& frame) BATON_REQUIRES(mutex_);
  void on_rest(PeerId peer, const PairFrame& frame) BATON_REQUIRES(mutex_);
  Result<void> on_definition_request(PeerId peer, const Gid& gid) BATON_REQUIRES(mutex_);
  void on_definition(PeerId peer, const DefinitionFrame& frame) BATON_REQUIRES(mutex_);
  void answer_type_question(PeerId peer, const DefinitionFrame& frame) noexcept BATON_EXCLUDES(questions_mutex_);
  void forget_type_question(const Gid& endpoint) noexcept BATON_EXCLUDES(questions_mutex_);
  void on_holdings_request(PeerId peer, std::uint64_t question) BATON_REQUIRES(mutex_);
  void on_holdings(PeerId peer, HoldingsFrame&& frame) BATON_REQUIRES(mutex_) BATON_EXCLUDES(questions_mutex_);
  void take_answer(PeerId peer, HoldingsFrame&& frame) BATON_EXCLUDES(questions_mutex_);
  void on_losses(PeerId peer, const LossesFrame& frame) BATON_REQUIRES(mutex_);

  // endpoint_ids.cpp
  /// The process whose endpoints' ids begin like this one. Nothing: none that is connected.
  std::optional<PeerId> owner_of(const Gid& gid) const BATON_REQUIRES(mutex_);
  /// Another process that has the endpoint id which `peer` announces, and keeps it. Before, takes the id from a process that has announced it
  /// without right.
  Result<std::optional<PeerId>> holder_of(PeerId peer, const AnnounceFrame& frame) BATON_REQUIRES(mutex_);
  /// Keeps the announcement of `claimant` until `holder` has the id no more.
  Result<void> keep_claim(PeerId claimant, PeerId holder, const AnnounceFrame& frame) BATON_REQUIRES(mutex_);
  /// The endpoint with this id is removed now: the next one that has announced it gets the id soon.
  void give_to_next(const Gid& gid) noexcept BATON_REQUIRES(mutex_);
  void grant_claim(const Gid& gid) BATON_REQUIRES(mutex_);
  void attach_called(const EndpointRecord& writer) BATON_REQUIRES(mutex_);

  // matching.cpp
  void match_new(const EndpointRecord& added) BATON_REQUIRES(mutex_);
  void match_known(const Gid& own, std::uint64_t from, std::uint64_t end) BATON_REQUIRES(mutex_);
  void match_pair(const EndpointRecord& own, const EndpointRecord& other) BATON_REQUIRES(mutex_);
  /// Calls f(reader) for the own readers that are connected, or about to be connected, to a foreign writer.
  template <class F>
  void for_readers_of(const Gid& writer, F&& f) BATON_REQUIRES(mutex_) {
    const auto remote = remote_writers_.find(writer);
    if (remote == remote_writers_.end()) return;
    for (const Gid& gid : remote->second.readers) {
      const auto reader = readers_.find(gid);
      if (reader != readers_.end()) f(*reader->second);
    }
  }
  /// Ends all connections to an endpoint, foreign or own, that is about to be removed from the graph.
  void endpoint_gone(const EndpointRecord& record, bool with_its_process) BATON_REQUIRES(mutex_);
  PeerState* state_of(PeerId peer) BATON_REQUIRES(mutex_);
  bool want_definition(const Gid& own, const EndpointRecord& other) BATON_REQUIRES(mutex_);
  bool may_ask(PeerId peer) BATON_REQUIRES(mutex_);
  /// Removes a part of the announcements of peers that left; the background thread removes the rest.
  void forget_left() BATON_REQUIRES(mutex_);
  void return_memory_later() BATON_REQUIRES(mutex_);
  void match(const std::shared_ptr<Writer::Impl>& writer, const EndpointRecord& reader) BATON_REQUIRES(mutex_);
  void match(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) BATON_REQUIRES(mutex_);
  template <class Endpoint>
  bool compatible(const std::shared_ptr<Endpoint>& own, const EndpointRecord& other, const QoS& offered,
                  const QoS& requested) BATON_REQUIRES(mutex_);
  bool rest(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) BATON_REQUIRES(mutex_);
  void begin_attach(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) BATON_REQUIRES(mutex_);
  /// Ends the connection of a reader to a foreign writer because of a shortage. The pair tries again later.
  void give_up(PeerId peer, const Gid& writer, const Gid& reader, const Error& why) BATON_REQUIRES(mutex_);
  /// For shortages, which end: the pair tries again after a pause, longer each time. True the first time.
  bool attach_later(const Gid& reader, const Gid& writer) BATON_REQUIRES(mutex_);
  void forget_attempts_later(const Gid& reader, const Gid& writer) BATON_REQUIRES(mutex_);
  /// `reader` does not use `writer` any more.
  void release_remote_writer(const Gid& writer, const Gid& reader) noexcept BATON_REQUIRES(mutex_);

  std::unique_ptr<Hub> hub_;
  const std::uint32_t generation_;
  DomainAccount account_;  // ended before the hub
  std::shared_ptr<EventPages> event_pages_ = std::make_shared<EventPages>();

  mutable os::Mutex mutex_;
  Budgets budgets_ BATON_GUARDED_BY(mutex_){[this](PeerId peer, const Error& error)
                                                BATON_REQUIRES(mutex_) { end_peer(peer, error); }};
  Graph graph_ BATON_GUARDED_BY(mutex_){&budgets_};
  bool forgetting_ BATON_GUARDED_BY(mutex_) = false, returning_memory_ BATON_GUARDED_BY(mutex_) = false;
  Endpoints<Writer::Impl> writers_ BATON_GUARDED_BY(mutex_);
  Endpoints<Reader::Impl> readers_ BATON_GUARDED_BY(mutex_);
  std::map<PeerId, PeerState> peers_ BATON_GUARDED_BY(mutex_);
  IdOwners id_owners_ BATON_GUARDED_BY(mutex_);
  WakeSockets wake_sockets_ BATON_GUARDED_BY(mutex_);
  WakePairs wake_pairs_;
  PeerState self_state_ BATON_GUARDED_BY(mutex_);
  std::map<Gid, RemoteWriter> remote_writers_ BATON_GUARDED_BY(mutex_);
  AttachAttempts attempts_ BATON_GUARDED_BY(mutex_);
  std::uint64_t next_endpoint_ BATON_GUARDED_BY(mutex_) = 1;

  struct FrameToSelf {
    std::uint16_t type;
    Payload payload;
    std::vector<os::SharedFd> fds;
    bool over =
        false;  // handled, or of an endpoint that has ended: set with mutex_, too, under which frames are handled
  };
  os::Mutex to_self_mutex_;  // innermost but for the hub's locks
  std::deque<FrameToSelf> to_self_ BATON_GUARDED_BY(to_self_mutex_);
  bool to_self_posted_ BATON_GUARDED_BY(to_self_mutex_) = false;  // deliver_to_self_from_queue() is going to run
  bool to_self_told_ BATON_GUARDED_BY(to_self_mutex_) = false;    // lack of descriptors was reported
  os::Allowance share_shortage_lines_;

  mutable os::Mutex pids_mutex_;  // innermost
  std::map<PeerId, Reported> pids_ BATON_GUARDED_BY(pids_mutex_);
  os::LineBudget lines_;
  struct DiagnosticCallback {
    std::function<void(const Diagnostic&)> call;
    std::weak_ptr<const void> owner;
    bool owned = false;
  };
  std::vector<DiagnosticCallback> on_diagnostic_ BATON_GUARDED_BY(pids_mutex_);

  /// A query that waits for answers.
  struct Question {
    std::vector<PeerId> missing;  // peers that have not answered completely
    Report answers;
    std::map<PeerId, std::size_t> counts;  // of the answers' rows
    bool takes(PeerId peer);               // more rows of this peer
  };
  os::Mutex questions_mutex_;  // innermost
  std::condition_variable answered_;
  std::map<std::uint64_t, Question> questions_ BATON_GUARDED_BY(questions_mutex_);
  std::uint64_t last_question_ BATON_GUARDED_BY(questions_mutex_) = 0;
  /// A query for one endpoint's definition: its peer, and the answer until a call of type_of() fetches it.
  struct TypeQuestion {
    std::uint64_t number = 0;
    PeerId peer = 0;
    std::optional<std::chrono::steady_clock::time_point> asked;
    std::optional<std::string> definition;
    int waiting = 0;  // calls
  };
  void forget_type_question(std::map<Gid, TypeQuestion>::iterator question) noexcept BATON_REQUIRES(questions_mutex_);
  std::map<Gid, TypeQuestion> type_questions_ BATON_GUARDED_BY(questions_mutex_);  // by endpoint
  std::size_t definition_bytes_ BATON_GUARDED_BY(questions_mutex_) = 0;            // of all definitions in it

  mutable os::Mutex version_mutex_;
  std::condition_variable version_changed_;
  std::uint64_t version_ BATON_GUARDED_BY(version_mutex_) = 1;
  std::vector<std::weak_ptr<GuardCondition>> graph_guards_ BATON_GUARDED_BY(version_mutex_);
};

}  // namespace baton::transport
