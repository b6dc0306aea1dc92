// SPDX-License-Identifier: Apache-2.0
#include "incoming.hpp"

#include <cstring>
#include <utility>

#include "baton/os/crash_point.hpp"
#include "baton/os/shortage.hpp"

namespace baton::ros1 {
namespace {

using transport::TakenSample;

/// The bytes of a received message, without TCPROS's length; empty if there are none.
struct Bytes {
  const std::uint8_t* begin = nullptr;
  std::size_t size = 0;
};

Bytes bytes_of(const TakenSample& sample) {
  // Fetched once: the publisher can still write them.
  const auto* const message = static_cast<const std::uint8_t*>(sample.message());
  std::uint32_t length;
  std::int32_t offset;
  std::memcpy(&length, message, 4);
  std::memcpy(&offset, message + 4, 4);
  const std::int64_t begin = std::int64_t{4} + offset;
  if (begin < 8 || length < 4 || begin + length > sample.size_bytes()) return {};
  return {message + begin + 4, length - 4};
}

}  // namespace

void Incoming::set_reader(std::shared_ptr<transport::Reader> reader) {
  answered_ = true;
  reader_ = std::move(reader);
}

bool Incoming::waits_a_moment() const {
  return waits() && reader_ && Clock::now() - waits_since_ < std::chrono::milliseconds(100);
}

Incoming::Found Incoming::find(std::uint64_t number, ros::SerializedMessage* message) {
  for (std::size_t looked = 0; looked < kMostTaken; ++looked) {
    if (!early_) {
      if (!reader_) return Found::kNotYet;
      Result<TakenSample> taken = reader_->take();
      if (!taken) {
        // held_limit: another thread has stored a release and not counted it yet.
        if (taken.error().code == Errc::held_limit) return Found::kNotYet;
        if (is_shortage(taken.error().code) || taken.error().code == Errc::system) {
          // A new connection would find no memory or descriptor either. The publisher repeats the others.
          say(taken.error().code, topic_ + ": " + taken.error().message + "; this connection goes on by TCPROS");
          reader_.reset();
          lost_one_ = true;
          waits_since_ = Clock::now();
          return Found::kNotYet;
        }
        say(taken.error().code, topic_ + ": " + taken.error().message);
        return Found::kMad;
      }
      if (!*taken) return Found::kNotYet;
      early_ = std::move(*taken);
    }
    const std::uint64_t next = early_.header().sequence;
    if (next > number) return Found::kNotYet;  // its marker is still to come, and the wanted message as bytes
    TakenSample sample = std::move(early_);
    BATON_CRASH_POINT("ros1.taken");
    if (next < number) continue;  // came as bytes, or its marker never came
    const Bytes bytes = bytes_of(sample);
    if (bytes.begin == nullptr) {
      say(Errc::malformed_message, topic_ + ": a message of its publisher has impossible lengths; connecting again");
      return Found::kMad;
    }
    *message = ros::SerializedMessage(hold(std::move(sample), bytes.begin, bytes.size, learned_), bytes.size);
    return Found::kMessage;
  }
  return Found::kNotYet;
}

void Incoming::wait_for(std::uint64_t number, const ros::SerializedMessage& message) {
  if (waiting_.empty()) waits_since_ = Clock::now();
  waiting_.push_back({number, message});
  Waiting& entry = waiting_.back();  // stays there: a deque moves nothing while its ends change
  weight_ += entry.weight;
  if (entry.message.buf) {
    weigh(entry);
  } else {
    markers_.emplace(number, &entry);
  }
}

/// `entry` has got its message as bytes.
void Incoming::weigh(Waiting& entry) {
  entry.weight += entry.message.num_bytes;
  weight_ += entry.message.num_bytes;
}

void Incoming::remove_first() {
  const Waiting& first = waiting_.front();
  // Of its number it came first.
  if (const auto marker = markers_.lower_bound(first.number); marker != markers_.end() && marker->second == &first) {
    markers_.erase(marker);
  }
  weight_ -= first.weight;
  waiting_.pop_front();
}

bool Incoming::arrive(const ros::SerializedMessage& message, const Deliver& deliver) {
  const bool ours = answered_ && message.num_bytes >= kMarkerBytes &&
                    std::memcmp(message.buf.get(), secret_.data(), secret_.size()) == 0;
  if (!ours) {
    if (waits()) {
      wait_for(kNothing, message);
      return deliver_waiting(deliver);
    }
    deliver(message);
    return true;
  }
  std::uint64_t number;
  std::memcpy(&number, message.buf.get() + secret_.size(), sizeof number);
  if (number == kNothing) return true;
  if (message.num_bytes > kMarkerBytes) {  // a repeated message
    const auto marker = markers_.lower_bound(number);
    if (marker == markers_.end() || marker->first != number) return true;  // it came in shared memory
    Waiting& wanted = *marker->second;
    markers_.erase(marker);
    wanted.message =
        ros::SerializedMessage(boost::shared_array<std::uint8_t>(message.buf, message.buf.get() + kMarkerBytes),
                               message.num_bytes - kMarkerBytes);
    weigh(wanted);
    return deliver_waiting(deliver);
  }
  BATON_CRASH_POINT("ros1.marker");
  if (!waits()) {
    ros::SerializedMessage found;
    switch (find(number, &found)) {
      case Found::kMessage:
        deliver(found);
        return true;
      case Found::kMad:
        return false;
      case Found::kNotYet:
        break;
    }
  }
  wait_for(number, {});
  return deliver_waiting(deliver);
}

bool Incoming::deliver_waiting(const Deliver& deliver) {
  while (!waiting_.empty()) {
    ros::SerializedMessage message = waiting_.front().message;
    if (!message.buf) {
      const Found found = find(waiting_.front().number, &message);
      if (found == Found::kMad) return false;
      if (found == Found::kNotYet) break;
    }
    remove_first();
    waits_since_ = Clock::now();
    deliver(message);
  }
  if (weight_ > kMostBytes || markers_.size() > kMostMarkers) {
    if (!std::exchange(over_, true)) {
      say(Errc::limit_reached,
          topic_ + ": its publisher does not repeat messages that did not arrive in shared memory; connecting again");
    }
    return false;
  }
  return true;
}

bool Incoming::look_again(const Deliver& deliver) {
  if (!deliver_waiting(deliver)) return false;
  if (!waits() || (weight_ <= kManyBytes && Clock::now() - waits_since_ <= kPatience)) return true;
  if (reader_) {
    // The publisher sees that the subscription is gone, and repeats all that was not taken.
    say(Errc::timed_out, topic_ + ": a message did not arrive in shared memory; this connection goes on by TCPROS");
    reader_.reset();
  } else if (std::exchange(lost_one_, false)) {  // it was taken, so the publisher does not repeat it
    remove_first();
    return deliver_waiting(deliver);
  }
  return true;
}

bool Incoming::end(const Deliver& deliver) {
  if (reader_ && Clock::now() - waits_since_ <= kPatience) return waits();
  reader_.reset();
  while (waits() && deliver_waiting(deliver) && waits()) remove_first();
  waiting_.clear();
  markers_.clear();
  weight_ = 0;
  return false;
}

}  // namespace baton::ros1
