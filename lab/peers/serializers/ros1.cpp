// SPDX-License-Identifier: Apache-2.0
// ROS 1's serialization, as roscpp does it: the whole message is written into a buffer and read into another message.
#include <ros/serialization.h>
#include <sensor_msgs/Image.h>

#include "codec.hpp"

namespace baton::perf {
namespace {

namespace wire = ros::serialization;

class Ros1Encoder : public Encoder {
 public:
  explicit Ros1Encoder(const RunPlan& plan) : wire_(plan.bytes + 256) {}
  std::byte* begin(std::size_t bytes) override {  // the vector is reused: growing it anew would zero it each time
    image_.header.frame_id = "camera";
    image_.height = 1;
    image_.width = image_.step = static_cast<std::uint32_t>(bytes);
    image_.encoding = "mono8";
    image_.data.resize(bytes);
    return reinterpret_cast<std::byte*>(image_.data.data());
  }
  void finish(std::vector<iovec>& parts) override {
    const std::uint32_t size = wire::serializationLength(image_);
    wire_.reserve(size);
    wire::OStream stream(reinterpret_cast<std::uint8_t*>(wire_.data()), size);
    wire::serialize(stream, image_);
    parts.push_back({wire_.data(), size});
  }

 private:
  sensor_msgs::Image image_;
  Buffer wire_;
};

class Ros1Decoder : public Decoder {
 public:
  void decode(std::byte* data, std::size_t bytes, Receiver& receiver) override {
    wire::IStream stream(reinterpret_cast<std::uint8_t*>(data), static_cast<std::uint32_t>(bytes));
    wire::deserialize(stream, image_);
    receiver.message(reinterpret_cast<const std::byte*>(image_.data.data()), image_.data.size());
  }

 private:
  sensor_msgs::Image image_;
};

}  // namespace

Format ros1_format() {
  return {[](const RunPlan& plan) { return std::make_unique<Ros1Encoder>(plan); },
          [](const RunPlan&) { return std::make_unique<Ros1Decoder>(); }};
}

}  // namespace baton::perf
