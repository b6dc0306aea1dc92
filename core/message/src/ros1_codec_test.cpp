// SPDX-License-Identifier: Apache-2.0
#include "baton/message/ros1_codec.hpp"

#include <gtest/gtest.h>

#include "testing/build.hpp"

namespace baton::message {
namespace {

using testing::bytes_of;
using testing::define;
using testing::from_hex;
using testing::to_hex;

constexpr const char* kHeader =
    "message std_msgs/Header\nuint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
    "message builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";

struct Decoded {
  FlatBuffer buffer;
  Result<void> result;
};

Decoded decode(const Definition& type, const std::vector<std::byte>& wire, std::size_t limit = 1 << 20) {
  Decoded out;
  const Ros1Codec codec = Ros1Codec::compile(type.type()).or_throw();
  FlatBuilder builder(out.buffer, limit);
  out.result = codec.decode(bytes_of(wire), builder);
  return out;
}

std::string decode_error(const Definition& type, const char* hex, std::size_t limit = 1 << 20) {
  const Decoded decoded = decode(type, from_hex(hex), limit);
  return decoded.result.ok() ? "no error" : decoded.result.error().message;
}

std::string encode(const Definition& type, Bytes message) {
  const Ros1Codec codec = Ros1Codec::compile(type.type()).or_throw();
  std::vector<std::byte> out(codec.encoded_size(message).or_throw());
  EXPECT_EQ(codec.encode(message, {out.data(), out.size()}).or_throw(), out.size());
  return to_hex(out);
}

TEST(Ros1Codec, CarriesAHeaderWithItsSequenceNumber) {
  const Definition type = define(kHeader);
  const char* wire = "01 00 00 00 02 00 00 00 03 00 00 00 03 00 00 00 6d 61 70";
  const Decoded decoded = decode(type, from_hex(wire));
  ASSERT_TRUE(decoded.result.ok());
  EXPECT_EQ(to_hex(decoded.buffer), "01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00 04 00 00 00 6d 61 70 00");
  EXPECT_EQ(encode(type, decoded.buffer.bytes()), wire);
}

TEST(Ros1Codec, PacksWhatMemoryPads) {
  const Definition type = define("message t/P\nuint8 a\nfloat64 b\nuint16 c\n");
  const char* wire = "01 00 00 00 00 00 00 f0 3f 02 00";
  const Decoded decoded = decode(type, from_hex(wire));
  ASSERT_TRUE(decoded.result.ok());
  EXPECT_EQ(to_hex(decoded.buffer), "01 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f 02 00 00 00 00 00 00 00");
  EXPECT_EQ(encode(type, decoded.buffer.bytes()), wire);
}

TEST(Ros1Codec, WritesBoolsAsZeroOrOneWhateverTheChunkHolds) {
  const Definition type = define("message t/B\nbool a\nbool[2] b\nbool[] c\n");
  const Decoded decoded = decode(type, from_hex("02 00 ff 02 00 00 00 00 80"));
  ASSERT_TRUE(decoded.result.ok());
  EXPECT_EQ(encode(type, decoded.buffer.bytes()), "01 00 01 02 00 00 00 00 01");
  FlatBuffer message;
  FlatBuilder builder(message);
  builder.begin(type.type()).or_throw();
  builder.base()[0] = std::byte{7};
  EXPECT_EQ(encode(type, message.bytes()), "01 00 00 00 00 00 00");
}

TEST(Ros1Codec, SendsNothingForAnEmptyMessage) {
  const Definition type =
      define("message t/E\nstd_msgs/Empty a\nuint8 b\nstd_msgs/Empty[] c\nmessage std_msgs/Empty\n");
  const Decoded decoded = decode(type, from_hex("05 02 00 00 00"));
  ASSERT_TRUE(decoded.result.ok());
  EXPECT_EQ(encode(type, decoded.buffer.bytes()), "05 02 00 00 00");
}

TEST(Ros1Codec, BoundsWhatEmptyElementsMayCost) {
  const Definition type = define("message t/E\nstd_msgs/Empty[] c\nmessage std_msgs/Empty\n");
  EXPECT_NE(decode_error(type, "ff ff ff ff").find("field 'c': the message needs"), std::string::npos)
      << decode_error(type, "ff ff ff ff");
}

TEST(Ros1Codec, RefusesWideStringsByNameOfTheField) {
  const Definition type = define("message t/W\nt/N[] list\nmessage t/N\nwstring text\n");
  const auto codec = Ros1Codec::compile(type.type());
  ASSERT_FALSE(codec.ok());
  EXPECT_EQ(codec.error().code, Errc::unsupported);
  EXPECT_EQ(codec.error().message,
            "t/W: field 'list[].text' is a wstring, which ROS 1 does not have; use a string, or CDR");
}

TEST(Ros1Codec, NamesTheFieldAtWhichTheWireIsWrong) {
  const Definition header = define(kHeader);
  EXPECT_EQ(decode_error(header, "01 00 00 00 02 00 00 00 03"),
            "cannot decode std_msgs/Header: field 'stamp.nanosec': the wire ends inside it, 9 bytes were left of 12");
  EXPECT_EQ(decode_error(header, "01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00 6d"),
            "cannot decode std_msgs/Header: field 'frame_id': a string needs 4 bytes, 1 are left");
  EXPECT_EQ(decode_error(header, "01 00 00 00 02 00 00 00 03 00 00 00 00 00 00 00 6d"),
            "cannot decode std_msgs/Header: the message ends after 16 of 17 bytes");
  const Definition cloud = define("message t/C\nt/Ch[] channels\nmessage t/Ch\nstring name\nfloat32[] values\n");
  EXPECT_EQ(decode_error(cloud, "02 00 00 00  00 00 00 00 00 00 00 00  01 00 00 00 61 05 00 00 00 00"),
            "cannot decode t/C: field 'channels[1].values': 5 elements of at least 4 bytes, 1 bytes are left");
  EXPECT_EQ(decode_error(cloud, "ff ff ff 7f 00 00 00 00 00 00 00 00"),
            "cannot decode t/C: field 'channels': 2147483647 elements of at least 8 bytes, 8 bytes are left");
  const Definition bounded = define("message t/B\nstring<=2[<=1] names\n");
  EXPECT_EQ(decode_error(bounded, "01 00 00 00 03 00 00 00 61 62 63"),
            "cannot decode t/B: field 'names[0]': length 3 is above the bound 2");
  EXPECT_EQ(decode_error(bounded, "02 00 00 00 00 00 00 00 00 00 00 00"),
            "cannot decode t/B: field 'names': length 2 is above the bound 1");
}

TEST(Ros1Codec, RefusesToEncodeAMessageWhoseWordsLie) {
  const Definition type = define("message t/C\nt/Ch[] channels\nmessage t/Ch\nstring name\nuint32[] values\n");
  const Ros1Codec codec = Ros1Codec::compile(type.type()).or_throw();
  const auto error = [&](const char* hex) {
    const auto message = from_hex(hex);
    FlatBuffer aligned;
    aligned.reserve(message.size());
    aligned.set_size(message.size());
    std::copy(message.begin(), message.end(), aligned.data());
    const auto size = codec.encoded_size(aligned.bytes());
    return size.ok() ? "no error" : size.error().message;
  };
  EXPECT_EQ(error("00 00 00 00"), "cannot encode t/C: the message has 4 bytes, its skeleton alone needs 8");
  EXPECT_EQ(error("01 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00"),
            "cannot encode t/C: field 'channels': length 1 with offset 0, which says 'no content'");
  EXPECT_EQ(error("01 00 00 00 04 00 00 00"),
            "cannot encode t/C: field 'channels': content of 16 bytes at byte 8 lies outside the message of 8 bytes");
  EXPECT_EQ(error("01 00 00 00 f0 ff ff ff"),
            "cannot encode t/C: field 'channels': content of 16 bytes at byte -12 lies outside the message of 8 bytes");
  EXPECT_EQ(error("01 00 00 00 05 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"),
            "cannot encode t/C: field 'channels': the content at byte 9 is not aligned to 4");
  EXPECT_EQ(error("02 00 00 00 04 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                  "00 00 00 00 00 00 00 00  09 00 00 00 e0 ff ff ff"),
            "cannot encode t/C: field 'channels[1].values': contents overlap");
  EXPECT_EQ(error("01 00 00 00 04 00 00 00  04 00 00 00 0c 00 00 00 00 00 00 00 00 00 00 00  61 62 63 64"),
            "cannot encode t/C: field 'channels[0].name': a string's padding byte is 100, above 3");
}

TEST(Ros1Codec, SaysWhenTheOutputIsTooShortInsteadOfWriting) {
  const Definition type = define("message t/A\nuint32 a\nuint8[] b\n");
  const Decoded decoded = decode(type, from_hex("01 00 00 00 03 00 00 00 01 02 03"));
  const Ros1Codec codec = Ros1Codec::compile(type.type()).or_throw();
  for (std::size_t size = 0; size < 11; ++size) {
    std::vector<std::byte> out(size);
    EXPECT_EQ(codec.encode(decoded.buffer.bytes(), {out.data(), out.size()}).error().code, Errc::message_too_large);
  }
}

}  // namespace
}  // namespace baton::message
