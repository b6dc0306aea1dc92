// SPDX-License-Identifier: Apache-2.0
#include "baton/os/duration.hpp"

#include <gtest/gtest.h>

namespace baton::os {
namespace {

using namespace std::chrono;

constexpr std::int64_t kMost = nanoseconds::max().count();
constexpr std::int64_t kLeast = nanoseconds::min().count();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Duration>
constexpr std::int64_t ns(Duration duration) {
  return Nanoseconds(duration).count();
}
template <class Rep, class Period = std::ratio<1>>
constexpr std::int64_t of(Rep count) {
  return ns(duration<Rep, Period>(count));
}

TEST(Duration, OfEveryUnitKeepsItsValueUpToTheEndsOfItsRange) {
  static_assert(ns(hours::max()) == kMost && ns(hours::min()) == kLeast);
  EXPECT_EQ(ns(nanoseconds::max()), kMost);
  EXPECT_EQ(ns(nanoseconds::min()), kLeast);
  EXPECT_EQ(ns(microseconds::max()), kMost);
  EXPECT_EQ(ns(milliseconds::max()), kMost);
  EXPECT_EQ(ns(milliseconds::min()), kLeast);
  EXPECT_EQ(ns(seconds::max()), kMost);
  EXPECT_EQ(ns(minutes::max()), kMost);
  EXPECT_EQ(ns(hours(2562047)), 2562047 * INT64_C(3600000000000));  // the last that fits
  EXPECT_EQ(ns(hours(2562048)), kMost);
  EXPECT_EQ(ns(hours(5200000)), kMost);  // would be positive again after the overflow
  EXPECT_EQ(ns(hours(-2562048)), kLeast);
  EXPECT_EQ(ns(milliseconds(-1)), -1000000);
  EXPECT_EQ(ns(seconds(0)), 0);
  EXPECT_EQ(ns(seconds(9223372036)), INT64_C(9223372036000000000));
  EXPECT_EQ(ns(seconds(9223372037)), kMost);
}

TEST(Duration, OfOtherIntegersAndRatios) {
  EXPECT_EQ((of<std::uint64_t, std::nano>(UINT64_MAX)), kMost);
  EXPECT_EQ((of<std::uint64_t>(UINT64_MAX)), kMost);
  EXPECT_EQ((of<std::uint32_t, std::ratio<3600>>(UINT32_MAX)), kMost);
  EXPECT_EQ((of<std::uint8_t>(255)), 255000000000);
  EXPECT_EQ((of<std::int8_t>(-128)), -128000000000);
  EXPECT_EQ((of<std::int64_t, std::pico>(1999)), 1);
  EXPECT_EQ((of<std::int64_t, std::pico>(1)), 1);
  EXPECT_EQ((of<std::int64_t, std::pico>(-1)), -1);
  EXPECT_EQ((of<std::int64_t, std::pico>(INT64_MAX)), INT64_MAX / 1000);
  EXPECT_EQ((of<int, std::ratio<1001, 30000>>(1)), 33366667);  // a frame of NTSC
  EXPECT_EQ((of<std::int64_t, std::ratio<1001, 30000>>(INT64_MAX)), kMost);
}

TEST(Duration, OfFloatingPoint) {
  EXPECT_EQ(of(0.1), 100000000);
  EXPECT_EQ(of(-0.1), -100000000);
  EXPECT_EQ(of(0.5F), 500000000);
  EXPECT_EQ(of(2.5L), 2500000000);
  EXPECT_EQ(of(1e-12), 1);
  EXPECT_EQ(of(-1e-12), -1);
  EXPECT_EQ(of(std::numeric_limits<double>::denorm_min()), 1);
  EXPECT_EQ(of(0.0), 0);
  EXPECT_EQ(of(-0.0), 0);
  EXPECT_EQ(of(1e300), kMost);
  EXPECT_EQ(of(-1e300), kLeast);
  EXPECT_EQ(of(kInf), kMost);
  EXPECT_EQ(of(-kInf), kLeast);
  EXPECT_EQ(of(kNan), 0);
  EXPECT_EQ((of<double, std::nano>(9223372036854775807.0)), kMost);
  EXPECT_EQ((of<double, std::nano>(0x1p53 + 2)), (std::int64_t{1} << 53) + 2);
}

TEST(Duration, SumsStayInTheRange) {
  EXPECT_EQ(saturated_sum(nanoseconds::max(), nanoseconds(1)), nanoseconds::max());
  EXPECT_EQ(saturated_sum(nanoseconds(-2), nanoseconds::min()), nanoseconds::min());
  EXPECT_EQ(saturated_sum(nanoseconds::max(), nanoseconds::min()), nanoseconds(-1));
  EXPECT_EQ(saturated_sum(nanoseconds(2), nanoseconds(3)), nanoseconds(5));
  EXPECT_EQ(saturated_difference(nanoseconds(0), nanoseconds::min()), nanoseconds::max());
  EXPECT_EQ(saturated_difference(nanoseconds(-2), nanoseconds::max()), nanoseconds::min());
  EXPECT_EQ(saturated_difference(nanoseconds(2), nanoseconds(3)), nanoseconds(-1));
}

}  // namespace
}  // namespace baton::os
