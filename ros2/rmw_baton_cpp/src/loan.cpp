// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: loaned messages. Baton lends messages of types of fixed size at both ends. If
// libbaton_heap.so is active, it lends messages of all types at the publisher's end (docs/concepts/heap.md).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

template <class Handle>
BATON_HOT auto lender(const Handle* handle) {
  const auto path = path_of(handle);
  return path != nullptr && path->lends() ? path : nullptr;
}

rmw_ret_t invalid(const char* what) {
  RMW_SET_ERROR_MSG(what);
  return RMW_RET_INVALID_ARGUMENT;
}

/// Baton serves the endpoint and does not lend (`can_loan_messages`): the underlying RMW's loans would not go through
/// Baton.
rmw_ret_t no_loans() {
  RMW_SET_ERROR_MSG(
      "a type with strings or sequences is not lent: by a publisher without libbaton_heap.so (docs/concepts/heap.md), "
      "by a "
      "subscription never, whose ordinary takes that library makes free of copies");
  return RMW_RET_UNSUPPORTED;
}

}  // namespace

extern "C" {

BATON_HOT rmw_ret_t rmw_borrow_loaned_message(const rmw_publisher_t* publisher,
                                              const rosidl_message_type_support_t* type_support,
                                              void** ros_message) try {
  if (PublisherPath* path = lender(publisher)) {
    if (type_support == nullptr || ros_message == nullptr || *ros_message != nullptr)
      return invalid("borrowing needs a type support and a null pointer to fill");
    return path->borrow(ros_message);
  }
  if (path_of(publisher) != nullptr) return no_loans();
  return forward(&Underlying::rmw_borrow_loaned_message, publisher, type_support, ros_message);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_return_loaned_message_from_publisher(const rmw_publisher_t* publisher, void* loaned_message) try {
  if (PublisherPath* path = lender(publisher))
    return loaned_message != nullptr ? path->give_back(loaned_message) : invalid("no message to return");
  if (path_of(publisher) != nullptr) return no_loans();
  return forward(&Underlying::rmw_return_loaned_message_from_publisher, publisher, loaned_message);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_publish_loaned_message(const rmw_publisher_t* publisher, void* ros_message,
                                               rmw_publisher_allocation_t* allocation) try {
  if (PublisherPath* path = lender(publisher))
    return ros_message != nullptr ? path->publish_loaned(ros_message, allocation) : invalid("no message to publish");
  if (path_of(publisher) != nullptr) return no_loans();
  return forward(&Underlying::rmw_publish_loaned_message, publisher, ros_message, allocation);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_loaned_message(const rmw_subscription_t* subscription, void** loaned_message, bool* taken,
                                  rmw_subscription_allocation_t* allocation) try {
  if (SubscriptionPath* path = lender(subscription)) {
    if (loaned_message == nullptr || *loaned_message != nullptr || taken == nullptr)
      return invalid("taking a loan needs a null pointer and a flag to fill");
    return path->take({nullptr, nullptr, allocation, loaned_message}, taken, nullptr);
  }
  if (path_of(subscription) != nullptr) return no_loans();
  return forward(&Underlying::rmw_take_loaned_message, subscription, loaned_message, taken, allocation);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_take_loaned_message_with_info(const rmw_subscription_t* subscription, void** loaned_message, bool* taken,
                                            rmw_message_info_t* message_info,
                                            rmw_subscription_allocation_t* allocation) try {
  if (SubscriptionPath* path = lender(subscription)) {
    if (loaned_message == nullptr || *loaned_message != nullptr || taken == nullptr || message_info == nullptr)
      return invalid("taking a loan needs a null pointer, a flag and an info to fill");
    return path->take({nullptr, nullptr, allocation, loaned_message}, taken, message_info);
  }
  if (path_of(subscription) != nullptr) return no_loans();
  const rmw_ret_t result = forward(&Underlying::rmw_take_loaned_message_with_info, subscription, loaned_message, taken,
                                   message_info, allocation);
  own(message_info);
  return result;
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_return_loaned_message_from_subscription(const rmw_subscription_t* subscription,
                                                      void* loaned_message) try {
  SubscriptionPath* path = lender(subscription);
  if (const Subscription* own_subscription = ours(subscription); own_subscription != nullptr && path == nullptr)
    path = own_subscription->lender.get();
  if (path != nullptr)
    return loaned_message != nullptr ? path->give_back(loaned_message) : invalid("no message to return");
  if (path_of(subscription) != nullptr) return no_loans();
  return forward(&Underlying::rmw_return_loaned_message_from_subscription, subscription, loaned_message);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
