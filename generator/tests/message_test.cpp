// SPDX-License-Identifier: Apache-2.0
// Generated messages used as roscpp and rclcpp programs use theirs: on the stack, on the heap, in containers, in loans.
#include <baton/msg/golden_msgs/bounded.hpp>
#include <baton/msg/golden_msgs/constants.hpp>
#include <baton/msg/golden_msgs/defaults.hpp>
#include <baton/msg/golden_msgs/empty.hpp>
#include <baton/msg/golden_msgs/keywords.hpp>
#include <baton/msg/golden_msgs/nested.hpp>
#include <baton/msg/golden_msgs/ros1_style.hpp>
#include <baton/msg/golden_msgs/sequences.hpp>
#include <baton/msg/sensor_msgs/camera_info.hpp>
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/msg/sensor_msgs/point_cloud2.hpp>
#include <baton/msg/stereo_msgs/disparity_image.hpp>
#include <baton/srv/golden_msgs/everything.hpp>
#include <baton/srv/std_srvs/set_bool.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "baton/os/result.hpp"
#include "testing/test_chunk.hpp"

namespace {

namespace golden = baton::msg::golden_msgs;
using baton::message::testing::Loaned;
using baton::msg::sensor_msgs::CameraInfo;
using baton::msg::sensor_msgs::Image;

Image small_image() {
  Image image;
  image.header.stamp.sec = 7;
  image.header.frame_id = "map";
  image.encoding = "rgb8";
  image.height = 10;
  image.width = 10;
  image.step = 30;
  image.data.resize(10 * 10 * 3);
  std::iota(image.data.begin(), image.data.end(), std::uint8_t{0});
  return image;
}

template <class T>
std::string text_of(const T& message) {
  std::ostringstream out;
  out << message;
  return out.str();
}

TEST(GeneratedMessage, BeginsWithZerosAndEmptyMembers) {
  const Image image;
  EXPECT_EQ(image.height, 0u);
  EXPECT_EQ(image.header.stamp.nanosec, 0u);
  EXPECT_TRUE(image.encoding.empty());
  EXPECT_TRUE(image.data.empty());
}

TEST(GeneratedMessage, HoldsItsDefaults) {
  const golden::Defaults d;
  EXPECT_TRUE(d.yes);
  EXPECT_EQ(d.lowest_int8, -128);
  EXPECT_EQ(d.hex, 255);
  EXPECT_EQ(d.lowest_int32, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(d.lowest_int64, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(d.highest_uint64, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(d.third, 0.333F);
  EXPECT_EQ(d.big, 1e300);
  EXPECT_EQ(d.infinite, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(d.not_a_number));
  EXPECT_EQ(d.plain, "hello # not a comment");
  EXPECT_EQ(d.single, "single \"quoted\"");
  EXPECT_EQ(d.escaped, std::string_view("tab\t quote\" backslash\\ snowman\xE2\x98\x83 zero\0 end", 43));
  EXPECT_EQ(d.wide, u"gr\u00fc\u00df \U0001F600");
  EXPECT_EQ(d.bounded, "12345");
  EXPECT_EQ(d.three, (std::array<std::int32_t, 3>{1, -2, 3}));
  EXPECT_EQ(d.some, (std::vector<double>{0.5, 1.5}));
  EXPECT_EQ(d.up_to_four, (std::vector<std::uint8_t>{1, 2}));
  EXPECT_TRUE(d.flags[0]);
  EXPECT_FALSE(d.flags[1]);
  ASSERT_EQ(d.words.size(), 3u);
  EXPECT_EQ(d.words[1], "two, three");
  EXPECT_EQ(d.words[2], "fo\"ur");
  EXPECT_EQ(d.pair[1], "b");
}

TEST(GeneratedMessage, HoldsItsDefaultsInALoanToo) {
  Loaned<golden::Defaults> loan;
  golden::Defaults ordinary;
  loan->not_a_number = ordinary.not_a_number = 0;
  EXPECT_EQ(*loan, ordinary);
}

TEST(GeneratedMessage, HasItsConstants) {
  EXPECT_TRUE(golden::Constants::YES);
  EXPECT_EQ(golden::Constants::BYTE, 255);
  EXPECT_EQ(golden::Constants::INT64, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(golden::Constants::UINT64, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(golden::Constants::FLOAT64, -1e-3);
  EXPECT_STREQ(golden::Constants::TEXT, "quoted \"text\" # with a sign");
  EXPECT_STREQ(golden::Constants::PLAIN, "unquoted text");
  EXPECT_EQ(std::u16string_view(golden::Constants::WIDE), u"\u00e9t\u00e9");
  EXPECT_STREQ(golden::Ros1Style::HASH, "foo # not a comment");
  static_assert(golden::Constants::INT32 == std::numeric_limits<std::int32_t>::min());
  const std::string as_std_string = golden::Constants::PLAIN;
  EXPECT_EQ(as_std_string, "unquoted text");
}

TEST(GeneratedMessage, EscapesNamesThatCppReserves) {
  golden::Keywords k;
  k.class_ = 1;
  k.namespace_ = "n";
  k.double_ = {1.0, 2.0};
  k.operator_ = 3;
  k.operator__ = 4;
  k.errno_ = 5;
  k.Ptr_ = "p";
  k.Keywords_ = "k";
  EXPECT_EQ(golden::Keywords::default_, 2);
  // The field's own name is what everybody else sees.
  EXPECT_STREQ(baton::message::type_of<golden::Keywords>().fields[0].name, "class");
}

TEST(GeneratedMessage, PartsCopiedOutLiveOnTheirOwn) {
  std::unique_ptr<Image> image = std::make_unique<Image>(small_image());
  auto header = image->header;
  auto data = image->data;
  std::string frame = image->header.frame_id;
  image.reset();
  EXPECT_EQ(header.frame_id, "map");
  EXPECT_EQ(data.size(), 300u);
  EXPECT_EQ(frame, "map");
}

TEST(GeneratedMessage, PartsCopiedOutOfALoanLiveOnTheirOwn) {
  auto loan = std::make_unique<Loaned<Image>>();
  **loan = small_image();
  auto header = (*loan)->header;
  auto data = (*loan)->data;
  Image all = **loan;
  loan.reset();
  EXPECT_EQ(header.frame_id, "map");
  EXPECT_EQ(data[299], 43);
  EXPECT_EQ(all, small_image());
}

TEST(GeneratedMessage, LivesInAStdVector) {
  std::vector<Image> images;
  for (int i = 0; i < 100; ++i) {
    images.push_back(small_image());
    images.back().width = static_cast<std::uint32_t>(i);
  }
  images.erase(images.begin() + 10, images.begin() + 20);
  std::reverse(images.begin(), images.end());
  ASSERT_EQ(images.size(), 90u);
  EXPECT_EQ(images.front().width, 99u);
  EXPECT_EQ(images.back().width, 0u);
  for (const Image& image : images) EXPECT_EQ(image.data.size(), 300u);
}

TEST(GeneratedMessage, SwapsBetweenStackAndStackAndBetweenStackAndLoan) {
  Image a = small_image();
  Image b;
  b.encoding = "mono8";
  std::swap(a, b);
  EXPECT_EQ(a.encoding, "mono8");
  EXPECT_EQ(b, small_image());

  Loaned<Image> loan;
  loan->encoding = "loaned";
  std::swap(*loan, b);
  EXPECT_EQ(*loan, small_image());
  EXPECT_EQ(b.encoding, "loaned");
  EXPECT_TRUE(b.data.empty());
}

TEST(GeneratedMessage, IsAssignedBetweenLoanStackAndHeap) {
  Loaned<Image> first;
  Loaned<Image> second;
  *first = small_image();                        // stack to loan
  *second = *first;                              // loan to loan
  auto heap = std::make_shared<Image>(*second);  // loan to heap
  Image stack;
  stack = *heap;              // heap to stack
  stack = std::move(*first);  // loan to stack, moved
  EXPECT_EQ(stack, small_image());
  EXPECT_EQ(*second, *heap);
  heap->data[0] = 99;
  EXPECT_NE(*second, *heap);
  stack = static_cast<const Image&>(stack);  // itself
  EXPECT_EQ(stack, small_image());
}

TEST(GeneratedMessage, MovesWithoutCopyingItsContents) {
  Image from = small_image();
  const std::uint8_t* data = from.data.data();
  Image to = std::move(from);
  EXPECT_EQ(to.data.data(), data);
  static_assert(std::is_nothrow_move_constructible_v<Image>);
  static_assert(std::is_nothrow_move_constructible_v<CameraInfo>);
}

TEST(GeneratedMessage, ComparesMemberByMember) {
  EXPECT_EQ(small_image(), small_image());
  Image other = small_image();
  other.data.back() = 0;
  EXPECT_TRUE(other != small_image());
  golden::Nested a;
  golden::Nested b;
  EXPECT_EQ(a, b);
  b.two[1].items.resize(1);
  EXPECT_NE(a, b);
  EXPECT_EQ(golden::Empty(), golden::Empty());
}

TEST(GeneratedMessage, PrintsItselfWhereverItLives) {
  const std::string text = text_of(small_image());
  EXPECT_NE(text.find("frame_id: map"), std::string::npos) << text;
  EXPECT_NE(text.find("height: 10"), std::string::npos) << text;
  EXPECT_NE(text.find("..."), std::string::npos) << "300 elements are cut";
  Loaned<Image> loan;
  *loan = small_image();
  EXPECT_EQ(text_of(*loan), text);
  EXPECT_EQ(text_of(golden::Empty()), "{}\n");
}

TEST(GeneratedMessage, PrintsLongStringsAndNestedSequencesCut) {
  golden::Nested nested;
  nested.header.frame_id = std::string(100'000, 'x');
  nested.many.resize(1000);
  for (auto& inner : nested.many) inner.items.resize(1000);
  const std::string text = text_of(nested);
  EXPECT_LT(text.size(), 2'000'000u);
  EXPECT_EQ(text.find(std::string(200, 'x')), std::string::npos);
}

TEST(GeneratedMessage, ConvertsToAndFromStdTypes) {
  Image image;
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  image.data = bytes;
  image.encoding = std::string("mono8");
  const std::vector<std::uint8_t> back = image.data;
  const std::string encoding = image.encoding;
  const std::string_view view = image.encoding;
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(encoding, "mono8");
  EXPECT_EQ(view.size(), 5u);
  EXPECT_EQ(image.encoding + "/suffix", "mono8/suffix");
  image.data = {9, 8};
  image.data.insert(image.data.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(image.data, (std::vector<std::uint8_t>{9, 8, 1, 2, 3}));
  golden::Sequences s;
  s.string_value = std::vector<std::string>{"one", "two"};
  const std::vector<std::string> words(s.string_value.begin(), s.string_value.end());
  EXPECT_EQ(words, (std::vector<std::string>{"one", "two"}));
}

TEST(GeneratedMessage, GivesIteratorsAndSpans) {
  Image image = small_image();
  std::sort(image.data.rbegin(), image.data.rend());
  EXPECT_TRUE(std::is_sorted(image.data.begin(), image.data.end(), std::greater<>()));
  std::size_t sum = 0;
  for (std::uint8_t byte : image.data.span()) sum += byte;
  EXPECT_EQ(sum, std::accumulate(image.data.cbegin(), image.data.cend(), std::size_t{0}));
  golden::Sequences s;
  s.bool_value = {true, false, true};
  EXPECT_EQ(std::count(s.bool_value.begin(), s.bool_value.end(), true), 2);
}

TEST(GeneratedMessage, KeepsBounds) {
  golden::Bounded b;
  b.int32_value = {1, 2, 3, 4};
  EXPECT_THROW(b.int32_value.push_back(5), std::length_error);
  EXPECT_THROW(b.short_string = "nine chars", std::length_error);
  EXPECT_THROW(b.short_wstring = u"nine chars", std::length_error);
  b.short_string = "eight ch";
  b.few_short_strings.resize(2);
  EXPECT_THROW(b.few_short_strings.resize(3), std::length_error);
}

TEST(GeneratedMessage, ReachesAFieldUnderTheNamesOfBothDialects) {
  Image image;
  image.header.stamp.nsec = 5;
  EXPECT_EQ(image.header.stamp.nanosec, 5u);
  CameraInfo info;
  info.D = {0.1, 0.2};
  info.K[4] = 525.0;
  EXPECT_EQ(info.d.size(), 2u);
  EXPECT_EQ(info.k[4], 525.0);
  baton::msg::stereo_msgs::DisparityImage disparity;
  disparity.T = 0.12F;
  EXPECT_EQ(disparity.t, 0.12F);
}

TEST(GeneratedMessage, WithTwoNamesForAFieldCopiesAndMovesLikeAnyOther) {
  CameraInfo info;
  info.distortion_model = "plumb_bob";
  info.D = {1, 2, 3, 4, 5};
  info.P[11] = 7;
  info.roi.do_rectify = true;
  CameraInfo copy = info;
  EXPECT_EQ(copy, info);
  copy.d[0] = 9;
  EXPECT_NE(copy, info);
  const CameraInfo moved = std::move(copy);
  EXPECT_EQ(moved.D[0], 9);
  std::vector<CameraInfo> many(3, info);
  many.resize(50);
  many[0] = many[49];
  EXPECT_EQ(many[1], info);
  EXPECT_TRUE(many[0].d.empty());
  Loaned<CameraInfo> loan;
  *loan = info;
  EXPECT_EQ(CameraInfo(*loan), info);
}

TEST(GeneratedMessage, WithTwoNamesForAFieldThrowsWhenItIsMovedIntoALoanThatIsTooSmall) {
  CameraInfo info;
  info.d.resize(100'000);
  Loaned<CameraInfo> loan(4096);
  EXPECT_THROW(*loan = std::move(info), baton::Exception);
  EXPECT_EQ(info.d.size(), 100'000u) << "nothing was lost";
}

TEST(GeneratedMessage, HasPointersAsInRos) {
  Image::Ptr image = std::make_shared<Image>(small_image());
  Image::ConstPtr shared = image;
  EXPECT_EQ(shared->width, 10u);
}

TEST(GeneratedService, HasRequestAndResponse) {
  using baton::srv::std_srvs::SetBool;
  SetBool::Request request;
  request.data = true;
  SetBool::Response response;
  response.message = "done";
  EXPECT_EQ(text_of(request), "data: true\n");
  EXPECT_STREQ(SetBool::kName, "std_srvs/SetBool");
  using baton::srv::golden_msgs::Everything;
  EXPECT_EQ(Everything::Request::MODE_FAST, 1);
  EXPECT_EQ(Everything::Request().mode, 1);
  EXPECT_EQ(Everything::Response().code, -1);
  EXPECT_EQ(Everything::Response().reason, "none");
  EXPECT_STREQ(baton::message::type_of<Everything::Response>().name, "golden_msgs/Everything_Response");
}

}  // namespace
