// SPDX-License-Identifier: Apache-2.0
// Objects that were published by reference, and a publisher that is killed or has forked.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using baton::msg::sensor_msgs::Image;

namespace {

using PublishInPlaceProcessTest = baton::test::DomainTest;

TEST_F(PublishInPlaceProcessTest, AKilledPublisherLeavesTheMessageAsItWasPublished) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  int written[2];
  ASSERT_EQ(::pipe(written), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(280);
    baton::Node node("child");
    auto publisher = node.advertise<Image>("image", baton::QoS(1).transient_local());
    Image image;
    image.data.resize(kBytes);
    publisher.allocate(image);
    std::fill(image.data.begin(), image.data.end(), std::uint8_t{3});
    publisher.publish(image);
    for (std::uint8_t value = 4;; ++value) {
      std::fill(image.data.begin(), image.data.end(), value);
      if (::write(written[1], "w", 1) != 1) ::_exit(1);
    }
  }
  char byte = 0;
  ASSERT_EQ(::read(written[0], &byte, 1), 1);
  baton::Node node("parent");
  auto subscription = node.subscribe<Image>("image", baton::QoS(1).transient_local());
  baton::WaitSet waits;
  waits.add(subscription);
  baton::Sample<Image> sample;
  while (!(sample = subscription.take())) ASSERT_TRUE(waits.wait(60s));
  const auto good = [&] {
    return sample->data.size() == kBytes &&
           std::all_of(sample->data.begin(), sample->data.end(), [](std::uint8_t each) { return each == 3; });
  };
  EXPECT_TRUE(good()) << "while the publisher writes its object";
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(written[0]);
  ::close(written[1]);
  EXPECT_TRUE(good()) << "after its death";
}

TEST_F(PublishInPlaceProcessTest, AForkedChildChangesItsOwnObjectOnly) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  baton::Node node("n");
  auto publisher = node.advertise<Image>("image", baton::QoS(1).transient_local());
  Image image;
  image.data.resize(kBytes);
  ASSERT_TRUE(publisher.allocate(image));
  std::fill(image.data.begin(), image.data.end(), std::uint8_t{2});
  publisher.publish(image);
  const auto all = [](const Image& shown, std::uint8_t value) {
    return shown.data.size() == kBytes &&
           std::all_of(shown.data.begin(), shown.data.end(), [=](std::uint8_t each) { return each == value; });
  };
  const pid_t child = ::fork();
  if (child == 0) {
    std::fill(image.data.begin(), image.data.end(), std::uint8_t{4});
    const bool good = all(image, 4);
    image.data.clear();
    image.data.shrink_to_fit();
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto subscription = node.subscribe<Image>("image", baton::QoS(1).transient_local());
  baton::WaitSet waits;
  waits.add(subscription);
  baton::Sample<Image> sample;
  while (!(sample = subscription.take())) ASSERT_TRUE(waits.wait(60s));
  EXPECT_TRUE(all(*sample, 2));
  EXPECT_TRUE(all(image, 2));
}

}  // namespace
