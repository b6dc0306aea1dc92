// SPDX-License-Identifier: Apache-2.0
// The refusal of each other ROS 2 of ros2/distributions/, by options that are as long as that ROS 2's. No installation of it is needed.
#include "distribution.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "rmw/error_handling.h"

namespace baton::rmw {
namespace {

struct {
  std::size_t bytes;
  const char* name;
} constexpr kDistributions[] = {
#include "distribution_sizes.inc"
};

/// What the RMW of the other ROS 2 writes, and how often its options were ended.
std::size_t g_options_bytes = 0;
int g_ended = 0;

rmw_ret_t init(rmw_init_options_t* options, rcutils_allocator_t) {
  std::memset(static_cast<void*>(options), 0, g_options_bytes);
  return RMW_RET_OK;
}
rmw_ret_t fini(rmw_init_options_t*) {
  ++g_ended;
  return RMW_RET_OK;
}
rmw_ret_t init_that_fails(rmw_init_options_t*, rcutils_allocator_t) {
  RMW_SET_ERROR_MSG("no reason at all");
  return RMW_RET_ERROR;
}

std::string refusal_of_options(std::size_t bytes) {
  g_options_bytes = bytes;
  g_ended = 0;
  return refusal_of(init, fini, "librmw_other.so");
}

TEST(Distribution, an_rmw_of_the_same_ros_2_is_accepted_and_its_options_are_ended) {
  EXPECT_EQ(refusal_of_options(sizeof(rmw_init_options_t)), "");
  EXPECT_EQ(g_ended, 1);
}

TEST(Distribution, an_rmw_of_each_other_ros_2_is_refused_by_name_with_the_way_out) {
  int others = 0;
  for (const auto& each : kDistributions) {
    if (each.bytes == sizeof(rmw_init_options_t)) continue;
    ++others;
    std::string title = each.name;
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    const std::string refusal = refusal_of_options(each.bytes);
    EXPECT_NE(refusal.find("this program's librmw_other.so is of ROS 2 " + title), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("use the librmw_baton_cpp.so that was built for ROS 2 " + title), std::string::npos);
    EXPECT_EQ(g_ended, 0) << "options of another size were passed to a function";
  }
  EXPECT_GE(others, 2);
}

TEST(Distribution, an_rmw_of_a_ros_2_that_nobody_knows_is_refused_by_its_size) {
  const std::string refusal = refusal_of_options(312);
  EXPECT_NE(refusal.find("a ROS 2 whose rmw_init_options_t has 312 bytes"), std::string::npos) << refusal;
}

TEST(Distribution, an_rmw_that_makes_no_options_is_refused_with_its_reason) {
  const std::string refusal = refusal_of(init_that_fails, fini, "librmw_other.so");
  EXPECT_EQ(refusal.find("librmw_other.so cannot initialize its options: no reason at all"), 0U) << refusal;
  EXPECT_FALSE(rmw_error_is_set());
}

}  // namespace
}  // namespace baton::rmw
