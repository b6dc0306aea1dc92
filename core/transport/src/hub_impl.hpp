// SPDX-License-Identifier: Apache-2.0
// The hub's implementation, in reading order: hub_impl.cpp (life, thread, timers), hub_discovery.cpp (names, connecting,
// accepting, sweeping), hub_links.cpp (from which process a link comes, and how many links it may have),
// hub_packets.cpp (handshake, packets in and out), hub_parking.cpp (links that rest, and who watches over whom), hub_witness.cpp (deaths that
// the ring does not tell), hub_ends.cpp (every way in which a link ends).
//
// Thread rules. mutex() guards all data that send(), post() and a fork touch. It is also held whenever a descriptor of the hub is made or
// closed, so that a fork finds all of them in their places. It is never held during a callback. Everything else belongs to the background
// thread (before start(): to the thread that made the hub). Only the background thread removes links, so it may keep a reference to a link
// without the lock.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "baton/os/fork_listener.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/poller.hpp"
#include "baton/os/unix_socket.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "handshake.hpp"
#include "hub.hpp"
#include "life_line.hpp"
#include "parking.hpp"

namespace baton::transport {

using Clock = std::chrono::steady_clock;
using LinkId = PeerId;  ///< a link keeps its number when it comes up
inline constexpr auto kMemoryPause = std::chrono::milliseconds(20);
inline constexpr auto kInFlightPause =
    std::chrono::milliseconds(20);  ///< pause when the kernel has no room for descriptors in flight

/// Hub::Impl::mutex() to the checker of locks, for a link does not name its hub. Not defined.
extern os::Mutex hub_mutex;

/// An outgoing frame; its descriptors go with its first packet.
struct Outgoing {
  std::uint16_t type = 0;
  std::vector<std::uint8_t> payload;
  std::size_t sent_bytes = 0;
  std::vector<os::SharedFd> fds;
  std::size_t room = 0;  ///< of send_soon(): for so many payloads, the first included

  std::size_t cost() const { return payload.size() + 64; }
};

/// Why and how a link is to be ended.
struct PendingDisconnect {
  Error reason;
  Bye bye = Bye::kViolation;
  bool tell_user = false;
};

struct PeerLink {
  LinkId id = 0;
  bool initiator = false;
  ProcessId process{};  ///< initiator: the process that it should reach; else known from HELLO
  PeerInfo info;
  LinkMachine machine;
  TimerId handshake_timer = 0;
  bool silent = false;     ///< accepted and has not said HELLO
  bool unjudged = false;   ///< accepted, and whether its process may have one more is not decided yet
  bool lingering = false;  ///< disconnected, not gone: only its end of file is watched, nothing is read

  // Written by the background thread with the lock; it reads them without.
  std::shared_ptr<LifeLine> line;  ///< the socket. It outlives the link while samples of the peer are held
  bool up = false, was_up = false;
  /// The idle link is asked about when this time is over without a frame; doubles while something that says no word keeps it.
  std::chrono::milliseconds patience{0};
  Clock::time_point asked_at{};  ///< when its last PARK came

