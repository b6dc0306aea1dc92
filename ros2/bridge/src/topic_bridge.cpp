// SPDX-License-Identifier: Apache-2.0
#include "topic_bridge.hpp"

#include <utility>

#include "log.hpp"
#include "rcutils/allocator.h"

namespace baton::bridge {

QosClass class_of(const rmw_qos_profile_t& qos) {
  return {qos.reliability == RMW_QOS_POLICY_RELIABILITY_RELIABLE,
          qos.durability == RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL};
}

void TopicBridge::publish(RmwWriter& writer, const rmw_serialized_message_t& message) {
  if (!writer.publish(message)) log_line("a message of " + topic_ + " is lost: " + last_rmw_error());
}

void TopicBridge::keep(const Gid& writer, const rmw_serialized_message_t& message) {
  waiting_.push_back({writer, {message.buffer, message.buffer + message.buffer_length}});
  waiting_bytes_ += message.buffer_length;
  while (waiting_.size() > kMostWaiting || (waiting_bytes_ > kMostWaitingBytes && waiting_.size() > 1)) {
    waiting_bytes_ -= waiting_.front().bytes.size();
    waiting_.pop_front();
    log_line("a message of " + topic_ + " is lost: its subscriptions are not there yet");
  }
}

Routes::const_iterator TopicBridge::route_of(const Gid& writer) const {
  const auto found = routes_.find(writer);
  return found != routes_.end() ? found : routes_.find(kAnyWriter);
}

void TopicBridge::forward(const Gid& writer, const rmw_serialized_message_t& message) {
  std::shared_ptr<RmwWriter> target;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = route_of(writer);
    if (found != routes_.end() && !found->second.writer) return;
    if (found == routes_.end() || !found->second.open) {
      keep(writer, message);
    } else {
      target = found->second.writer;
    }
  }
  if (target) {
    publish(*target, message);
  } else {
    updater_.ask();
  }
}

void TopicBridge::route(Routes routes, bool patient) {
  // With the lock: a message that comes meanwhile must not overtake those that wait.
  const std::lock_guard<std::mutex> lock(mutex_);
  routes_ = std::move(routes);
  std::deque<Waiting> still;
  waiting_bytes_ = 0;
  for (Waiting& each : waiting_) {
    auto found = route_of(each.writer);
    if (found == routes_.end() && !patient)
      for (found = routes_.begin(); found != routes_.end() && !found->second.writer;) ++found;
    if (found == routes_.end() || (found->second.writer && !found->second.open)) {
      waiting_bytes_ += each.bytes.size();
      still.push_back(std::move(each));
    } else if (found->second.writer) {
      rmw_serialized_message_t message = rmw_get_zero_initialized_serialized_message();
      message.buffer = each.bytes.data();
      message.buffer_length = message.buffer_capacity = each.bytes.size();
      message.allocator = rcutils_get_default_allocator();
      publish(*found->second.writer, message);
    }
  }
  waiting_ = std::move(still);
}

std::size_t TopicBridge::waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waiting_.size();
}

}  // namespace baton::bridge
