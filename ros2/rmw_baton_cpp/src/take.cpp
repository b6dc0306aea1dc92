// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: taking messages.
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

extern "C" {

BATON_HOT rmw_ret_t rmw_take(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                             rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked(subscription, ros_message, taken); bad != RMW_RET_OK) return bad;
  return own(subscription)->path->take({ros_message}, taken, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_take_with_info(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                                       rmw_message_info_t* message_info, rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked(subscription, ros_message, taken, message_info); bad != RMW_RET_OK) return bad;
  return own(subscription)->path->take({ros_message}, taken, message_info);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_sequence(const rmw_subscription_t* subscription, size_t count,
                            rmw_message_sequence_t* message_sequence,
                            rmw_message_info_sequence_t* message_info_sequence, size_t* taken,
                            rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked(subscription, message_sequence, message_info_sequence, taken); bad != RMW_RET_OK)
    return bad;
  if (count == 0 || count > message_sequence->capacity || count > message_info_sequence->capacity)
    return invalid("the count is 0, or more than the sequences have room for");
  *taken = 0;
  rmw_ret_t result = RMW_RET_OK;
  while (*taken < count) {
    bool one = false;
    result =
        own(subscription)->path->take({message_sequence->data[*taken]}, &one, &message_info_sequence->data[*taken]);
    if (result != RMW_RET_OK || !one) break;
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
                                      rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked(subscription, serialized_message, taken); bad != RMW_RET_OK) return bad;
  return own(subscription)->path->take({nullptr, serialized_message}, taken, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_serialized_message_with_info(const rmw_subscription_t* subscription,
                                                rmw_serialized_message_t* serialized_message, bool* taken,
                                                rmw_message_info_t* message_info, rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked(subscription, serialized_message, taken, message_info); bad != RMW_RET_OK)
    return bad;
  return own(subscription)->path->take({nullptr, serialized_message}, taken, message_info);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
