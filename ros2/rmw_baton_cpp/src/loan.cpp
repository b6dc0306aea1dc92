// SPDX-License-Identifier: Apache-2.0
// This family of RMW functions: loaned messages. Messages of types of fixed size are lent at both ends. If libbaton_heap.so is active, those of
// all types are lent at the publisher's end (docs/concepts/heap.md).
// Thread rules: those of rmw/rmw.h; this file adds no lock.
#include "baton/os/hot_path.hpp"
#include "handles.hpp"

// This file holds rmw.h's functions, in the global namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace baton::rmw;

namespace {

rmw_ret_t no_loans() {
  return unsupported(
      "a type with strings or sequences is not lent: by a publisher without libbaton_heap.so (docs/concepts/heap.md), "
      "by a subscription "
      "never, whose ordinary takes that library makes free of copies");
}

/// As checked(), and that the endpoint lends.
template <class Handle, class... More>
BATON_HOT rmw_ret_t checked_lender(const Handle* handle, More*... more) {
  const rmw_ret_t bad = checked(handle, more...);
  return bad != RMW_RET_OK || own(handle)->path->lends() ? bad : no_loans();
}

rmw_ret_t take_loan(const rmw_subscription_t* subscription, void** loaned_message, bool* taken,
                    rmw_message_info_t* info) {
  if (*loaned_message != nullptr) return invalid("taking a loan needs a null pointer to fill");
  return own(subscription)->path->take({nullptr, nullptr, loaned_message}, taken, info);
}

}  // namespace

extern "C" {

BATON_HOT rmw_ret_t rmw_borrow_loaned_message(const rmw_publisher_t* publisher,
                                              const rosidl_message_type_support_t* type_support,
                                              void** ros_message) try {
  if (const rmw_ret_t bad = checked_lender(publisher, type_support, ros_message); bad != RMW_RET_OK) return bad;
  if (*ros_message != nullptr) return invalid("borrowing needs a null pointer to fill");
  return own(publisher)->path->borrow(ros_message);
} catch (const std::exception& error) {
  return failure(error);
}

rmw_ret_t rmw_return_loaned_message_from_publisher(const rmw_publisher_t* publisher, void* loaned_message) try {
  if (const rmw_ret_t bad = checked_lender(publisher, loaned_message); bad != RMW_RET_OK) return bad;
  return own(publisher)->path->give_back(loaned_message);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_publish_loaned_message(const rmw_publisher_t* publisher, void* ros_message,
                                               rmw_publisher_allocation_t*) try {
  if (const rmw_ret_t bad = checked_lender(publisher, ros_message); bad != RMW_RET_OK) return bad;
  return own(publisher)->path->publish_loaned(ros_message);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_take_loaned_message(const rmw_subscription_t* subscription, void** loaned_message, bool* taken,
                                            rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked_lender(subscription, loaned_message, taken); bad != RMW_RET_OK) return bad;
  return take_loan(subscription, loaned_message, taken, nullptr);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_take_loaned_message_with_info(const rmw_subscription_t* subscription, void** loaned_message,
                                                      bool* taken, rmw_message_info_t* message_info,
                                                      rmw_subscription_allocation_t*) try {
  if (const rmw_ret_t bad = checked_lender(subscription, loaned_message, taken, message_info); bad != RMW_RET_OK)
    return bad;
  return take_loan(subscription, loaned_message, taken, message_info);
} catch (const std::exception& error) {
  return failure(error);
}

BATON_HOT rmw_ret_t rmw_return_loaned_message_from_subscription(const rmw_subscription_t* subscription,
                                                                void* loaned_message) try {
  if (const rmw_ret_t bad = checked_lender(subscription, loaned_message); bad != RMW_RET_OK) return bad;
  return own(subscription)->path->give_back(loaned_message);
} catch (const std::exception& error) {
  return failure(error);
}

}  // extern "C"
