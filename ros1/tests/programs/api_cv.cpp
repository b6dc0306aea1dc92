// SPDX-License-Identifier: Apache-2.0
// Images of Baton in OpenCV and back, compared with what cv_bridge makes of the same stock images. Prints "ok" for each encoding
// and conversion; then "shared" if OpenCV saw the pixels where the message has them.
#include <ros/ros.h>

#include <baton/ros1/cv_bridge.hpp>
#include <iostream>
#include <memory>
#include <string>

using baton::msg::sensor_msgs::Image;

namespace {

bool same(const cv_bridge::CvImage& a, const cv_bridge::CvImage& b) {
  return a.encoding == b.encoding && a.header.stamp == b.header.stamp && a.header.frame_id == b.header.frame_id &&
         a.image.type() == b.image.type() && a.image.size() == b.image.size() &&
         std::equal(a.image.datastart, a.image.dataend, b.image.datastart, b.image.dataend);
}

void compare(baton::ros1::Publisher<Image>& publisher, const std::string& encoding, const std::string& wanted,
             bool bigendian) {
  constexpr std::uint32_t kWidth = 10, kHeight = 4;
  sensor_msgs::ImagePtr stock(new sensor_msgs::Image);
  stock->header.stamp = ros::Time(12, 34);
  stock->header.frame_id = "camera";
  stock->width = kWidth;
  stock->height = kHeight;
  stock->encoding = encoding;
  stock->is_bigendian = bigendian;
  stock->step = kWidth * static_cast<std::uint32_t>(CV_ELEM_SIZE(cv_bridge::getCvType(encoding)));
  for (std::uint32_t i = 0; i < stock->step * kHeight; ++i) stock->data.push_back(static_cast<std::uint8_t>(7 * i));
  auto own = std::make_shared<baton::Loan<Image>>(publisher.loan());
  Image& image = **own;
  image.header.stamp = stock->header.stamp;
  image.header.frame_id = stock->header.frame_id;
  image.width = stock->width;
  image.height = stock->height;
  image.encoding = encoding;
  image.is_bigendian = bigendian;
  image.step = stock->step;
  image.data.assign(stock->data.begin(), stock->data.end());
  const std::shared_ptr<const Image> message(own, &image);

  const auto expected = cv_bridge::toCvCopy(stock, wanted);
  const auto copy = baton::ros1::toCvCopy(message, wanted);
  bool good = same(*baton::ros1::toCvShare(message, wanted), *expected) && same(*copy, *expected);
  const auto back = baton::ros1::toImageMsg(publisher, *copy);
  const auto stock_back = expected->toImageMsg();
  good = good && std::string(back->encoding) == stock_back->encoding && back->step == stock_back->step &&
         std::equal(back->data.begin(), back->data.end(), stock_back->data.begin(), stock_back->data.end());
  std::cout << (good ? "ok" : "different") << ' ' << encoding << " as " << wanted << std::endl;
  if (encoding == wanted && !bigendian) {
    const bool shared = baton::ros1::toCvShare(message)->image.data == image.data.data();
    std::cout << (shared && copy->image.data != image.data.data() ? "shared" : "copied") << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "cv", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ros::NodeHandle node;
  auto publisher = baton::ros1::advertise<Image>(node, "images", 10);
  compare(publisher, "bgr8", "bgr8", false);
  compare(publisher, "rgb8", "mono8", false);
  compare(publisher, "mono16", "mono16", false);
  compare(publisher, "mono16", "mono16", true);
  compare(publisher, "32FC1", "32FC1", false);
  compare(publisher, "bayer_grbg8", "bgr8", false);
}