  std::shared_ptr<LifeLine::Claim> claim BATON_GUARDED_BY(hub_mutex);  ///< while up
  Acquaintance acquaintance BATON_GUARDED_BY(hub_mutex);
  Clock::time_point last_frame BATON_GUARDED_BY(hub_mutex){};
  bool may_be_idle BATON_GUARDED_BY(hub_mutex) = false;  ///< look when `patience` is over
  os::UniqueFd watch BATON_GUARDED_BY(hub_mutex);  ///< pidfd, may be empty; of a parked link: choose_whom_to_witness()
  bool want_write BATON_GUARDED_BY(hub_mutex) = false;
  bool holding BATON_GUARDED_BY(hub_mutex) = false;            ///< the queue waits for send_held()
  Clock::time_point soon_after BATON_GUARDED_BY(hub_mutex){};  ///< a frame of send_soon() waits until then
  /// Waits for a timer because the kernel has no room for descriptors in flight.
  bool pausing BATON_GUARDED_BY(hub_mutex) = false;
  /// A list, since an empty deque takes 576 bytes of every link.
  std::list<Outgoing> queue BATON_GUARDED_BY(hub_mutex);
  std::size_t queued_bytes BATON_GUARDED_BY(hub_mutex) = 0, queued_fds BATON_GUARDED_BY(hub_mutex) = 0;
  /// on_peer_up() runs: its frames are as large as this process's own graph, and count for the user's peers only.
  bool greeting BATON_GUARDED_BY(hub_mutex) = false;
  std::size_t greeting_bytes BATON_GUARDED_BY(hub_mutex) = 0;  ///< of these, the bytes that had to be queued
  Clock::time_point progress BATON_GUARDED_BY(hub_mutex){};    ///< when the queue last was empty or moved
  std::optional<PendingDisconnect> pending BATON_GUARDED_BY(hub_mutex);
  std::shared_ptr<std::size_t> queued_of_user BATON_GUARDED_BY(hub_mutex);  ///< queued_bytes of all links of the user
  bool lost_frame BATON_GUARDED_BY(hub_mutex) = false;                      ///< for lack of memory: to be ended

  // From the link's end until on_peer_down() has returned, which may have to wait for memory.
  bool down_due = false;
  bool over = false;
  Error down_reason{};
  PeerLink* next_down = nullptr;

  int socket() const { return line->socket(); }  ///< -1 while parked
};

/// Processes that one process has called gone and that are not, since `since`.
struct FalseAlarms {
  unsigned count = 0;
  Clock::time_point since{};

  bool spent(unsigned most = kMaxFalseAlarms) {
    if (Clock::now() - since > kArrivalsWindow) *this = {0, Clock::now()};
    return count >= most;
  }
};

/// One process as the kernel knows it, under whatever name.
struct KnownProcess {
  std::size_t links = 0;     ///< of all kinds, now
  unsigned violations = 0;   ///< connections that ended for its fault
  bool turned_away = false;  ///< the user was notified
  bool ended = false;        ///< the process is dead; its last links are about to end
  unsigned arrivals = 0;     ///< since `arrivals_since`
  Clock::time_point arrivals_since{};
  std::shared_ptr<FalseAlarms> alarms;
  std::shared_ptr<PeerRates> rates;
  std::shared_ptr<memory::WindowShare> share;
};

/// The state of the connection attempts to one other process.
struct Route {
  LinkId mine = 0;  ///< the connection that this process initiated and that is not up yet
  LinkId up = 0;
  TimerId retry = 0;
  unsigned attempts = 0;  ///< since the connection last stayed up for a while
  Clock::time_point up_since{};
  bool refused = false;  ///< final: one of the two refuses the other
  bool parked = false;   ///< `up` has no socket
  bool watched = false;  ///< was a neighbour in the ring when it last was up: this process says when it is gone

  bool witnessed = false;  ///< this process holds its pidfd, which reports its end
  bool doubtful = false;   ///< a check_doubtful() is scheduled

  /// Was called gone while it had a socket, by the process with these alarms: what it sent before may park the link.
  std::shared_ptr<FalseAlarms> suspected_by;

  bool has_socket() const { return up != 0 && !parked; }
};

struct Hub::Impl final : os::ForkListener, std::enable_shared_from_this<Hub::Impl> {
  Impl(HubOptions hub_options, HubHandler& hub_handler) : options(std::move(hub_options)), handler(hub_handler) {}
  ~Impl();

