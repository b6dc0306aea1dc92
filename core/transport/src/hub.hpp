// SPDX-License-Identifier: Apache-2.0
// The hub: this process's presence in one domain directory. It finds the other processes, keeps one socket to each,
// moves frames (bytes plus descriptors) and owns the one background thread with its timers. It does not know topics.
// The protocol on the socket: docs/format/handshake.md (normative).
//
// Thread rules: send, disconnect, post, schedule, cancel and the getters may be called from any thread, callbacks
// included; none of them blocks. Every HubHandler function, posted function and timer runs on the background thread,
// one at a time, and never while the hub holds a lock: a handler may take its own locks and call the hub.
//
// Invariants
// 1. Between on_peer_up(p) and on_peer_down(p) there is exactly one connection to p's process, and at most one socket; a PeerId is never
//    reused. A process that was disconnected without fault (a stall, a lack of descriptors) comes back under a new
//    PeerId. A peer passes through these states, in this order, and may leave out the second:
//      connected     from on_peer_up to on_peer_down: frames travel, on a link that is parked while nothing needs it
//      disconnected  from on_peer_down to on_peer_gone: no frames, but its process may live and read samples
//      gone          from on_peer_gone on: its process is dead, or declared that it holds nothing any more
// 2. Frames to one peer arrive in the order of send() and at most once; after on_peer_down(p) no frame of p is
//    delivered.
// 3. No peer can block the hub, make it allocate without bound, or hold descriptors open in it without bound. A peer's
//    descriptors are closed on a thread that may block (os/disposal.hpp).
// 4. With nothing to do the background thread sleeps without a timeout.
// 5. After fork() the child has none of the hub's descriptors; every call on the hub is a no-op there.
// 6. std::bad_alloc does not leave the background thread. A peer whose frame could not be handled is disconnected and
//    may come back. A posted function or a timer that threw it is called again after a pause, in its place; so is
//    on_peer_down().
// 7. The background thread serves all peers, timers and posted functions in turn, each for about kSliceTime at most.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/memory/window_share.hpp"
#include "baton/os/allowance.hpp"
#include "baton/os/disposal.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/gid.hpp"

