// SPDX-License-Identifier: Apache-2.0
// Frames of this process to itself: the queue in which they wait for the background thread, and what becomes of them when an endpoint
// ends before. Frames of a loan do not wait: deliver_to_self().
#include <algorithm>
#include <new>
#include <utility>

#include "participant.hpp"

namespace baton::transport {
namespace {

/// Before a frame whose descriptors could not be duplicated is tried again.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);

/// The pair that a frame of this process to itself is about; no reader: all readers of the writer.
struct Pair {
  Gid writer{}, reader{};
};
Pair pair_of(FrameType type, const Payload& payload) {
  const auto both = [](const auto& decoded) { return decoded ? Pair{decoded->writer, decoded->reader} : Pair{}; };
  switch (type) {
    case FrameType::kAttach:
      return both(decode_attach(payload));
    case FrameType::kAttached:
      return both(decode_attached(payload));
    case FrameType::kRefused:
    case FrameType::kClosed:
      return both(decode_refused(payload));
    case FrameType::kDetach:
    case FrameType::kWakeSocket:
    case FrameType::kCall:
    case FrameType::kRest:
      return both(decode_pair(payload));
    case FrameType::kSegment:
    case FrameType::kRetired: {
      const Result<SegmentFrame> decoded = decode_segment(payload);
      return decoded ? Pair{decoded->writer, {}} : Pair{};
    }
    default:
      return {};
  }
}

}  // namespace

void Participant::Impl::send(PeerId peer, FrameType type, Payload payload, std::vector<os::SharedFd> fds) {
  if (peer != kSelf) {
    hub_->send(peer, static_cast<std::uint16_t>(type), std::move(payload), std::move(fds));
    return;
  }
  const os::Lock lock(to_self_mutex_);
  to_self_.push_back({static_cast<std::uint16_t>(type), std::move(payload), std::move(fds), false});
  if (to_self_posted_) return;
  try {
    hub_->post([this] { deliver_to_self_from_queue(); });
  } catch (...) {
    to_self_.pop_back();
    throw;
  }
  to_self_posted_ = true;
}

/// Background thread. A frame whose descriptors cannot be duplicated waits, and so do the frames behind it, since their
/// order counts. The same if memory is short: the next call continues with that frame.
void Participant::Impl::deliver_to_self_from_queue() {
  std::size_t most = 0;
  {
    const os::Lock lock(to_self_mutex_);
    most = to_self_.size();
  }
  // Only this thread removes frames, so the first frame stays in place meanwhile.
  for (; most > 0; --most) {
    Frame frame;
    bool over = false;
    {
      const os::Lock lock(to_self_mutex_);
      const FrameToSelf& next = to_self_.front();
      over = next.over;
      frame.fds.reserve(next.fds.size());
      frame.payload = next.payload;
      frame.type = next.type;
      for (const os::SharedFd& fd : next.fds) {
        if (over) break;
        frame.fds.push_back(os::duplicate(fd->get()));
        if (frame.fds.back()) continue;
        if (!std::exchange(to_self_told_, true)) {
          diagnose(Diagnostic::Level::kError, Errc::out_of_descriptors,
                   "no file descriptor left to connect endpoints of this process; raise RLIMIT_NOFILE; trying again");
        }
        hub_->schedule(std::chrono::steady_clock::now() + kDescriptorPause, [this] { deliver_to_self_from_queue(); });
        return;
      }
    }
    if (Result<void> handled = over ? Result<void>() : handle_next_to_self(std::move(frame)); !handled)
      diagnose(Diagnostic::Level::kError, handled.error().code, handled.error().message);
    FrameToSelf done;  // its descriptors are closed without the lock
    const os::Lock lock(to_self_mutex_);
    done = std::move(to_self_.front());
    to_self_.pop_front();
  }
  const os::Lock lock(to_self_mutex_);
  if (!to_self_.empty()) hub_->post([this] { deliver_to_self_from_queue(); });
  to_self_posted_ = !to_self_.empty();
}

/// Handles the first frame of the queue, unless deliver_last_to_self() or drop_to_self() came before. What is over is known with mutex_
/// only: without it an endpoint may end, and a later one with its id begin, between the look and the handling.
Result<void> Participant::Impl::handle_next_to_self(Frame&& frame) {
  const os::Lock lock(mutex_);
  const auto over = [this]() BATON_REQUIRES(to_self_mutex_) -> bool& { return to_self_.front().over; };
  {
    const os::Lock queue_lock(to_self_mutex_);
    if (over()) return {};
  }
  Result<void> handled = handle(kSelf, std::move(frame));  // repeatable: if it throws, it is called again
  const os::Lock queue_lock(to_self_mutex_);
  over() = true;
  return handled;
}

/// Handles what this writer, which ends, has sent to readers of this process. Another process gets its SEGMENT and ATTACHED
/// before the WITHDRAW. In this process the end is a call, which overtakes the queue: a reader that still waited for ATTACHED would
/// forget the connection, and with it every message that the writer has published to it.
void Participant::Impl::deliver_last_to_self(const Gid& writer) noexcept {
  try {
    std::vector<Frame> last;
    bool lacking = false;
    {
      const os::Lock lock(to_self_mutex_);
      for (FrameToSelf& sent : to_self_) {
        const auto type = static_cast<FrameType>(sent.type);
        if (sent.over || pair_of(type, sent.payload).writer != writer) continue;
        sent.over = true;
        // To the writer: nothing was published to this reader, and a later writer with this id must not answer.
        if (type == FrameType::kAttach || type == FrameType::kDetach || type == FrameType::kWakeSocket) continue;
        Frame frame;
        frame.type = sent.type;
        frame.payload = sent.payload;
        for (const os::SharedFd& fd : sent.fds) frame.fds.emplace_back(os::duplicate(fd->get()));
        if (std::all_of(frame.fds.begin(), frame.fds.end(), [](const auto& fd) { return static_cast<bool>(fd); })) {
          last.push_back(std::move(frame));
        } else {
          lacking = true;
        }
      }
    }
    if (lacking) {
      diagnose(Diagnostic::Level::kError, Errc::out_of_descriptors,
               "no file descriptor left to give a subscription of this process the last messages of a publisher that "
               "has ended; "
               "raise RLIMIT_NOFILE");
    }
    for (Frame& frame : last) {
      if (Result<void> handled = handle(kSelf, std::move(frame)); !handled)
        diagnose(Diagnostic::Level::kError, handled.error().code, handled.error().message);
    }
  } catch (const std::bad_alloc&) {
    // These readers lose what they have not got.
  }
}

/// A later reader with the id of this one, which has ended, gets nothing that was meant for this one.
void Participant::Impl::drop_to_self(const Gid& reader) noexcept {
  try {
    const os::Lock lock(to_self_mutex_);
    for (FrameToSelf& sent : to_self_) {
      if (!sent.over && pair_of(static_cast<FrameType>(sent.type), sent.payload).reader == reader) sent.over = true;
    }
  } catch (const std::bad_alloc&) {
    // Of a frame with a text. Ids are hardly ever used again.
  }
}

void Participant::Impl::deliver_to_self(Frame&& frame) {
  if (Result<void> handled = on_frame(kSelf, std::move(frame)); !handled) {
    diagnose(Diagnostic::Level::kError, handled.error().code, handled.error().message);
  }
}

}  // namespace baton::transport
