// SPDX-License-Identifier: Apache-2.0
// Members of roscpp's classes that have no public access. An explicit instantiation may name private members (C++17,
// [temp.explicit], 12).
#pragma once

#include <ros/message_deserializer.h>
#include <ros/transport_subscriber_link.h>

namespace baton::ros1 {

template <class Tag, auto kMember>
struct Expose {
  friend constexpr auto member_of(Tag) { return kMember; }
};
struct Outbox {
  friend constexpr auto member_of(Outbox);
};
struct OutboxMutex {
  friend constexpr auto member_of(OutboxMutex);
};
struct Serialized {
  friend constexpr auto member_of(Serialized);
};
struct DeserializerMutex {
  friend constexpr auto member_of(DeserializerMutex);
};
struct Helper {
  friend constexpr auto member_of(Helper);
};
template struct Expose<Serialized, &ros::MessageDeserializer::serialized_message_>;
template struct Expose<DeserializerMutex, &ros::MessageDeserializer::mutex_>;
template struct Expose<Helper, &ros::MessageDeserializer::helper_>;
template struct Expose<Outbox, &ros::TransportSubscriberLink::outbox_>;
template struct Expose<OutboxMutex, &ros::TransportSubscriberLink::outbox_mutex_>;

}  // namespace baton::ros1
