// SPDX-License-Identifier: Apache-2.0
// Reads the commented hex files of tests/vectors/sfm.
#pragma once

#include <string>
#include <vector>

#include "baton/message/type.hpp"

namespace baton::message::testing {

struct ByteVector {
  std::string name;    ///< file name without extension
  const Type* type;    ///< find_type of its "type:" line
  std::string expect;  ///< "valid", "accepted" (valid, but not what a writer makes) or "malformed: <part of the error>"
  std::vector<unsigned char> bytes;
};

/// All of them, sorted by name. Throws std::runtime_error with file and line for what it cannot read.
std::vector<ByteVector> read_byte_vectors();

}  // namespace baton::message::testing
