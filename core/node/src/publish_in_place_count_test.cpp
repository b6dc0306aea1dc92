// SPDX-License-Identifier: Apache-2.0
// What publishing an object by reference costs in page faults, which are what it could lose by against a copy.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using baton::msg::sensor_msgs::Image;

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr long kPages = static_cast<long>(kBytes / 4096);
constexpr int kMessages = 50;

long faults_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

class PublishInPlaceCountTest : public baton::test::DomainTest {
 protected:
  /// Faults of `turn`, once it has run some times.
  template <class Turn>
  static long faults_of(const Turn& turn) {
    for (int i = 0; i < 10; ++i) turn();
    const long before = faults_of_this_thread();
    for (int i = 0; i < kMessages; ++i) turn();
    return faults_of_this_thread() - before;
  }
};

TEST_F(PublishInPlaceCountTest, AnObjectThatIsMadeForEachMessageIsNeitherCopiedNorMappedPageByPage) {
  baton::Node node("n");
  auto publisher = node.advertise<Image>("image", 1);
  const long faults = faults_of([&] {
    Image image;
    image.data.resize_for_overwrite(kBytes);
    ASSERT_TRUE(publisher.allocate(image));
    std::memset(image.data.data(), 1, kBytes);
    publisher.publish(image);
  });
  if (publisher.counters().copied_messages != 0) GTEST_SKIP() << "this system cannot set shared pages aside";
  EXPECT_LT(faults, kMessages * kPages / 20) << "a few pages of each message, for its fields";
}

TEST_F(PublishInPlaceCountTest, AnObjectThatIsFilledForEachMessageCostsACopyAndNoPageFaults) {
  baton::Node node("n");
  auto publisher = node.advertise<Image>("image", 1);
  Image image;
  image.data.resize_for_overwrite(kBytes);
  ASSERT_TRUE(publisher.allocate(image));
  const long faults = faults_of([&] {
    std::memset(image.data.data(), 1, kBytes);
    publisher.publish(image);
  });
  EXPECT_GE(publisher.counters().copied_messages, static_cast<std::uint64_t>(kMessages));
  EXPECT_LT(faults, kPages / 4);
}

}  // namespace
