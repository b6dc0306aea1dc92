// SPDX-License-Identifier: Apache-2.0
#include "session_stream.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "advertisement.hpp"
#include "baton/os/clock.hpp"
#include "frame_input.hpp"
#include "serving_thread.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::steady_clock;

/// Without other frames kAlive is sent so often.
constexpr std::chrono::milliseconds kAlive{500};
/// The pause between two offers of a chunk that cannot be delivered yet ...
constexpr std::chrono::milliseconds kOfferAgain{2};
/// ... or so many times the duration of the last offer, if that is longer: an offer locks receivers for which other threads wait.
constexpr int kOfferPause = 4;
/// Bytes of messages that wait for delivery, of one connection. Beyond this the connection is not read.
constexpr std::size_t kMostWaitingBytes = std::size_t{128} << 20;
/// While more frames have already arrived, acknowledgements are sent after so many frames.
constexpr std::size_t kSayEvery = 32;
/// Acknowledgements that wait because the host does not read.
constexpr std::size_t kMostControlFrames = 65536;

/// The mark of urgent packets: CS4, "real-time interactive" (RFC 4594, section 4.4), which Wi-Fi sends as video (RFC 8325, section 4.2.5).
constexpr std::uint8_t kUrgentMark = 32;

}  // namespace

SessionStream::SessionStream(TrafficClass traffic_class, const Gid& key, std::string address,
                             std::shared_ptr<const ReceiverTable> channels, Hooks hooks)
    : class_(traffic_class),
      hooks_(std::move(hooks)),
      getting_(key, std::move(channels)),
      sending_(wait_set_, traffic_class),
      address_(std::move(address)),
      since_(steady_clock::now()) {}

Result<void> SessionStream::start() {
  {
    const os::Lock lock(mutex_);
    since_ = steady_clock::now();
  }
  Result<pthread_t> thread = os::start_thread("baton-link-out", kNetworkStackBytes, [this] { write(); });
  if (!thread) return thread.error();
  writer_ = *thread;
  return {};
}

void SessionStream::end() {
  {
    const os::Lock lock(mutex_);
    stop_.store(true, std::memory_order_release);  // pairs with the acquire in write()
    if (connection_) connection_->end();
  }
  wait_set_.wake();
  if (writer_) pthread_join(*writer_, nullptr);
  writer_.reset();
}

std::optional<std::vector<MovingFlow>> SessionStream::take_all() {
  const os::Lock lock(mutex_);
  if (connection_) return std::nullopt;
  std::vector<MovingFlow> out = sending_.take_all();
  sealed_ = sealed_ || !out.empty();
  return out;
}

void SessionStream::unseal() {
  const os::Lock lock(mutex_);
  sealed_ = false;
}

std::optional<FlowReceiver::ReceivedFlow> SessionStream::take_received(std::uint32_t flow) {
  {
    const os::Lock lock(mutex_);
    taking_ = true;  // else another connection could be read first, for as long as the other side wishes
    if (connection_) connection_->end();  // the other side has left it
  }
  std::optional<FlowReceiver::ReceivedFlow> out;
  {
    const os::Lock reading(reading_);
    out = getting_.take(flow);
  }
  const os::Lock lock(mutex_);
  taking_ = false;
  return out;
}

void SessionStream::ask_for_bulk(std::uint64_t key) {
  {
    const os::Lock lock(mutex_);
    if (asks_for_bulk_) return;
    HostFrame& ask = asks_for_bulk_.emplace();
    ask.kind = FrameKind::kBulk;
    ask.number = key;
    if (connection_) control_frames_.push_back(ask);
  }
  wait_set_.wake();
}

bool SessionStream::attach(const std::shared_ptr<HostConnection>& connection) {
  std::shared_ptr<HostConnection> before;
  {
    const os::Lock lock(mutex_);
    if (stop_.load(std::memory_order_relaxed)) return false;
    if (connection_ && connection_->dialed_by_smaller && !connection->dialed_by_smaller) return false;
    before = connection_;
    if (before) before->end();
  }
  // The thread that reads the connection before this one ends now.
  const os::Lock reading(reading_);
  {
    const os::Lock lock(mutex_);
    if (stop_.load(std::memory_order_relaxed) || sealed_ || taking_ || (connection_ && connection_ != before))
      return false;
    if (connection_) {
      sending_.disconnected();
    } else {
      before_ = since_;
    }
    connection_ = connection;
    address_ = connection->wire->address();
    since_ = steady_clock::now();
    connected_since_ns_ = os::monotonic_ns();
    control_frames_.clear();
    answer_ = 0;
    round_trip_ = {};
    getting_.connected(control_frames_);
    if (asks_for_bulk_) control_frames_.push_back(*asks_for_bulk_);
    sending_.connected();
  }
  if (class_ == TrafficClass::kUrgent) connection->wire->mark(kUrgentMark);
  wait_set_.wake();
  hooks_.changed(true);
  return true;
}

