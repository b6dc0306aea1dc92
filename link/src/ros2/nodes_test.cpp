// SPDX-License-Identifier: Apache-2.0
#include "ros2/nodes.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace baton::link::ros2 {
namespace {

Gid gid(std::uint8_t value) {
  Gid made;
  made.fill(value);
  return made;
}

TEST(Nodes, AreReadBackAsTheyWereWritten) {
  Nodes nodes;
  nodes[{"/", "talker"}].writers = {gid(1), gid(2)};
  nodes[{"/left", "camera"}].readers = {gid(3)};
  nodes[{"/", "silent"}];
  const CdrMessage serialized = encode_nodes(gid(9), nodes).or_throw();
  std::optional<NodesOf> read = decode_nodes(serialized);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->participant, gid(9));
  ASSERT_EQ(read->nodes.size(), 3U);
  EXPECT_EQ((read->nodes[{"/", "talker"}].writers), (std::vector<Gid>{gid(1), gid(2)}));
  EXPECT_EQ((read->nodes[{"/left", "camera"}].readers), (std::vector<Gid>{gid(3)}));
  EXPECT_TRUE((read->nodes[{"/", "silent"}].writers.empty()));
}

TEST(Nodes, HaveTheBytesOfRmwDdsCommon) {
  Nodes nodes;
  nodes[{"/", "ab"}].writers = {gid(7)};
  const CdrMessage serialized = encode_nodes(gid(9), nodes).or_throw();
  const unsigned char expected[] = {0, 1, 0, 0,                                          // little-endian CDR
                                    9, 9, 9, 9, 9,   9,   9, 9, 9, 9, 9, 9, 9, 9, 9, 9,  // the participant
                                    1, 0, 0, 0,                                          // one node
                                    2, 0, 0, 0, '/', 0,   0, 0,                          // its namespace, padded
                                    3, 0, 0, 0, 'a', 'b', 0, 0,                          // its name, padded
                                    0, 0, 0, 0,                                          // no readers
                                    1, 0, 0, 0,                                          // one writer
                                    7, 7, 7, 7, 7,   7,   7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  ASSERT_EQ(serialized.size_bytes, sizeof expected);
  EXPECT_EQ(std::memcmp(serialized.bytes.get(), expected, sizeof expected), 0);
}

TEST(Nodes, AMessageThatIsCutOffIsNone) {
  Nodes nodes;
  nodes[{"/", "talker"}].writers = {gid(1)};
  const CdrMessage whole = encode_nodes(gid(9), nodes).or_throw();
  for (std::size_t size = 0; size < whole.size_bytes; ++size) {
    CdrMessage part(size);
    std::memcpy(part.bytes.get(), whole.bytes.get(), size);
    EXPECT_FALSE(decode_nodes(part).has_value()) << size;
  }
}

}  // namespace
}  // namespace baton::link::ros2
