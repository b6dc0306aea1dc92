// SPDX-License-Identifier: Apache-2.0
#include "domain.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace baton::ros1 {
namespace {

TEST(DomainOfMaster, IsThatOfTheFileWhichPythonReadsToo) {
  std::ifstream file(BATON_ROS1_DOMAINS);
  std::string comment, uri;
  std::getline(file, comment);
  int domain = 0, rows = 0;
  for (; file >> uri >> domain; ++rows) EXPECT_EQ(domain_of_master(uri, "Robot"), domain) << uri;
  EXPECT_TRUE(file.eof() && rows > 10) << "row " << rows;
}

}  // namespace
}  // namespace baton::ros1
