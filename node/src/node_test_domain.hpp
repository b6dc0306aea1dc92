// SPDX-License-Identifier: Apache-2.0
// Every test gets a runtime directory of its own, so that tests never meet each other.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace baton::test {

class DomainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ::setenv("BATON_RUNTIME_DIR", directory_.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

}  // namespace baton::test
