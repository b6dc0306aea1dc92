// SPDX-License-Identifier: Apache-2.0
// The hub: this process's presence in one domain directory. It finds the other processes, keeps one socket to each, moves
// frames (bytes plus descriptors) and owns the one background thread with its timers. It knows nothing of topics.
// The protocol on the socket: docs/format/handshake.md (normative).
//
// Thread rules: send, disconnect, post, schedule, cancel and the getters may be called from any thread, callbacks included;
// none of them blocks. Every HubHandler function, posted function and timer runs on the background thread, one at a time,
// and never while the hub holds a lock: a handler may take its own locks and call the hub.
//
// Invariants
// 1. Between on_peer_up(p) and on_peer_down(p) there is exactly one connection to p's process; a PeerId is never reused.
//    A process that was disconnected without fault (a stall, a lack of descriptors) comes back under a new PeerId. A peer passes
//    through these states, in this order, and may leave out the second:
//      connected     from on_peer_up to on_peer_down: frames travel
//      disconnected  from on_peer_down to on_peer_gone: no frames, but its process may live and read what it holds
//      gone          from on_peer_gone on: its process is dead, or said that it holds nothing any more
// 2. Frames to one peer arrive in the order of send() and at most once; after on_peer_down(p) no frame of p is delivered.
// 3. No peer can block the hub, make it allocate without bound, or hold descriptors open in it without bound. What a peer sends
//    is closed where it may block (os/disposal.hpp).
// 4. With nothing to do the background thread sleeps without a timeout.
// 5. After fork() the child has none of the hub's descriptors; every call on the hub is a no-op there.
// 6. std::bad_alloc on the background thread ends there. A peer whose frame could not be handled is disconnected and may come back;
//    a posted function or a timer that threw it is called again after a pause, in its place; on_peer_down() too.
// 7. The background thread serves all peers, timers and posted functions in turn, each for about kSliceTime at most.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/os/disposal.hpp"
#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"
#include "baton/transport/diagnostic.hpp"

namespace baton::transport {

using PeerId = std::uint64_t;   ///< never 0, never reused within a hub
using TimerId = std::uint64_t;  ///< never 0
using ProcessId = std::array<std::uint8_t, 16>;

/// Frame types below this are the hub's own (HELLO, BYE).
inline constexpr std::uint16_t kFirstUserFrame = 0x0100;
/// Larger payloads are the caller's error; the hub splits a payload into packets and joins them again.
inline constexpr std::size_t kMaxPayloadBytes = 256 * 1024;
inline constexpr std::size_t kMaxFrameFds = 4;
/// What may wait for one peer: beyond the first bounds it is disconnected if it has taken nothing for kStallTime, beyond the
/// second (for descriptors: half of RLIMIT_NOFILE) at once.
inline constexpr std::size_t kMaxQueuedBytes = 1024 * 1024;
inline constexpr std::size_t kMaxQueuedFds = 256;
inline constexpr std::size_t kHardQueuedBytes = 4 * kMaxQueuedBytes;
/// For all peers of one user together; beyond it those are disconnected at once for which more than kMaxQueuedBytes wait.
inline constexpr std::size_t kMaxQueuedBytesPerUser = 64 * kMaxQueuedBytes;
inline constexpr std::chrono::microseconds kSliceTime{500};
inline constexpr std::chrono::milliseconds kStallTime{1000};
/// Connections of one foreign process, fewer where descriptors are few. An honest one has one connection, for a moment two, and
/// one more for each that ended while it held samples.
inline constexpr std::size_t kMaxLinksPerProcess = 16;
/// After so many violations a process is refused under whatever name.
inline constexpr unsigned kMaxViolations = 4;
/// Connections that one process may begin per kArrivalsWindow.
inline constexpr unsigned kMaxArrivals = 64;
inline constexpr std::chrono::seconds kArrivalsWindow{10};

struct PeerInfo {
  ProcessId process_id{};
  std::int32_t pid = 0;  ///< in this process's pid namespace, or as the peer stated it when it is not visible here
  std::int32_t local_pid = 0;  ///< in this process's pid namespace, from the kernel; 0: not visible
  std::uint32_t uid = 0;       ///< of the peer, from the kernel
  /// Equal for all connections of one process, and for no other process: os::process_identity(), on older kernels its pid; 0: unknown.
  std::uint64_t identity = 0;
  std::string name;  ///< the peer's own words (at most 255 bytes, printable ASCII)
  std::uint16_t version = 0;
};

/// What arrived. Descriptors are close-on-exec and belong to whoever holds the frame.
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
  /// No frames come or go any more. Whether its process lives is not known: what it holds stays its own until on_peer_gone().
  /// `reason` is disconnected for a peer that left, died or was given up; out_of_memory if this process had none; else what it did
  /// wrong. If it throws std::bad_alloc it is called again.
  virtual void on_peer_down(PeerId peer, const Error& reason) = 0;
  /// Asked right after on_peer_down() of a peer whose end is not known yet: whether it holds anything of this process, so that
  /// on_peer_gone() is waited for. If not, on_peer_gone() follows at once.
  /// Does not throw, nor does on_peer_gone().
  virtual bool holds_anything(PeerId) { return false; }
  /// Once after each on_peer_down(): the peer holds nothing of this process. It is dead, or said so, or holds_anything() did.
  virtual void on_peer_gone(PeerId) {}
  /// An error ends that peer's connection with a diagnostic (then on_peer_down follows); nothing else suffers.
  virtual Result<void> on_frame(PeerId peer, Frame&& frame) = 0;
};

