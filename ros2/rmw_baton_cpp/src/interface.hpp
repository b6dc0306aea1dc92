// SPDX-License-Identifier: Apache-2.0
// Where the structs of rmw.h differ between the distributions: one function for each difference. interface_humble.cpp is Humble's,
// interface_jazzy.cpp is for Jazzy and the distributions that follow it. functions.def lists the functions of each.
//
// Thread rules: those of the functions of rmw.h that call these.
#pragma once

#include "baton/os/result.hpp"
#include "baton/rosidl/ros2_version.hpp"
#include "baton/rosidl/service_types.hpp"
#include "baton/transport/transport.hpp"
#include "rmw/init_options.h"
#include "rmw/topic_endpoint_info.h"
#include "rmw/types.h"

namespace baton::rmw {

/// How far discovery reaches, in options that are not in use: nothing is owned.
void clear_discovery(rmw_init_options_t* options);
/// The default. `options` has its allocator.
rmw_ret_t init_discovery(rmw_init_options_t* options);
rmw_ret_t copy_discovery(const rmw_init_options_t& from, rmw_init_options_t* to);
rmw_ret_t fini_discovery(rmw_init_options_t* options);
/// Whether a context of these options shall meet no other process.
bool meets_itself_alone(const rmw_init_options_t& options);

/// None where ROS 2 has no hash of this type: Humble has no hashes.
transport::RosTypeHash ros_hash_of(const rosidl_message_type_support_t& type);
rmw_ret_t set_ros_hash(rmw_topic_endpoint_info_t* info, const transport::RosTypeHash& hash);

/// Error: unsupported.
Result<rosidl::ServiceTypes> types_of(const rosidl_service_type_support_t& service);

// "The best that the other ends allow", for which Humble has no values.
#if BATON_ROS2_HUMBLE
template <class Policy>
constexpr bool is_best_available(const Policy&) noexcept {
  return false;
}
#else
constexpr bool is_best_available(rmw_qos_reliability_policy_t policy) noexcept {
  return policy == RMW_QOS_POLICY_RELIABILITY_BEST_AVAILABLE;
}
constexpr bool is_best_available(rmw_qos_durability_policy_t policy) noexcept {
  return policy == RMW_QOS_POLICY_DURABILITY_BEST_AVAILABLE;
}
constexpr bool is_best_available(rmw_qos_liveliness_policy_t policy) noexcept {
  return policy == RMW_QOS_POLICY_LIVELINESS_BEST_AVAILABLE;
}
/// Of a deadline or a lease, which have one such value.
constexpr bool is_best_available(const rmw_time_t& time) noexcept {
  constexpr rmw_time_t kDeadline = RMW_QOS_DEADLINE_BEST_AVAILABLE;
  constexpr rmw_time_t kLease = RMW_QOS_LIVELINESS_LEASE_DURATION_BEST_AVAILABLE;
  static_assert(kDeadline.sec == kLease.sec && kDeadline.nsec == kLease.nsec);
  return time.sec == kDeadline.sec && time.nsec == kDeadline.nsec;
}
#endif

}  // namespace baton::rmw
