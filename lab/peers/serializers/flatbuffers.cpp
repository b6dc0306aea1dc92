// SPDX-License-Identifier: Apache-2.0
// FlatBuffers. The pixels are written in the send buffer, and read in the receive buffer. The builder keeps its memory.
// A received message is verified first, as the documentation advises for data of other processes.
#include <stdexcept>

#include "codec.hpp"
#include "image_generated.h"

namespace baton::perf {
namespace {

class FlatBuffersEncoder : public Encoder {
 public:
  explicit FlatBuffersEncoder(const RunPlan& plan) : builder_(plan.bytes + 1024) {}
  std::byte* begin(std::size_t bytes) override {
    builder_.Clear();
    width_ = static_cast<std::uint32_t>(bytes);
    const auto frame = builder_.CreateString("camera", 6);
    encoding_ = builder_.CreateString("mono8", 5);
    const fb::Time stamp(++count_, 0);
    header_ = fb::CreateHeader(builder_, count_, &stamp, frame);
    std::uint8_t* data = nullptr;
    data_ = builder_.CreateUninitializedVector<std::uint8_t>(
        bytes, &data);  // later additions do not move it: the buffer has room
    return reinterpret_cast<std::byte*>(data);
  }
  void finish(std::vector<iovec>& parts) override {
    builder_.Finish(fb::CreateImage(builder_, header_, 1, width_, encoding_, 0, width_, data_));
    parts.push_back({builder_.GetBufferPointer(), builder_.GetSize()});
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  flatbuffers::Offset<flatbuffers::String> encoding_;
  flatbuffers::Offset<fb::Header> header_;
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> data_;
  std::uint32_t width_ = 0, count_ = 0;
};

class FlatBuffersDecoder : public Decoder {
 public:
  void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) override {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(wire);
    flatbuffers::Verifier verifier(begin, bytes);
    if (!fb::VerifyImageBuffer(verifier)) throw std::runtime_error("FlatBuffers refuses what came");
    const auto* const data = fb::GetImage(begin)->data();
    receiver.message(reinterpret_cast<const std::byte*>(data->data()), data->size());
  }
};

}  // namespace

Format flatbuffers_format() {
  return {[](const RunPlan& plan) { return std::make_unique<FlatBuffersEncoder>(plan); },
          [](const RunPlan&) { return std::make_unique<FlatBuffersDecoder>(); }};
}

}  // namespace baton::perf
