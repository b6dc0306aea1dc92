// SPDX-License-Identifier: Apache-2.0
#include "outgoing.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "baton/memory/arena.hpp"
#include "baton/os/crash_point.hpp"
#include "buffers.hpp"

namespace baton::ros1 {

Outgoing::Frames Outgoing::marker(std::uint64_t number) const {
  Frames out{boost::shared_array<std::uint8_t>(new std::uint8_t[kLengthBytes + kMarkerBytes]),
             kLengthBytes + kMarkerBytes};
  put_marker(out.buffer.get(), kMarkerBytes, secret_, number);
  return out;
}

Outgoing::Frames Outgoing::nothing() {
  const os::Lock lock(mutex_);
  if (!nothing_) nothing_ = marker(kNothing).buffer;
  return {nothing_, kLengthBytes + kMarkerBytes};
}

void Outgoing::set_link(const boost::weak_ptr<ros::SubscriberLink>& link) {
  const os::Lock lock(mutex_);
  link_ = link;
}

boost::shared_ptr<ros::SubscriberLink> Outgoing::link() {
  const os::Lock lock(mutex_);
  return link_.lock();
}

/// Moves what the subscriber has taken over its connection of now to `out`, so that it ends without the lock.
void Outgoing::take_collected(const transport::Writer::Unread& now, std::vector<Sent>& out) {
  if (now.connection == 0) return;
  const auto first = std::find_if(sent_.begin(), sent_.end(),
                                  [&](const Sent& message) { return message.connection == now.connection; });
  const auto on_it = static_cast<std::uint64_t>(sent_.end() - first);
  const auto last = sent_.end() - static_cast<std::ptrdiff_t>(std::min(now.messages, on_it));
  std::move(first, last, std::back_inserter(out));
  sent_.erase(first, last);
}

bool Outgoing::collect() {
  std::vector<Sent> taken;  // ends after the lock: its end takes locks of the transport
  const os::Lock lock(mutex_);
  if (sent_.empty()) return false;
  const transport::Writer::Unread now = writer_->unread(reader_);
  take_collected(now, taken);
  return !sent_.empty() && sent_.front().connection != now.connection;
}

std::optional<Outgoing::Frames> Outgoing::replace(const boost::shared_array<std::uint8_t>& buffer,
                                                  std::uint32_t bytes) {
  std::vector<Sent> repeated, taken;  // end after the lock
  const os::Lock lock(mutex_);
  Frames last{buffer, bytes};
  std::uint64_t waiting_bytes = bytes;
  for (const Sent& message : sent_) waiting_bytes += message.message.bytes;
  std::optional<Buffers::HandedOver> handed;
  if (memory::in_window(buffer.get()) && waiting_bytes <= kMostWaitingBytes) {
    handed = Buffers::instance().publish_to(buffer.get(), *writer_, reader_);
    BATON_CRASH_POINT("ros1.handed_over");
  }
  // The connection may have ended, or been replaced, since the last write.
  transport::Writer::Unread now = writer_->unread(reader_);
  if (handed && now.connection == handed->connection) {
    if (now.messages > 0) --now.messages;  // this one is not in sent_ yet
  } else if (handed) {
    now = {handed->connection, UINT64_MAX};  // it has just ended: the next write repeats its messages
  }
  take_collected(now, taken);
  while (!sent_.empty() && sent_.front().connection != now.connection) {
    repeated.push_back(std::move(sent_.front()));
    sent_.pop_front();
  }
  if (handed) {
    last = marker(handed->number);
    sent_.push_back({handed->number, handed->connection, {buffer, bytes}});
  }
  if (repeated.empty()) return handed ? std::optional<Frames>(last) : std::nullopt;
  std::optional<Frames> joined = join(repeated, buffer == nothing_ ? Frames() : last);
  if (joined) {
    BATON_CRASH_POINT("ros1.repeated");
    return joined;
  }
  // No memory now: the repeats may come later, because the subscriber keeps what comes before them.
  sent_.insert(sent_.begin(), std::make_move_iterator(repeated.begin()), std::make_move_iterator(repeated.end()));
  repeated.clear();
  return handed ? std::optional<Frames>(last) : std::nullopt;
}

/// One buffer, since Connection::write() takes one.
std::optional<Outgoing::Frames> Outgoing::join(const std::vector<Sent>& repeated, const Frames& last) const try {
  std::size_t total = last.bytes;
  for (const Sent& message : repeated) total += kMarkerBytes + message.message.bytes;
  Frames out{boost::shared_array<std::uint8_t>(new std::uint8_t[total]), static_cast<std::uint32_t>(total)};
  std::uint8_t* at = out.buffer.get();
  for (const Sent& message : repeated) {
    const std::uint32_t content = message.message.bytes - kLengthBytes;
    put_marker(at, kMarkerBytes + content, secret_, message.number);
    at += kLengthBytes + kMarkerBytes;
    std::memcpy(at, message.message.buffer.get() + kLengthBytes, content);
    at += content;
  }
  if (last.bytes > 0) std::memcpy(at, last.buffer.get(), last.bytes);
  return out;
} catch (const std::bad_alloc&) {
  return std::nullopt;
}

}  // namespace baton::ros1