  // hub_impl.cpp
  Result<void> prepare();
  Result<void> start();
  void stop();
  void run();
  void post(std::function<void()> fn);
  TimerId schedule(Clock::time_point when, std::function<void()> fn);
  TimerId schedule_locked(Clock::time_point when, std::function<void()>&& fn) BATON_REQUIRES(hub_mutex);
  void cancel(TimerId timer);
  void run_timers_and_posts();
  void run_posts(Clock::time_point start);
  void run_timers(Clock::time_point start);
  std::optional<Clock::time_point> next_deadline();
  /// Background thread: runs `step`. False if memory was short; then work that needs memory pauses for a while.
  template <class F>
  bool attempt(F&& step) noexcept BATON_UNCHECKED_LOCKS {  // `step` needs locks of the caller
    try {
      step();
      return true;
    } catch (const std::bad_alloc&) {
      rest_until = Clock::now() + kMemoryPause;
      scan_wanted = true;  // finds any connection that was not begun
      return false;
    }
  }
  void diagnose(Diagnostic::Level level, Errc code, std::string text);
  /// Calls `f` unless the hub is being destroyed.
  template <class F>
  void call(F&& function) {
    if (!stopping.load(std::memory_order_acquire)) function();
  }
  bool on_thread() const;
  void before_fork() override BATON_ACQUIRES(hub_mutex) { mutex().lock(); }
  void after_fork_in_parent() override BATON_RELEASES(hub_mutex) { mutex().unlock(); }
  void after_fork_in_child() override BATON_RELEASES(hub_mutex);

  // hub_discovery.cpp
  Result<void> publish_name() BATON_REQUIRES(hub_mutex);
  /// `again`: it was read before, so whoever would have come by itself has had the time.
  void scan(bool again);
  /// A process died before it stated its name: check which of the names is dead. At most once a second.
  void scan_later();
  bool comes_by_itself(const ProcessId& process, std::int64_t changed_ns, std::int64_t named_ns);
  /// `is_socket`: the name is known to be one.
  void connect_to(const ProcessId& process, bool is_socket = false);
  void retry_later(const ProcessId& process);
  void sweep(const std::string& name);
  void on_listener();
  bool accept_without_descriptors();
  void tell_shortage(const std::string& what);
  void pause_listening();
  void evict_silent_link();

  // hub_links.cpp
  PeerLink& add_link(os::UniqueFd socket, bool initiator) BATON_REQUIRES(hub_mutex);
  PeerLink* find(LinkId id) BATON_UNCHECKED_LOCKS;  // on the background thread, which alone changes the list
  std::string describe(const PeerLink& link) const;
  /// False for one more connection of a process that has too many or was refused too often.
  bool welcome(const PeerLink& link);
  void turn_away(PeerLink& link);
  /// Decides about a link that was accepted. False: it has ended.
  bool judge(PeerLink& link);
  KnownProcess& account_of(const PeerLink& link);
  /// The link's process is dead. Its record ends with its last link, since the kernel may give its number to another
  /// process.
  void process_ended(const PeerLink& link);
  void remove_from_account(const PeerLink& link);
  void no_longer_silent(PeerLink& link);
  void refuse_for_ever(const ProcessId& process);
  void make_room_for_routes();
  bool may_remember(const ProcessId& process) const;
  bool another_begins_like(const ProcessId& process) const;

  // hub_packets.cpp
  void on_readable(LinkId id);
  void on_writable(LinkId id);
  void on_step(PeerLink& link, LinkMachine::Step&& step);
  void on_hello(PeerLink& link);
  bool continues(const PeerLink& parked, const Hello& hello) const;
  void go_up(PeerLink& link);
  void on_handshake_timeout(LinkId id);
  void send(PeerId peer, Outgoing frame) noexcept;
  void send_or_throw(PeerId peer, Outgoing frame);
  /// Sends at once, past the queue: HELLO and BYE.
  void send_now(PeerLink& link, const std::vector<std::uint8_t>& packet) BATON_REQUIRES(hub_mutex);
  os::IoStatus push(PeerLink& link, Outgoing& frame) BATON_REQUIRES(hub_mutex);
  void flush(PeerLink& link) BATON_REQUIRES(hub_mutex);
  Clock::duration soon_time() const BATON_REQUIRES(hub_mutex);
  bool join(PeerLink& link, const Outgoing& frame) BATON_REQUIRES(hub_mutex);
  void flush_held(PeerLink& link) BATON_REQUIRES(hub_mutex);
  void send_held();
  void clear_queue(PeerLink& link) BATON_REQUIRES(hub_mutex);

