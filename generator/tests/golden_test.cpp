// SPDX-License-Identifier: Apache-2.0
// What the generator writes about a type is what the C++ compiler sees, for every kind of field.
#include <baton/msg/golden_msgs/all_kinds.hpp>

#include <gtest/gtest.h>

namespace {

TEST(GoldenMessages, Placeholder) { SUCCEED(); }

}  // namespace
