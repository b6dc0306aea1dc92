// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "baton/link/link.hpp"

namespace baton::link {
namespace {

TEST(NoRos2, ALinkOfTheLibraryNamesTheProgramThatHasTheSideTowardsRos2) {
  Options options;
  options.ros2 = true;
  const Result<std::unique_ptr<Link>> refused = Link::start(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message.find("`baton link --ros2`"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace baton::link
