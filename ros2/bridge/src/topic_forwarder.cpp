// SPDX-License-Identifier: Apache-2.0
#include "topic_forwarder.hpp"

#include "log.hpp"
#include "rcutils/allocator.h"

namespace baton::bridge {

QosClass class_of(const rmw_qos_profile_t& qos) {
  return {qos.reliability == RMW_QOS_POLICY_RELIABILITY_RELIABLE, qos.durability == RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL};
}

void TopicForwarder::publish(Writer& writer, const rmw_serialized_message_t& message) {
  if (!writer.publish(message)) log_line("a message of " + topic_ + " is lost: " + last_rmw_error());
}

void TopicForwarder::forward(const Gid& writer, const rmw_serialized_message_t& message) {
  std::shared_ptr<Writer> target;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = routes_.find(writer);
    if (found == routes_.end()) {
      waiting_.push_back({writer, {message.buffer, message.buffer + message.buffer_length}});
      if (waiting_.size() > kMostWaiting) {
        waiting_.pop_front();
        log_line("a message of " + topic_ + " is lost: its publisher is not in the graph");
      }
    } else {
      target = found->second;
      if (!target) return;
    }
  }
  if (target) {
    publish(*target, message);
  } else {
    updater_.ask();
  }
}

void TopicForwarder::route(Routes routes) {
  // With the lock: a message that comes meanwhile must not overtake those that wait.
  const std::lock_guard<std::mutex> lock(mutex_);
  routes_ = std::move(routes);
  for (Waiting& each : waiting_) {
    auto found = routes_.find(each.writer);
    if (found == routes_.end())
      for (found = routes_.begin(); found != routes_.end() && !found->second;) ++found;
    if (found == routes_.end() || !found->second) continue;
    rmw_serialized_message_t message = rmw_get_zero_initialized_serialized_message();
    message.buffer = each.bytes.data();
    message.buffer_length = message.buffer_capacity = each.bytes.size();
    message.allocator = rcutils_get_default_allocator();
    publish(*found->second, message);
  }
  waiting_.clear();
}

}  // namespace baton::bridge
