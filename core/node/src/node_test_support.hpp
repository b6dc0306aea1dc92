// SPDX-License-Identifier: Apache-2.0
// What the tests of nodes share: a domain of their own (DomainTest), and waiting for a match.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

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

}  // namespace baton::test