namespace baton::transport {

using PeerId = std::uint64_t;   ///< never 0, never reused within a hub
using TimerId = std::uint64_t;  ///< never 0
using ProcessId = std::array<std::uint8_t, 16>;

/// Frame types below this are the hub's own (HELLO, BYE, PARK, KEEP, GONE).
inline constexpr std::uint16_t kFirstUserFrame = 0x0100;
/// Larger payloads are the caller's error; the hub splits a payload into packets and joins them again.
inline constexpr std::size_t kMaxPayloadBytes = 256 * 1024;
inline constexpr std::size_t kMaxFrameFds = 4;
/// Limits of the queue for one peer. Beyond the first two, a peer that has taken nothing for kStallTime is
/// disconnected. Beyond the second two (for descriptors: half of RLIMIT_NOFILE) it is disconnected at once.
inline constexpr std::size_t kMaxQueuedBytes = 1024 * 1024;
inline constexpr std::size_t kMaxQueuedFds = 256;
inline constexpr std::size_t kHardQueuedBytes = 4 * kMaxQueuedBytes;
/// Limit for all peers of one user together. Beyond it, each of these peers whose queue exceeds kMaxQueuedBytes is
/// disconnected at once.
inline constexpr std::size_t kMaxQueuedBytesPerUser = 64 * 1024 * 1024;
inline constexpr std::chrono::microseconds kSliceTime{500};
inline constexpr std::chrono::milliseconds kStallTime{1000};
/// Connections of one foreign process, fewer where descriptors are few. An honest process has one connection, for a
/// moment two, and one more for each connection that ended while it held samples.
inline constexpr std::size_t kMaxLinksPerProcess = 16;
/// After this many violations a process is refused under any name.
inline constexpr unsigned kMaxViolations = 4;
/// Connections that one process may begin per kArrivalsWindow.
inline constexpr unsigned kMaxArrivals = 64;
inline constexpr std::chrono::seconds kArrivalsWindow{10};
/// Processes that one process may call gone although they are not, per kArrivalsWindow: each costs a link.
inline constexpr unsigned kMaxFalseAlarms = 64;
/// The same of all processes together whose word counts no more.
inline constexpr unsigned kMostDoubtful = 16;

/// What a process may cause in a window of time. Over all its connections: a process that connects again has what is left.
struct PeerRates {
  os::Allowance lines;      ///< about it
  os::Allowance questions;  ///< to it, for definitions
  os::Allowance answers;    ///< to its questions about holdings and definitions
};

struct PeerInfo {
  ProcessId process_id{};
  std::int32_t pid = 0;  ///< in this process's PID namespace, or the peer's own statement if it is not visible there
  std::int32_t local_pid = 0;  ///< in this process's pid namespace, from the kernel; 0: not visible
  std::uint32_t uid = 0;       ///< of the peer, from the kernel
  /// Equal for all connections of one process, and different for all other processes: os::process_identity(), on older
  /// kernels the pid; 0: unknown.
  std::uint64_t identity = 0;
  /// Of `identity`; without one, of all such processes of the user. Not null.
  std::shared_ptr<PeerRates> rates;
  /// The same: the part of this process's window that the process's segments may take.
  std::shared_ptr<memory::WindowShare> share;
  std::string name;  ///< as the peer states it (at most 255 bytes, printable ASCII)
  std::uint16_t version = 0;
};

/// A received frame. Its descriptors are close-on-exec and belong to the owner of the frame.
struct Frame {
  std::uint16_t type = 0;
  std::vector<std::uint8_t> payload;
  std::vector<os::ReceivedFd> fds;
};

class HubHandler {
 public:
  virtual ~HubHandler() = default;
  /// If it throws std::bad_alloc the connection ends at once, with on_peer_down().
  virtual void on_peer_up(PeerId peer, const PeerInfo& info) = 0;
  /// No frames come or go any more. Whether the peer's process lives is not known: the samples that it holds stay valid
  /// until on_peer_gone(). `reason` is disconnected for a peer that left, died or was given up, out_of_memory if this
  /// process lacked memory, else the peer's fault. If it throws std::bad_alloc it is called again.
  virtual void on_peer_down(PeerId peer, const Error& reason) = 0;
  /// Called right after on_peer_down() of a peer that may still live: whether the peer holds any message of this
  /// process. If so, the hub waits for its end before on_peer_gone(); if not, on_peer_gone() follows at once. Neither
  /// function may throw.
  virtual bool holds_anything(PeerId) { return false; }
  /// Called once after each on_peer_down(): the peer holds nothing of this process. Its process is dead or declared so,
  /// or holds_anything() returned false.
  virtual void on_peer_gone(PeerId) {}
  /// Why a socket to the peer is needed although no frame travels. Without a need the idle link is parked: the peer stays connected.
  enum class Need : std::uint8_t {
    kNone,
    kConnections,  ///< a frame comes or goes when they end
    kSamples       ///< the peer holds messages of this process: no frame says when that ends
  };
  virtual Need needs_link(PeerId) { return Need::kConnections; }
  /// A link to a parked peer is open again, for a frame of either side. May throw as on_peer_up().
  virtual void on_link_open(PeerId) {}
  /// An error ends that peer's connection with a diagnostic (then on_peer_down follows). Other peers are not affected.
  virtual Result<void> on_frame(PeerId peer, Frame&& frame) = 0;
};

struct HubOptions {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default (runtime_directory.hpp)
  std::string name;               ///< this process's name in diagnostics of peers; empty: the program's name
  std::chrono::milliseconds handshake_timeout{5000};
  /// After so long without a frame a link that nothing needs is parked.
  std::chrono::milliseconds idle_time{1000};
  /// Background thread; empty: dropped. Other processes can cause any number.
  std::function<void(const Diagnostic&)> on_diagnostic;
};

class Hub {
 public:
  /// Resolves the directory and prepares everything, but is not yet visible and makes no callbacks. `handler` must
  /// outlive the hub.
  static Result<std::unique_ptr<Hub>> create(const HubOptions& options, HubHandler& handler);
  /// Becomes visible and starts the background thread; callbacks may come before this returns. Once only.
  Result<void> start();
  /// Sends BYE to all peers, removes the name and joins the thread. No callback runs afterwards; on_peer_down is not
  /// called for the peers that were up. If called on the background thread, that thread ends by itself later. Frames,
  /// functions and timers are dropped from now on. Must not be called from two threads at once; a second call does
  /// nothing.
  void stop();
  ~Hub();  ///< stop(). If callbacks use the owner's pointer to the hub, stop the hub first: the pointer may be null
           ///< during this.
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Queues a frame. Silently dropped if the peer is gone (on_peer_down has come or is coming) or after fork(). A peer
  /// whose queue overflows because it does not read is disconnected with a diagnostic. So is a peer for whose frame
  /// there is no memory. REQUIRES type >= kFirstUserFrame, payload.size() <= kMaxPayloadBytes, fds.size() <=
  /// kMaxFrameFds, no empty descriptor.
  void send(PeerId peer, std::uint16_t type, std::vector<std::uint8_t> payload,
            std::vector<os::SharedFd> fds = {}) noexcept;
  /// As send(), for what all peers are told. At once if the last such frame is some milliseconds old; else it may wait so long, or until the next
  /// frame to the peer. Payloads of the same type that wait go in one frame, one behind the other, at most `most`.
  void send_soon(PeerId peer, std::uint16_t type, std::vector<std::uint8_t> payload, std::size_t most) noexcept;
  /// What waits for the peer by send_soon() goes now.
  void send_waiting(PeerId peer) noexcept;
  /// What processes announce is changing: for a while no link is parked.
  void note_change();
  /// Ends the connection because of the peer's fault: `reason` is sent to the peer, the peer is not connected again
  /// during its life, and on_peer_down(peer, reason) follows. No diagnostic.
  void disconnect(PeerId peer, Error reason);
  /// Ends the connection because a frame for or from the peer was lost for lack of memory. The peer may come back, and
  /// does so by itself.
  void end_for_want_of_memory(PeerId peer) noexcept;

