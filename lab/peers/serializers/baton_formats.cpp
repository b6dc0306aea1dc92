// SPDX-License-Identifier: Apache-2.0
// The two forms of Baton's sensor_msgs/Image outside shared memory: SFM with its layout in memory, and CDR.
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "baton/message/builder.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/validate.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "codec.hpp"

namespace baton::perf {
namespace {

using msg::sensor_msgs::Image;
using msg::std_msgs::Header;

template <class Number>
void put(std::byte* at, Number value) {
  std::memcpy(at, &value, sizeof value);
}

/// An image in private memory, one flat block.
class FlatImage {
 public:
  std::byte* begin(std::size_t bytes) {
    message::FlatBuilder builder(buffer_);
    builder.begin(message::type_of<Image>()).or_throw();
    builder.add_string(offsetof(Image, header) + offsetof(Header, frame_id), "camera", 6).or_throw();
    builder.add_string(offsetof(Image, encoding), "mono8", 5).or_throw();
    const std::size_t data = builder.add_sequence(offsetof(Image, data), bytes, {1, 1}).or_throw();
    put(builder.base() + offsetof(Image, height), std::uint32_t{1});
    put(builder.base() + offsetof(Image, width), static_cast<std::uint32_t>(bytes));
    put(builder.base() + offsetof(Image, step), static_cast<std::uint32_t>(bytes));
    return builder.base() + data;
  }
  message::Bytes bytes() const { return buffer_.bytes(); }

 private:
  message::FlatBuffer buffer_;
};

/// The pixels of a valid flat image: {u32 length, i32 offset from this second word}.
void hand_over(const std::byte* image, Receiver& receiver) {
  std::uint32_t length = 0;
  std::int32_t offset = 0;
  const std::byte* const words = image + offsetof(Image, data);
  std::memcpy(&length, words, sizeof length);
  std::memcpy(&offset, words + 4, sizeof offset);
  receiver.message(words + 4 + offset, length);
}

class SfmEncoder : public Encoder {
 public:
  std::byte* begin(std::size_t bytes) override { return image_.begin(bytes); }
  void finish(std::vector<iovec>& parts) override {
    parts.push_back({const_cast<std::byte*>(image_.bytes().data), image_.bytes().size});
  }

 private:
  FlatImage image_;
};

class SfmDecoder : public Decoder {
 public:
  void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) override {
    message::validate(message::type_of<Image>(), wire, static_cast<std::uint32_t>(bytes)).or_throw();
    hand_over(wire, receiver);
  }
};

class CdrEncoder : public Encoder {
 public:
  explicit CdrEncoder(const RunPlan& plan) : wire_(plan.bytes + 256) {}
  std::byte* begin(std::size_t bytes) override { return image_.begin(bytes); }
  void finish(std::vector<iovec>& parts) override {
    wire_.reserve(image_.bytes().size + 256);
    const std::size_t size = codec_.encode(image_.bytes(), {wire_.data(), wire_.capacity()}).or_throw();
    parts.push_back({wire_.data(), size});
  }

 private:
  const message::CdrCodec codec_ = message::CdrCodec::compile(message::type_of<Image>()).or_throw();
  FlatImage image_;
  Buffer wire_;
};

class CdrDecoder : public Decoder {
 public:
  void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) override {
    message::FlatBuilder builder(buffer_);
    codec_.decode({wire, bytes}, builder).or_throw();
    hand_over(buffer_.data(), receiver);
  }

 private:
  const message::CdrCodec codec_ = message::CdrCodec::compile(message::type_of<Image>()).or_throw();
  message::FlatBuffer buffer_;
};

}  // namespace

Format cdr_format() {
  return {[](const RunPlan& plan) { return std::make_unique<CdrEncoder>(plan); },
          [](const RunPlan&) { return std::make_unique<CdrDecoder>(); }};
}
Format sfm_format() {
  return {[](const RunPlan&) { return std::make_unique<SfmEncoder>(); },
          [](const RunPlan&) { return std::make_unique<SfmDecoder>(); }};
}

}  // namespace baton::perf
