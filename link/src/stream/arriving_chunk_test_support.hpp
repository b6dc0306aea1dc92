// SPDX-License-Identifier: Apache-2.0
// A place for a message that arrives, for tests.
#pragma once

#include <cstddef>
#include <vector>

#include "host_network.hpp"

namespace baton::link {

struct Buffer final : ArrivingChunk {
  explicit Buffer(std::size_t size) : bytes(size + 1) {
    message = bytes.data();
    size_bytes = size;
  }
  std::vector<std::byte> bytes;
};

}  // namespace baton::link