  /// While the result lives, the peer's process keeps the messages that this process holds, also after the connection
  /// has ended. Null if the peer is not connected. Any thread may copy and drop it, also after the hub's end.
  std::shared_ptr<const void> claim(PeerId peer);

  /// Runs `fn` on the background thread soon. Functions that still wait when the hub ends are destroyed without being
  /// called.
  void post(std::function<void()> fn);
  /// Runs `fn` once on the background thread at or shortly after `when`.
  TimerId schedule(std::chrono::steady_clock::time_point when, std::function<void()> fn);
  /// After a call on the background thread `fn` does not run. After a call on another thread it may still be running.
  /// Unknown ids are ignored.
  void cancel(TimerId timer);

  bool on_background_thread() const;
  bool forked() const;  ///< true in a child of the process that made this hub
  const ProcessId& process_id() const;
  int domain() const;
  const std::string& domain_directory() const;  ///< for messages to people
  /// Whether no socket joins the peer now; a frame opens a link. Any thread.
  bool is_parked(PeerId peer) const;
  /// Peers that are connected now, the parked ones included. Any thread.
  std::size_t peer_count() const;
  /// Number of processes with a name in the domain and no connection that is up: the handshake is running, or the
  /// process is dead, stopped or refused. Any thread.
  std::size_t unmet_count() const;
  /// Processes that have accepted a connection of this one and not answered, sorted, as local_pid. Any thread.
  std::vector<std::int32_t> unmet_pids() const;

 private:
  friend struct HubInside;  // hub_discovery_test.cpp
  struct Impl;
  explicit Hub(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::transport
