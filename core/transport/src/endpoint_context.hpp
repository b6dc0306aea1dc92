// SPDX-License-Identifier: Apache-2.0
// What writers, readers and wait sets need of their participant: frames, reports, the background thread. They know no more of it.
// Thread rules: any thread; a function that takes the participant's mutex, or needs it, says so. "The mutex" is the participant's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/line_budget.hpp"
#include "baton/os/unique_fd.hpp"
#include "baton/transport/transport.hpp"
#include "connection.hpp"
#include "frames.hpp"
#include "hub.hpp"
#include "wake_descriptor.hpp"

namespace baton::transport {

/// Made by the participant; outlives its endpoints, which share it.
class EndpointContext {
 public:
  virtual void send(PeerId peer, FrameType type, Payload payload, std::vector<os::SharedFd> fds) = 0;
  void send(PeerId peer, FrameType type, Payload payload) { send(peer, type, std::move(payload), {}); }
  /// Handles a frame of this process at once. No lock may be held.
  virtual void deliver_to_self(Frame&& frame) = 0;
  virtual Hub& hub() noexcept = 0;
  /// Calls `fn` on the background thread.
  void post(std::function<void()> fn) { hub().post(std::move(fn)); }
  /// Each diagnostic of this process in the domain passes through its line budget (os::LineBudget), as a line of the kind `code`. It is
  /// dropped if memory is short.
  virtual void diagnose(Diagnostic::Level level, Errc code, std::string text) noexcept = 0;
  /// A diagnose() for what `peer` can cause at will: of each process only kMaxReports per kReportWindow are reported, and
  /// `text()` is called for these only. `kind`: for a code that the peer chooses. True if it was reported.
  template <class Text>
  bool diagnose_about(PeerId peer, Diagnostic::Level level, Errc code, Text&& text,
                      std::optional<Errc> kind = {}) BATON_UNCHECKED_LOCKS {  // `text` needs locks of the caller
    const std::optional<os::LineBudget::Line> line = admit(peer, kind.value_or(code));
    if (line) say(*line, level, code, text());
    return line.has_value();
  }
  /// Identifies the process of `peer`; 0 for this process and for a peer that is not connected. With the mutex.
  virtual std::uint64_t process_of(PeerId peer) const = 0;
  /// As processes show it.
  virtual std::int32_t pid_of(PeerId peer) const = 0;
  /// Hold the result while you read memory of `peer`: Hub::claim. Null for this process and for a peer that is not
  /// connected.
  std::shared_ptr<const void> claim(PeerId peer) { return peer == kSelf ? nullptr : hub().claim(peer); }
  /// A descriptor to send; null (and a diagnostic) if the process has none left.
  virtual os::SharedFd duplicate(int fd) = 0;
  virtual EventPages& event_pages() noexcept = 0;
  virtual Participant::MemoryAccount memory_account() const = 0;
  virtual void give_wake_socket(PeerId peer, const Gid& writer, const Gid& reader, const os::SharedFd& notify_end) = 0;
  virtual WakePairs& wake_pairs() noexcept = 0;
  /// Ends the connection to a process that misused the socket with which it wakes a subscription. Takes no lock of
  /// participants.
  virtual void broke_wake_socket(PeerId peer) = 0;
  /// Excludes the endpoint from matching.
  virtual void ban(const Gid& endpoint) = 0;
  /// A reader found that a writer broke the protocol.
  virtual void expel(PeerId peer, const Gid& reader, const Gid& writer, const Error& error) = 0;
  /// Endpoints, nodes or matches have changed: wakes Participant::wait_graph_change().
  virtual void graph_changed() noexcept = 0;
  virtual void withdraw_writer(const Gid& gid) noexcept = 0;  ///< takes the mutex
  virtual void withdraw_reader(const Gid& gid) noexcept = 0;  ///< takes the mutex

 protected:
  ~EndpointContext() = default;
  /// For diagnose_about(): whether a line about `about` is said.
  virtual std::optional<os::LineBudget::Line> admit(PeerId about, Errc kind) noexcept = 0;
  virtual void say(const os::LineBudget::Line& line, Diagnostic::Level level, Errc code, std::string text) noexcept = 0;
};

/// For WakeDescriptor::drain().
inline void broke_wake_socket(const Notifier& notifier) {
  if (const std::shared_ptr<EndpointContext> context = notifier.context.lock())
    context->broke_wake_socket(notifier.peer);
}

}  // namespace baton::transport
