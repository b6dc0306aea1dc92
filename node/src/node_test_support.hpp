// SPDX-License-Identifier: Apache-2.0
// Every test gets a runtime directory of its own, so that tests never meet each other.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "baton/node/node.hpp"

namespace baton::test {

class DomainTest : public ::testing::Test {
 protected:
  // Not in SetUp(): a node may be a member of the derived class.
  DomainTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory for the test: " + pattern);
    directory_ = pattern;
    ::setenv("BATON_RUNTIME_DIR", directory_.c_str(), 1);
  }
  ~DomainTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

/// Matching happens on the background thread, also inside one process. A subscription is matched once its publisher serves it, so
/// what is published afterwards can be taken at once; the publisher counts it a little earlier.
template <class Endpoint>
void await_matched(Node& node, Endpoint& endpoint, std::uint32_t count = 1) {
  ASSERT_TRUE(node.wait_for([&] { return endpoint.matched() == count; }, std::chrono::seconds(60)))
      << endpoint.topic() << " has " << endpoint.matched() << " of " << count;
}

}  // namespace baton::test
