// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: taking messages.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

BATON_HOT rmw_ret_t rmw_take(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                             rmw_subscription_allocation_t* allocation) try {
  SubscriptionPath* path = path_of(subscription);
  if (path == nullptr || ros_message == nullptr || taken == nullptr)
    return forward(&Underlying::rmw_take, subscription, ros_message, taken, allocation);
  return path->take({ros_message, nullptr, allocation}, taken, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_take_with_info(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                                       rmw_message_info_t* message_info,
                                       rmw_subscription_allocation_t* allocation) try {
  SubscriptionPath* path = path_of(subscription);
  const rmw_ret_t result =
      path == nullptr || ros_message == nullptr || taken == nullptr || message_info == nullptr
          ? forward(&Underlying::rmw_take_with_info, subscription, ros_message, taken, message_info, allocation)
          : path->take({ros_message, nullptr, allocation}, taken, message_info);
  own(message_info);
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_sequence(const rmw_subscription_t* subscription, size_t count,
                            rmw_message_sequence_t* message_sequence,
                            rmw_message_info_sequence_t* message_info_sequence, size_t* taken,
                            rmw_subscription_allocation_t* allocation) try {
  SubscriptionPath* path = path_of(subscription);
  const bool complete = message_sequence != nullptr && message_info_sequence != nullptr && taken != nullptr &&
                        count != 0 && count <= message_sequence->capacity && count <= message_info_sequence->capacity;
  if (path == nullptr || !complete) {
    const rmw_ret_t result = forward(&Underlying::rmw_take_sequence, subscription, count, message_sequence,
                                     message_info_sequence, taken, allocation);
    for (size_t i = 0; result == RMW_RET_OK && i < *taken; ++i) own(&message_info_sequence->data[i]);
    return result;
  }
  *taken = 0;
  rmw_ret_t result = RMW_RET_OK;
  while (*taken < count) {
    bool one = false;
    rmw_message_info_t& info = message_info_sequence->data[*taken];
    result = path->take({message_sequence->data[*taken], nullptr, allocation}, &one, &info);
    if (result != RMW_RET_OK || !one) break;
    own(&info);
    ++*taken;
  }
  message_sequence->size = *taken;
  message_info_sequence->size = *taken;
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_serialized_message(const rmw_subscription_t* subscription,
                                      rmw_serialized_message_t* serialized_message, bool* taken,
                                      rmw_subscription_allocation_t* allocation) try {
  SubscriptionPath* path = path_of(subscription);
  if (path == nullptr || serialized_message == nullptr || taken == nullptr)
    return forward(&Underlying::rmw_take_serialized_message, subscription, serialized_message, taken, allocation);
  return path->take({nullptr, serialized_message, allocation}, taken, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_serialized_message_with_info(const rmw_subscription_t* subscription,
                                                rmw_serialized_message_t* serialized_message, bool* taken,
                                                rmw_message_info_t* message_info,
                                                rmw_subscription_allocation_t* allocation) try {
  SubscriptionPath* path = path_of(subscription);
  const rmw_ret_t result =
      path == nullptr || serialized_message == nullptr || taken == nullptr || message_info == nullptr
          ? forward(&Underlying::rmw_take_serialized_message_with_info, subscription, serialized_message, taken,
                    message_info, allocation)
          : path->take({nullptr, serialized_message, allocation}, taken, message_info);
  own(message_info);
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_dynamic_message(const rmw_subscription_t* subscription,
                                   rosidl_dynamic_typesupport_dynamic_data_t* dynamic_message, bool* taken,
                                   rmw_subscription_allocation_t* allocation) {
  return forward(&Underlying::rmw_take_dynamic_message, subscription, dynamic_message, taken, allocation);
}

rmw_ret_t rmw_take_dynamic_message_with_info(const rmw_subscription_t* subscription,
                                             rosidl_dynamic_typesupport_dynamic_data_t* dynamic_message, bool* taken,
                                             rmw_message_info_t* message_info,
                                             rmw_subscription_allocation_t* allocation) {
  const rmw_ret_t result = forward(&Underlying::rmw_take_dynamic_message_with_info, subscription, dynamic_message,
                                   taken, message_info, allocation);
  own(message_info);
  return result;
}

}  // extern "C"