  // hub_parking.cpp
  /// A frame travelled, or a cause to keep the link is gone.
  void note_activity(PeerLink& link) BATON_REQUIRES(hub_mutex);
  void note_change() BATON_REQUIRES(hub_mutex);
  void plan_parking(Clock::time_point when) BATON_REQUIRES(hub_mutex);
  void look_for_idle_links();
  bool ask_to_park(PeerLink& link) BATON_REQUIRES(hub_mutex);
  /// Descriptors are short: idle links end now.
  void park_soon();
  HubHandler::Need need_of(const PeerLink& link);
  void on_park(PeerLink& link, std::uint64_t received);
  void on_keep(PeerLink& link);
  void park(PeerLink& link);
  /// The parked link goes on with the socket of `fresh`, which ends.
  void reopen(PeerLink& parked, PeerLink& fresh);
  /// Lets the answer to PARK come in that the other process sent before it connected again.
  void finish_parking(const ProcessId& process);
  void update_ring();
  void met_its_end(const ProcessId& process);
  /// Both processes of a parked link will not speak any more.
  void drop_parked(const ProcessId& process, const Error& reason);
  void drop_parked_of(const ProcessId& process, const PeerInfo& refused, const Error& reason);
  void tell_gone();
  using SharedPacket = std::shared_ptr<const std::vector<std::uint8_t>>;
  void tell_gone_to_some(const SharedPacket& packet, ProcessId after);
  void tell_newcomer(const ProcessId& process);
  void send_gone(const ProcessId& to, const SharedPacket& packet, unsigned attempt);
  void check_whether_gone(const std::vector<ProcessId>& called_gone, const std::shared_ptr<FalseAlarms>& teller);
  bool check_whether_gone(const ProcessId& parked, FalseAlarms& teller);
  void on_gone(PeerLink& link, const std::vector<ProcessId>& called_gone);

  // hub_witness.cpp
  std::uint64_t witness_rank(std::uint64_t identity) const;
  void choose_whom_to_witness();
  void on_witnessed_end(PeerLink& link);
  void tell_as_witness(const ProcessId& process, os::UniqueFd watch);
  void check_doubtful(const ProcessId& process);

  // hub_ends.cpp
  void on_bye(PeerLink& link, const LinkMachine::Step& step);
  void hung_up(PeerLink& link);
  void on_process_end(LinkId id);
  void end_link(PeerLink& link, const PendingDisconnect& how);
  void return_later(const ProcessId& process);
  /// `over`: the peer's end of file has come, or its process is dead. Allocates nothing.
  void drop_link(PeerLink& link, Error reason, bool over);
  bool finish_downs() noexcept;
  void linger(PeerLink& link);
  void on_lingering(PeerLink& link, bool hung_up, bool writable);
  void forget_link(PeerLink& link);
  void disconnect_stalled_soon(PeerLink& link) BATON_REQUIRES(hub_mutex);
  void end_stalled(const PeerLink& link, std::list<Outgoing>& dropped) BATON_REQUIRES(hub_mutex);
  void disconnect_soon(PeerLink& link, PendingDisconnect how) BATON_REQUIRES(hub_mutex);
  void finish_disconnects();
  void end_for_want_of_memory(LinkId id) noexcept;
  void end_links_without_memory() noexcept;
  void tell_no_memory();

  os::Mutex& mutex() const BATON_RETURNS_LOCK(hub_mutex) { return mutex_; }

  // Constant after prepare().
  HubOptions options;
  HubHandler& handler;
  ProcessId self{};
  std::uint64_t self_identity = 0;        ///< as PeerInfo::identity
  std::array<std::uint64_t, 2> secret{};  ///< of witness_rank()
  int domain = 0;
  std::string self_name;
  std::string socket_name;
  DomainDirectory directory;  // a fork closes its descriptors

