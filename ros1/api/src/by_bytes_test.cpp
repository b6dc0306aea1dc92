// SPDX-License-Identifier: Apache-2.0
#include "by_bytes.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "baton/os/hexadecimal.hpp"

namespace baton::ros1::detail {
namespace {

TEST(ByBytes, TheWordsAreThoseOfTheFileWhichPythonReadsToo) {
  std::ifstream file(BATON_ROS1_BY_BYTES);
  std::string line, publisher, trailer, attachment;
  for (int i = 0; i < 2; ++i) std::getline(file, line);
  std::uint64_t number = 0;
  int rows = 0;
  for (; file >> publisher >> std::hex >> number >> trailer >> attachment; ++rows) {
    Trailer written;
    written.number = number;
    ASSERT_TRUE(os::from_hexadecimal(publisher, written.writer));
    std::array<std::uint8_t, kTrailerBytes> bytes;
    put_trailer(bytes.data(), written);
    EXPECT_EQ(os::hexadecimal(bytes), trailer);
    const std::optional<Trailer> read = trailer_of({bytes.data(), bytes.size()});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->writer, written.writer);
    EXPECT_EQ(read->number, number);
    transport::PublishInfo info;
    put_follows(info, number);
    EXPECT_EQ(os::hexadecimal(info.attachment.data(), attachment.size() / 2), attachment);
  }
  EXPECT_TRUE(file.eof() && rows > 1) << "row " << rows;
}

}  // namespace
}  // namespace baton::ros1::detail
