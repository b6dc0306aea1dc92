// SPDX-License-Identifier: Apache-2.0
// The publisher's end of one link: writes markers in the place of messages, and repeats as bytes the messages that the
// subscriber lost because its Baton connection ended (docs/format/tcpros.md, section 3).
//
// Thread rules: any thread. replace() is called by one thread at a time, in the order of the TCP stream.
// Invariants: (1) a message whose marker was written is in `sent_` until the subscriber has taken it or the stream has it as
// bytes; (2) messages of an ended connection come before those of its successor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/shared_array.hpp>
#include <boost/weak_ptr.hpp>

#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"
#include "marker.hpp"
#include "roscpp.hpp"

namespace baton::ros1 {

class Outgoing {
 public:
  /// What Connection::write() writes.
  struct Frames {
    boost::shared_array<std::uint8_t> buffer;
    std::uint32_t bytes = 0;
  };

  Outgoing(std::shared_ptr<transport::Writer> writer, const transport::Gid& reader, const LinkSecret& secret)
      : writer_(std::move(writer)), reader_(reader), secret_(secret) {}

  /// What to write instead of the message in `buffer`; empty: the message itself.
  std::optional<Frames> replace(const boost::shared_array<std::uint8_t>& buffer, std::uint32_t bytes);

  /// Gives back what the subscriber has taken. True if messages have to be repeated: a write is due.
  bool collect();
  /// A frame without a message, for a write when the link has nothing to write.
  Frames nothing();

  const transport::Writer& writer() const { return *writer_; }
  const transport::Gid& reader() const { return reader_; }
  void set_link(const boost::weak_ptr<ros::SubscriberLink>& link);
  boost::shared_ptr<ros::SubscriberLink> link();

 private:
  struct Sent {
    std::uint64_t number = 0, connection = 0;
    Frames message;
  };

  void take_collected(const transport::Writer::Unread& now, std::vector<Sent>& out) BATON_REQUIRES(mutex_);
  std::optional<Frames> join(const std::vector<Sent>& repeated, const Frames& last) const;
  Frames marker(std::uint64_t number) const;

  const std::shared_ptr<transport::Writer> writer_;
  const transport::Gid reader_;
  const LinkSecret secret_;
  os::Mutex mutex_;
  std::deque<Sent> sent_ BATON_GUARDED_BY(mutex_);
  boost::shared_array<std::uint8_t> nothing_ BATON_GUARDED_BY(mutex_);
  boost::weak_ptr<ros::SubscriberLink> link_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::ros1
