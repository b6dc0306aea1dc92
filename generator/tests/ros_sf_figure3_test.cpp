// SPDX-License-Identifier: Apache-2.0
// The program of ROS-SF Fig. 3: the message on the stack, filled as any ROS message, published; the callback takes a ConstPtr.
#include <baton/msg/golden_msgs/simple_image.hpp>

#include <chrono>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "baton/node/executor.hpp"
#include "baton/node/node.hpp"
#include "support/own_domain.hpp"

namespace {

using Image = baton::msg::golden_msgs::SimpleImage;

std::ostringstream seen;
Image::ConstPtr kept;

void callback(const Image::ConstPtr& img) {
  seen << "\n Height: " << img->height;
  seen << "\n Width: " << img->width;
  kept = img;
}

class RosSf : public baton::test::DomainTest {
 protected:
  void TearDown() override { kept.reset(); }
};

TEST_F(RosSf, TheProgramOfFigure3PublishesAMessageFromTheStack) {
  baton::Node publisher_side("publisher");
  baton::Node subscriber_side("subscriber");
  auto pub = publisher_side.advertise<Image>("image");
  auto sub = subscriber_side.subscribe<Image>("image", 10, callback);
  ASSERT_TRUE(publisher_side.wait_for([&] { return pub.matched() == 1; }, std::chrono::seconds(60)));

  Image img;
  img.encoding = "rgb8";
  img.height = 10;
  img.width = 10;
  img.data.resize(10 * 10 * 3);
  img.data[299] = 7;
  pub.publish(img);
  img.height = 0;  // is not seen: publishing took a copy

  baton::Executor executor;
  executor.add(subscriber_side);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!kept && std::chrono::steady_clock::now() < deadline) executor.spin_some();
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(seen.str(), "\n Height: 10\n Width: 10");
  EXPECT_EQ(kept->encoding, "rgb8");
  ASSERT_EQ(kept->data.size(), 300u);
  EXPECT_EQ(kept->data[299], 7);
}

}  // namespace
