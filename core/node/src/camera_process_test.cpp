// SPDX-License-Identifier: Apache-2.0
// The README's camera, and a subscription in another process that keeps whatever it gets.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using baton::msg::sensor_msgs::Image;

namespace {

constexpr std::size_t kFrameBytes = 620 * 1024;  // a tenth of a frame of 6.2 MB, of a tenth of the default memory
constexpr std::size_t kMemory = std::size_t{100} << 20;

class CameraTest : public baton::test::DomainTest {
 protected:
  ~CameraTest() override {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  /// A process of its own that runs `body` until it is killed. REQUIRES: this process has no node yet.
  void start(const std::function<void()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(280);
      body();
      ::_exit(0);
    }
    children_.push_back(child);
  }
  std::vector<pid_t> children_;
};

TEST_F(CameraTest, ASubscriptionThatKeepsItsFramesEndsNeitherTheCameraNorTheViewer) {
  start([] {
    baton::Node node("greedy");
    std::vector<Image::ConstSharedPtr> kept;
    auto subscription = node.subscribe<Image>("image", baton::QoS(10).hold(252),
                                              [&](const Image::ConstSharedPtr& image) { kept.push_back(image); });
    baton::spin(node);
  });
  start([] {
    baton::Node node("viewer");
    auto seen = node.advertise<Image>("seen");
    auto subscription = node.subscribe<Image>("image", 4, [&](const Image& image) {
      auto answer = seen.loan();
      answer->header.frame_id = image.header.frame_id;
      seen.publish(std::move(answer));
    });
    baton::spin(node);
  });
  baton::Node node("camera");
  baton::PublisherOptions options;
  options.memory_limit_bytes = kMemory;
  auto publisher = node.advertise<Image>("image", baton::QoS(10), options);
  int last_seen = 0, frames = 0;
  auto seen = node.subscribe<Image>(
      "seen", 10, [&](const Image& image) { last_seen = std::stoi(std::string(image.header.frame_id)); });
  baton::test::await_matched(node, publisher, 2);
  baton::Executor executor;
  executor.add(node);
  auto timer = node.create_timer(5ms, [&] {
    auto image = publisher.loan();
    image->header.frame_id = std::to_string(++frames);
    image->data.resize_for_overwrite(kFrameBytes);
    std::fill(image->data.begin(), image->data.end(), std::uint8_t{1});
    publisher.publish(std::move(image));
  });
  // Twice as many frames as the memory holds; then the viewer still sees the newest.
  while (frames < 340) ASSERT_TRUE(executor.spin_once(60s));
  const int last = frames;
  while (last_seen < last) ASSERT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(publisher.statuses().dropped_total, 0U);
  EXPECT_EQ(publisher.matched(), 1U);
  EXPECT_NE(publisher.statuses().last_refusal.find("asks to hold 252 samples"), std::string::npos)
      << publisher.statuses().last_refusal;
}

}  // namespace
