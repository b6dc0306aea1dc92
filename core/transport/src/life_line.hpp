// SPDX-License-Identifier: Apache-2.0
// The socket between two processes as proof of which process still uses the other's memory (docs/format/handshake.md,
// section 6). A process keeps its sending direction open while it may read the other's memory, also after BYE. The end
// of file says that it no longer may: it has declared so, or it is dead. Nothing else is a proof: not BYE, not a stall,
// not a lack of descriptors.
//
//   LifeLine         the socket; the hub uses it for frames and, after BYE, to watch for the end of file
//   LifeLine::Claim  counted: this process may read the other's memory. The last claim ends the sending direction
//
// Thread rules: claims may be copied and dropped on any thread; everything else needs the hub's lock. A forked child
// has no socket, and its claims have no effect.
// Invariant: the sending direction is open while a claim lives, until hang_up().
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "baton/os/crash_point.hpp"
#include "baton/os/disposal.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/parent_only_fd.hpp"
#include "baton/os/unix_socket.hpp"

namespace baton::transport {

class LifeLine {
 public:
  class Claim {
   public:
    explicit Claim(std::shared_ptr<LifeLine> line) : line_(std::move(line)) {}
    ~Claim() {
      BATON_CRASH_POINT("claim.before_end");
      line_->end_sending();
      BATON_CRASH_POINT("claim.after_end");
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    const std::shared_ptr<LifeLine> line_;
  };

  explicit LifeLine(os::UniqueFd socket) { socket_.emplace(std::move(socket)); }
  ~LifeLine() {
    if (generation_ == os::fork_generation()) hang_up();
  }
  LifeLine(const LifeLine&) = delete;
  LifeLine& operator=(const LifeLine&) = delete;

  /// -1 after hang_up() until adopt(), and in a forked child.
  int socket() const noexcept { return socket_ ? socket_->get() : -1; }
  /// A link that was parked goes on: the socket of `fresh` becomes this one's, and claims hold it open. REQUIRES: no socket.
  void adopt(LifeLine& fresh) noexcept {
    const os::Lock lock(mutex_);
    const os::Lock lock_fresh(fresh.mutex_);
    os::UniqueFd socket = fresh.socket_->release();
    fresh.socket_.reset();
    socket_.emplace(std::move(socket));
  }
  /// Closes the socket; claims have no effect any more.
  void hang_up() noexcept {
    const os::Lock lock(mutex_);
    if (!socket_) return;
    os::UniqueFd socket = socket_->release();
    socket_.reset();
    if (!socket) return;
    // Unread packets may hold descriptors whose close blocks. The other end still sees the end at once.
    os::end_both_directions(socket.get());
    os::close_socket(std::move(socket));
  }

 private:
  void end_sending() noexcept {
    if (generation_ != os::fork_generation()) return;  // these are the parent's, and the mutex may be locked for ever
    const os::Lock lock(mutex_);
    if (socket_ && *socket_) os::end_sending(socket_->get());
  }

  const std::uint32_t generation_ = os::fork_generation();
  os::Mutex mutex_;  // innermost: the socket must not close during end_sending() on another thread
  std::optional<os::ParentOnlyFd> socket_;
};

}  // namespace baton::transport