void SessionStream::detach(const std::shared_ptr<HostConnection>& connection) {
  connection->end();
  {
    const os::Lock lock(mutex_);
    if (!current(connection)) return;
    sent_again_ += connection->wire->measured().sent_again;
    connection_.reset();
    // A bulk connection that never became ready was none: else connections that end at once would keep its flows waiting.
    since_ = sending_.is_ready() || class_ == TrafficClass::kUrgent ? steady_clock::now() : before_;
    sending_.disconnected();
  }
  wait_set_.wake();
  hooks_.changed(false);
}

// --- writing ---

void SessionStream::collect(std::vector<OutgoingFrame>& frames, std::shared_ptr<HostConnection>& connection,
                            bool& leaving) {
  const os::Lock lock(mutex_);
  connection = connection_;
  if (!connection) return;
  for (const HostFrame& each : control_frames_) frames.push_back({each, {}, {}});
  control_frames_.clear();
  HostFrame alive;
  alive.number = round_trip_.ask(os::monotonic_ns());
  alive.offset = std::exchange(answer_, 0);
  if (alive.number != 0 || alive.offset != 0) frames.push_back({alive, {}, {}});
  sending_.next(output_.batch_bytes(), kBatchFrames, steady_clock::now(), frames);
  leaving = sending_.has_leaving();
}

void SessionStream::write() {
  std::vector<OutgoingFrame> frames;
  auto said = steady_clock::now();
  std::shared_ptr<HostConnection> last;
  while (!stop_.load(std::memory_order_acquire)) {
    frames.clear();
    std::shared_ptr<HostConnection> connection;
    bool leaving = false;
    collect(frames, connection, leaving);
    if (leaving) hooks_.leaving();
    if (connection && connection != last) output_.begin(*connection->wire);
    last = connection;
    const auto now = steady_clock::now();
    if (connection && frames.empty() && now - said >= kAlive) frames.emplace_back();
    if (connection && !frames.empty()) {
      if (!output_.write(*connection->wire, frames))
        connection->end();  // the thread that reads the connection notices this, too
      said = steady_clock::now();
      continue;
    }
    if (!connection) hooks_.unconnected();
    frames.clear();  // chunks that have arrived are not kept while nothing is sent
    static_cast<void>(wait_set_.wait(connection ? said + kAlive - now : std::chrono::nanoseconds(kAlive)));
  }
}

// --- reading ---

Result<void> SessionStream::take_frame(FrameInput& input, const std::shared_ptr<HostConnection>& connection) {
  std::array<std::byte, kFrameBytes> bytes;
  if (Result<void> come = input.read(bytes.data(), bytes.size()); !come) return come;
  const Result<HostFrame> frame = decode_frame(bytes.data());
  if (!frame) return frame.error();
  switch (frame->kind) {
    case FrameKind::kPart: {
      if (Result<void> begun = getting_.begin_part(*frame); !begun) return begun;
      if (getting_.header_bytes() != 0) {
        Result<void> come = input.read(reinterpret_cast<std::byte*>(&getting_.header()), getting_.header_bytes());
        if (!come) return come;
      }
      std::byte* const place = getting_.place();
      if (Result<void> come = input.read(place, getting_.place_bytes()); !come) return come;
      getting_.end_part();
      got_messages_.store(getting_.messages(), std::memory_order_relaxed);
      got_bytes_.store(getting_.bytes(), std::memory_order_relaxed);
      return {};
    }
    case FrameKind::kOpen: {
      std::string channel(frame->size, '\0');
      if (Result<void> come = input.read(reinterpret_cast<std::byte*>(channel.data()), channel.size()); !come)
        return come;
      const auto before = static_cast<std::uint32_t>(frame->number);
      const bool continues = before != 0 && !getting_.has(frame->flow);
      Result<void> opened = getting_.open(*frame, channel, continues ? hooks_.continued(before) : std::nullopt);
      if (opened && continues) {
        const os::Lock lock(mutex_);
        if (control_frames_.size() > kMostControlFrames)
          return Error{Errc::protocol_violation, "it sends and does not read"};
        if (current(connection)) control_frames_.push_back(getting_.resume(frame->flow));
        wait_set_.wake();
      }
      if (opened && channel != kAdvertisementChannel && getting_.is_received(frame->flow))
        brings_.store(true, std::memory_order_relaxed);  // see carries()
      return opened;
    }
    case FrameKind::kClose:
      getting_.close(frame->flow);
      return {};
    case FrameKind::kReady: {
      if (Result<void> ready = getting_.ready(frame->number); !ready) return ready;
      ready_ = true;
      const os::Lock lock(mutex_);
      if (current(connection)) sending_.ready();
      wait_set_.wake();
      return resumed_;
    }
    case FrameKind::kResume: {
      const os::Lock lock(mutex_);
      if (!current(connection)) return {};
      const Result<void> resumed = sending_.resume(*frame);
      if (resumed_) resumed_ = resumed;
      wait_set_.wake();  // a flow that continues may be sent now
      // What is wrong may be out of date. Then kReady says so.
      return ready_ ? resumed_ : Result<void>();
    }
    case FrameKind::kAck: {
      const os::Lock lock(mutex_);
      if (!current(connection)) return {};
      Result<void> taken = sending_.acknowledge(*frame);
      wait_set_.wake();
      return taken;
    }
    case FrameKind::kAlive: {
      if (frame->number == 0 && frame->offset == 0) return {};
      const os::Lock lock(mutex_);
      if (!current(connection)) return {};
      round_trip_.answer(frame->offset, os::monotonic_ns());
      if (frame->number == 0) return {};
      answer_ = frame->number;
      wait_set_.wake();
      return {};
    }
    case FrameKind::kBulk:
      hooks_.bulk_wanted(frame->number);
      return {};
  }
  return {};
}

