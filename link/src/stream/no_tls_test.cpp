// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "baton/link/link.hpp"

namespace baton::link {
namespace {

TEST(NoTls, ALinkOfABuildWithoutOpenSslSaysWhatTheBuildLacks) {
  Options options;
  options.security = "/enclave";
  const Result<std::unique_ptr<Link>> refused = Link::start(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unsupported);
  EXPECT_NE(refused.error().message.find("libssl-dev"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace baton::link
