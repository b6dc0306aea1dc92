// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers. Both messages are reused, as the documentation advises, so that their strings keep their memory.
#include <stdexcept>

#include "codec.hpp"
#include "image.pb.h"

namespace baton::perf {
namespace {

class ProtobufEncoder : public Encoder {
 public:
  explicit ProtobufEncoder(const RunPlan& plan) : wire_(plan.bytes + 256) {}
  std::byte* begin(std::size_t bytes) override {
    image_.mutable_header()->set_seq(++count_);
    image_.mutable_header()->set_frame_id("camera");
    image_.mutable_header()->mutable_stamp()->set_sec(count_);
    image_.set_height(1);
    image_.set_width(static_cast<std::uint32_t>(bytes));
    image_.set_step(static_cast<std::uint32_t>(bytes));
    image_.set_encoding("mono8");
    std::string& data = *image_.mutable_data();
    data.resize(bytes);
    return reinterpret_cast<std::byte*>(data.data());
  }
  void finish(std::vector<iovec>& parts) override {
    const std::size_t size = image_.ByteSizeLong();
    wire_.reserve(size);
    image_.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(wire_.data()));
    parts.push_back({wire_.data(), size});
  }

 private:
  pb::Image image_;
  std::uint32_t count_ = 0;
  Buffer wire_;
};

class ProtobufDecoder : public Decoder {
 public:
  void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) override {
    if (!image_.ParseFromArray(wire, static_cast<int>(bytes)))
      throw std::runtime_error("Protocol Buffers cannot parse what came");
    receiver.message(reinterpret_cast<const std::byte*>(image_.data().data()), image_.data().size());
  }

 private:
  pb::Image image_;
};

}  // namespace

Format protobuf_format() {
  return {[](const RunPlan& plan) { return std::make_unique<ProtobufEncoder>(plan); },
          [](const RunPlan&) { return std::make_unique<ProtobufDecoder>(); }};
}

}  // namespace baton::perf
