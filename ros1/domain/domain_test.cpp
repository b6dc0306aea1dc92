// SPDX-License-Identifier: Apache-2.0
#include "domain.hpp"

#include <gtest/gtest.h>

namespace baton::ros1 {
namespace {

TEST(DomainOfMaster, TheUsualMasterIsInDomainZeroByEachOfItsNames) {
  for (const char* uri : {"http://localhost:11311", "http://localhost:11311/", "http://127.0.0.1:11311/",
                          "http://robot:11311", "http://ROBOT:11311/", "localhost:11311", "http://[::1]:11311"}) {
    EXPECT_EQ(domain_of_master(uri, "robot"), 0) << uri;
  }
}

TEST(DomainOfMaster, AnotherPortOrHostIsAnotherDomain) {
  const int port = domain_of_master("http://localhost:11312", "robot");
  const int host = domain_of_master("http://base:11311", "robot");
  EXPECT_EQ(port, 3080);  // golden: ros1/rospy/tests/domain_test.py has the same for Python
  EXPECT_EQ(host, 4379);
  EXPECT_EQ(domain_of_master("http://other", "robot"), 8978) << "11311 is a master's usual port";
  EXPECT_EQ(port, domain_of_master("http://robot:11312/", "Robot")) << "all processes of a master choose alike";
}

}  // namespace
}  // namespace baton::ros1
