// SPDX-License-Identifier: Apache-2.0
// A test whose nodes meet no other's.
// Thread rules: the environment is set before the test's first node.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "support/temporary_directory.hpp"

namespace baton::test {

/// BATON_RUNTIME_DIR is a directory of the test's own, `directory_`.
class DomainTest : public ::testing::Test {
 protected:
  // Not in SetUp(): a node may be a member of the derived class.
  DomainTest() { ::setenv("BATON_RUNTIME_DIR", directory_.c_str(), 1); }

 private:
  TemporaryDirectory temporary_;

 protected:
  const std::string& directory_ = temporary_.path();
};

}  // namespace baton::test