  mutable os::Mutex mutex_;
  os::Poller poller;
  os::UniqueFd listener BATON_GUARDED_BY(hub_mutex);
  os::UniqueFd reserve
      BATON_GUARDED_BY(hub_mutex);  // closed to make room for an orderly refusal when descriptors run out
  std::unordered_map<LinkId, std::unique_ptr<PeerLink>> links BATON_GUARDED_BY(hub_mutex);
  LinkId next_link BATON_GUARDED_BY(hub_mutex) = 1;
  std::vector<LinkId> to_disconnect BATON_GUARDED_BY(hub_mutex);
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers BATON_GUARDED_BY(hub_mutex);
  std::map<TimerId, Clock::time_point> timer_times BATON_GUARDED_BY(hub_mutex);
  TimerId next_timer BATON_GUARDED_BY(hub_mutex) = 1;
  std::vector<std::function<void()>> posted BATON_GUARDED_BY(hub_mutex);
  bool lost_frames BATON_GUARDED_BY(hub_mutex) = false;   // some link lost a frame
  bool held_planned BATON_GUARDED_BY(hub_mutex) = false;  // send_held() is scheduled
  /// When processes last joined or announced something, and since when they do so without a pause.
  Clock::time_point last_change BATON_GUARDED_BY(hub_mutex){}, changing_since BATON_GUARDED_BY(hub_mutex){};
  std::map<std::uint32_t, std::shared_ptr<std::size_t>> queued_of_users BATON_GUARDED_BY(hub_mutex);
  // Release in stop() and after_fork_in_child(); acquire in every read without the lock.
  std::atomic<bool> stopping{false};
  std::atomic<bool> is_child{false};
  std::atomic<std::size_t> up_count{0};

  pthread_t thread{};
  bool thread_started = false;

  Clock::time_point parking_at BATON_GUARDED_BY(hub_mutex) =
      Clock::time_point::max();  ///< when idle links are looked for

  // Background thread only.
  const Clock::time_point joined = Clock::now();
  bool hurries = false;  ///< parks links that were idle for a moment
  bool ring_changed = false;
  std::vector<ProcessId> newly_gone;                                ///< to be told
  std::deque<std::pair<Clock::time_point, ProcessId>> gone_before;  ///< told, and told again to newcomers
  std::map<ProcessId, Route> routes;
  std::unordered_map<std::uint64_t, KnownProcess>
      processes;  ///< by PeerInfo::identity; processes without one are counted by user
  std::unordered_map<std::uint32_t, std::size_t> links_of_user;
  std::deque<LinkId> silent;  ///< accepted, no HELLO yet; oldest first, may contain ended links
  std::size_t silent_count = 0;
  bool scan_planned = false;
  bool scan_wanted = true;
  Clock::time_point rest_until{};  ///< after a lack of memory
  std::vector<os::Poller::Event> events;
  std::vector<std::function<void()>> batch;  ///< the posted functions, from batch_at on
  std::size_t batch_at = 0;
  PeerLink* downs = nullptr;                             ///< links whose on_peer_down() is due, newest first
  std::vector<std::uint8_t> bye_leaving, bye_no_memory;  ///< made before they are needed
  std::unique_ptr<std::uint8_t[]> buffer;
  os::Allowance shortage_lines, memory_lines;
  std::shared_ptr<FalseAlarms> alarms_in_shortage;  ///< of all tellers together
  FalseAlarms doubts;                               ///< of check_doubtful()
};

/// Deaths of which newcomers are told: they may have met the process, and not its neighbours.
inline constexpr std::size_t kMaxGoneBefore = 256;
/// Processes with a parked link whose pidfds a process holds.
inline constexpr std::size_t kMostWitnessed = 16;
inline constexpr std::size_t kMaxSilentLinks = 64;
inline constexpr std::uint64_t kListenerToken = 2;
constexpr std::uint64_t socket_token(LinkId id) { return id * 4; }
constexpr std::uint64_t watch_token(LinkId id) { return id * 4 + 1; }

/// "p-<process id>" is a process's socket; "t-<random>" is a socket that does not listen yet or is not renamed yet.
std::string name_of(const ProcessId& process);
/// PeerInfo::identity of the process with this pidfd (may be empty) and pid.
std::uint64_t identity_of(const os::UniqueFd& pidfd, std::int32_t pid);
/// Whether both links lead to one process, as far as the kernel says: without a free descriptor only its number is known.
bool same_process(const PeerInfo& a, const PeerInfo& b);

}  // namespace baton::transport
