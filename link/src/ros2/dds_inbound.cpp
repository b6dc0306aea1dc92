// SPDX-License-Identifier: Apache-2.0
#include "ros2/dds_inbound.hpp"

#include <cstring>

#include "baton/message/builder.hpp"

namespace baton::link::ros2 {
namespace {

/// The words by which rmw_baton_cpp recognizes a message that also comes by its underlying RMW.
struct OrderWords {
  char mark[8] = {'r', 'm', 'w', 'B', 'a', 't', 'o', 'n'};
  std::uint64_t number = 0;
  std::uint64_t underlying_older_also = 0;
};
static_assert(sizeof(OrderWords) == sizeof(transport::PublishInfo::attachment));

/// Messages up to this size fit into a publisher with ordinary limits, whatever their layout.
constexpr std::size_t kOrdinaryBytes = std::size_t{64} << 20;

}  // namespace

DdsInbound::DdsInbound(std::string topic, std::shared_ptr<const RosType> type, std::shared_ptr<LinkLog> log)
    : topic_(std::move(topic)), type_(std::move(type)), log_(std::move(log)) {}

void DdsInbound::lose(Errc code, const std::string& why) {
  log_->write(About::kRos2Messages, LinkLog::Level::kError, code,
              "a message of a ROS 2 node for '" + topic_ + "' is lost: " + why);
}

void DdsInbound::publish(transport::Writer& publisher, const DdsMessage& message) {
  // Its publisher's limits are above the ordinary ones, since it could publish this message.
  if (const std::size_t size = message.serialized.size_bytes; size > kOrdinaryBytes)
    publisher.raise_limits(2 * size, 8 * size);
  Result<memory::Chunk> loan = publisher.loan_growing();
  if (!loan) return lose(loan.error().code, loan.error().message);
  message::LoanBuilder builder(loan->message());
  const Result<std::size_t> decoded =
      type_->codec.decode({message.serialized.bytes.get(), message.serialized.size_bytes}, builder);
  if (!decoded) {
    publisher.abandon(*loan);
    return lose(decoded.error().code, decoded.error().message);
  }
  const transport::Origin origin{message.sequence, message.source_time_ns};
  OrderWords words;
  words.number = message.sequence;
  words.underlying_older_also = message.sequence << 3 | 1;
  transport::PublishInfo info;
  info.origin = &origin;
  std::memcpy(info.attachment.data(), &words, sizeof words);
  const Result<std::uint64_t> published = publisher.publish(*loan, info);
  if (published) return;
  publisher.abandon(*loan);
  // already_exists: sent again, to a DDS reader that was opened again.
  if (published.error().code != Errc::already_exists) lose(published.error().code, published.error().message);
}

void DdsInbound::arrived(DdsMessage message) {
  // Locked while publishing, so that messages that waited come first.
  const os::Lock lock(mutex_);
  const auto found = publishers_.find(message.publisher);
  if (found != publishers_.end()) return publish(*found->second, message);
  if (ignored_.count(message.publisher) != 0) return;
  waiting_bytes_ += message.serialized.size_bytes;
  waiting_.push_back(std::move(message));
  while (waiting_.size() > kMostWaiting || waiting_bytes_ > kMostWaitingBytes) {
    waiting_bytes_ -= waiting_.front().serialized.size_bytes;
    waiting_.pop_front();
    lose(Errc::limit_reached, "its publisher is not known (yet)");
  }
}

void DdsInbound::add(const Gid& from, std::shared_ptr<transport::Writer> publisher) {
  const os::Lock lock(mutex_);
  transport::Writer& writer = *(publishers_[from] = std::move(publisher));
  std::deque<DdsMessage> others;
  for (DdsMessage& message : waiting_) {
    if (message.publisher == from) {
      waiting_bytes_ -= message.serialized.size_bytes;
      publish(writer, message);
    } else {
      others.push_back(std::move(message));
    }
  }
  waiting_ = std::move(others);
}

void DdsInbound::remove(const Gid& from) {
  const os::Lock lock(mutex_);
  publishers_.erase(from);
}

void DdsInbound::set_ignored(std::set<Gid> ignored) {
  const os::Lock lock(mutex_);
  ignored_ = std::move(ignored);
  std::deque<DdsMessage> others;
  for (DdsMessage& message : waiting_) {
    if (ignored_.count(message.publisher) != 0) {
      waiting_bytes_ -= message.serialized.size_bytes;
    } else {
      others.push_back(std::move(message));
    }
  }
  waiting_ = std::move(others);
}

}  // namespace baton::link::ros2