struct HubOptions {
  int domain = -1;                ///< -1: BATON_DOMAIN, else ROS_DOMAIN_ID, else 0
  std::string runtime_directory;  ///< empty: BATON_RUNTIME_DIR, else the per-user default (runtime_directory.hpp)
  std::string name;               ///< what diagnostics of peers call this process; empty: the program's name
  std::chrono::milliseconds handshake_timeout{5000};
  std::function<void(const Diagnostic&)> on_diagnostic;  ///< background thread; empty: dropped
};

class Hub {
 public:
  /// Resolves the directory and prepares everything, but is not yet visible and calls nothing. `handler` outlives the hub.
  static Result<std::unique_ptr<Hub>> create(const HubOptions& options, HubHandler& handler);
  /// Becomes visible and starts the background thread; callbacks may come before this returns. Once only.
  Result<void> start();
  /// Says good-bye to all peers, removes the name and joins the thread; no callback runs afterwards, and on_peer_down is
  /// not called for the peers that were up. From the background thread itself: the same, the thread ends by itself. What is
  /// sent, posted or scheduled from now on is dropped. Not from two threads at once; again: nothing.
  void stop();
  ~Hub();  ///< stop(). An owner whose callbacks use its pointer to the hub stops it first: the pointer is gone in here.
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  /// Queues a frame. Silently dropped if the peer is gone (on_peer_down has come or is coming) or after fork(). A peer whose
  /// queue overflows because it does not read is disconnected with a diagnostic; so is one for which there is no memory. REQUIRES type >= kFirstUserFrame, payload.size() <=
  /// kMaxPayloadBytes, fds.size() <= kMaxFrameFds, no empty descriptor.
  void send(PeerId peer, std::uint16_t type, std::vector<std::uint8_t> payload,
            std::vector<os::SharedFd> fds = {}) noexcept;
  /// Ends the connection because of something the peer did: it is told `reason`, is not connected again during its life, and
  /// on_peer_down(peer, reason) follows. No diagnostic.
  void disconnect(PeerId peer, Error reason);
  /// Ends the connection because something for it, or of it, was lost for want of memory. It may come back, and does by itself.
  void end_for_want_of_memory(PeerId peer) noexcept;

  /// While the result lives, the peer's process keeps for this one what this one holds, also when the connection has ended
  /// meanwhile. Null if the peer is not connected. Any thread may copy and drop it, also after the hub's end.
  std::shared_ptr<const void> claim(PeerId peer);

  /// Runs `fn` on the background thread soon. Functions still waiting when the hub ends are destroyed without being called.
  void post(std::function<void()> fn);
  /// Runs `fn` once on the background thread at or shortly after `when`.
  TimerId schedule(std::chrono::steady_clock::time_point when, std::function<void()> fn);
  /// Called on the background thread: afterwards `fn` does not run. Elsewhere: it may be running now. Unknown ids are ignored.
  void cancel(TimerId timer);

  bool on_background_thread() const;
  bool forked() const;  ///< true in a child of the process that made this hub
  const ProcessId& process_id() const;
  int domain() const;
  const std::string& domain_directory() const;  ///< for messages to people
  /// Connections that are up now. Any thread.
  std::size_t peer_count() const;
  /// How many others have a name in the domain and no connection that is up: they are being met, or are dead, stopped or refused.
  /// Any thread.
  std::size_t unmet_count() const;

 private:
  struct Impl;
  explicit Hub(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace baton::transport
