// SPDX-License-Identifier: Apache-2.0
// What the tests of nodes share: a domain of their own (DomainTest), waiting for a match, and memory that is missing.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "baton/node/node.hpp"
#include "support/own_domain.hpp"

namespace baton::test {

/// Matching happens on the background thread, also inside one process. A subscription is matched once its publisher serves it, so
/// what is published afterwards can be taken at once; the publisher counts it a little earlier.
template <class Endpoint>
void await_matched(Node& node, Endpoint& endpoint, std::uint32_t count = 1) {
  ASSERT_TRUE(node.wait_for([&] { return endpoint.matched() == count; }, std::chrono::seconds(60)))
      << endpoint.topic() << " has " << endpoint.matched() << " of " << count;
}

/// In node_tests: `operator new` has no memory for so many bytes or more.
extern thread_local std::size_t t_missing_from;

/// While it lives, there is no memory for `bytes` or more at once in this thread.
class MissingMemory {
 public:
  explicit MissingMemory(std::size_t bytes) { t_missing_from = bytes; }
  ~MissingMemory() { t_missing_from = SIZE_MAX; }
  MissingMemory(const MissingMemory&) = delete;
  MissingMemory& operator=(const MissingMemory&) = delete;
};

}  // namespace baton::test