Error SessionStream::read(const std::shared_ptr<HostConnection>& connection) {
  Error reason{Errc::system, "another connection to it is used"};
  {
    const os::Lock reading(reading_);
    FrameInput input(*connection->wire);
    ready_ = false;
    resumed_ = {};
    bool waiting = true;  // of the connection before
    auto next_offer = steady_clock::now();
    std::vector<HostFrame> acks;
    for (std::size_t taken_frames = 0;; ++taken_frames) {
      {
        const os::Lock lock(mutex_);
        if (!current(connection)) break;
      }
      if (const auto begin = steady_clock::now(); waiting && begin >= next_offer) {
        waiting = getting_.offer_again();
        const auto end = steady_clock::now();
        next_offer = end + std::max<steady_clock::duration>(kOfferAgain, kOfferPause * (end - begin));
      }
      acks.clear();
      if (!input.buffered() || taken_frames % kSayEvery == 0) getting_.acknowledgements(acks);
      if (!acks.empty()) {
        {
          const os::Lock lock(mutex_);
          if (!current(connection)) break;
          if (control_frames_.size() > kMostControlFrames) {
            reason = {Errc::protocol_violation, "it sends and does not read"};
            break;
          }
          control_frames_.insert(control_frames_.end(), acks.begin(), acks.end());
        }
        wait_set_.wake();
      }
      if (getting_.waiting_bytes() > kMostWaitingBytes) {
        if (connection->ended()) {
          reason = {Errc::system, "the connection has ended"};
          break;
        }
        std::this_thread::sleep_for(kOfferAgain);
        input.heard();
        continue;
      }
      const Result<bool> ready = input.ready(waiting ? kOfferAgain : kAlive);
      if (!ready) {
        reason = ready.error();
        break;
      }
      if (!*ready) continue;
      if (Result<void> taken = take_frame(input, connection); !taken) {
        reason = taken.error();
        break;
      }
      waiting = true;
    }
  }
  detach(connection);
  return reason;
}

SessionStream::Presence SessionStream::presence() const {
  const os::Lock lock(mutex_);
  Presence out;
  out.address = address_;
  out.connected = connection_ != nullptr;
  out.was_connected = connected_since_ns_ != 0;
  out.since = since_;
  if (connection_) out.dialed = connection_->dialed;
  return out;
}

void SessionStream::add_counts(HostState& state) const {
  state.received_messages += got_messages_.load(std::memory_order_relaxed);
  state.received_bytes += got_bytes_.load(std::memory_order_relaxed);
  const os::Lock lock(mutex_);
  const FlowSender::Totals totals = sending_.totals();
  state.sent_messages += totals.messages;
  state.sent_bytes += totals.bytes;
  state.waiting_messages += totals.waiting_messages;
  state.waiting_bytes += totals.waiting_bytes;
  state.sent_again += sent_again_;
  if (connection_) state.sent_again += connection_->wire->measured().sent_again;
}

std::size_t SessionStream::waiting_bytes() const {
  const os::Lock lock(mutex_);
  const FlowSender::Totals totals = sending_.totals();
  return totals.waiting_bytes + totals.queued_bytes;
}

void SessionStream::describe(HostState& state) const {
  const os::Lock lock(mutex_);
  state.address = address_;
  if (!connection_) return;
  state.connected = true;
  state.connected_since_ns = connected_since_ns_;
  state.encrypted = connection_->wire->encrypted();
  state.certificate = connection_->wire->certificate();
  state.round_trip_ns = round_trip_.least_ns();
}

}  // namespace baton::link::stream
