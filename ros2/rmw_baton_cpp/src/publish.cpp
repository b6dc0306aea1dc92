// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: publishing.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

BATON_HOT rmw_ret_t rmw_publish(const rmw_publisher_t* publisher, const void* ros_message,
                                rmw_publisher_allocation_t* allocation) try {
  PublisherPath* path = path_of(publisher);
  if (path != nullptr && ros_message != nullptr) return path->publish(ros_message, allocation);
  return forward(&Underlying::rmw_publish, publisher, ros_message, allocation);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_publish_serialized_message(const rmw_publisher_t* publisher,
                                         const rmw_serialized_message_t* serialized_message,
                                         rmw_publisher_allocation_t* allocation) try {
  PublisherPath* path = path_of(publisher);
  if (path != nullptr && serialized_message != nullptr)
    return path->publish_serialized(*serialized_message, allocation);
  return forward(&Underlying::rmw_publish_serialized_message, publisher, serialized_message, allocation);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
