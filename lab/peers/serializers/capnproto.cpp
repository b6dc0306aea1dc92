// SPDX-License-Identifier: Apache-2.0
// Cap'n Proto. The message is built in a scratch space that is kept. The builder demands that the space is zeroed after
// each message, which costs less than fresh pages. The message is sent from the space without flattening, and read in
// the receive buffer.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <optional>

#include "codec.hpp"
#include "image.capnp.h"

namespace baton::perf {
namespace {

class CapnProtoEncoder : public Encoder {
 public:
  explicit CapnProtoEncoder(const RunPlan& plan)
      : scratch_(kj::heapArray<capnp::word>(plan.bytes / sizeof(capnp::word) + 128)) {
    std::memset(scratch_.begin(), 0, scratch_.size() * sizeof(capnp::word));
  }
  std::byte* begin(std::size_t bytes) override {
    message_.reset();
    message_.emplace(scratch_);
    auto image = message_->initRoot<capnproto::Image>();
    auto header = image.initHeader();
    header.setSeq(++count_);
    header.initStamp().setSec(count_);
    header.setFrameId("camera");
    image.setHeight(1);
    image.setWidth(static_cast<std::uint32_t>(bytes));
    image.setStep(static_cast<std::uint32_t>(bytes));
    image.setEncoding("mono8");
    return reinterpret_cast<std::byte*>(image.initData(static_cast<unsigned>(bytes)).begin());
  }
  void finish(std::vector<iovec>& parts) override {
    // The stream framing of its documentation: count of segments less one, their sizes in words, padding; then the
    // segments.
    const auto segments = message_->getSegmentsForOutput();
    table_.assign(1, static_cast<std::uint32_t>(segments.size() - 1));
    for (const auto& segment : segments) table_.push_back(static_cast<std::uint32_t>(segment.size()));
    if (table_.size() % 2 != 0) table_.push_back(0);
    parts.push_back({table_.data(), table_.size() * sizeof table_[0]});
    for (const auto& segment : segments)
      parts.push_back({const_cast<capnp::word*>(segment.begin()), segment.size() * sizeof(capnp::word)});
  }

 private:
  kj::Array<capnp::word> scratch_;
  std::optional<capnp::MallocMessageBuilder> message_;
  std::vector<std::uint32_t> table_;
  std::uint32_t count_ = 0;
};

class CapnProtoDecoder : public Decoder {
 public:
  void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) override {
    const auto* const words = reinterpret_cast<const capnp::word*>(wire);
    capnp::ReaderOptions options;
    options.traversalLimitInWords = bytes;  // the default refuses large images
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(words, bytes / sizeof(capnp::word)), options);
    const auto data = reader.getRoot<capnproto::Image>().getData();
    receiver.message(reinterpret_cast<const std::byte*>(data.begin()), data.size());
  }
};

}  // namespace

Format capnproto_format() {
  return {[](const RunPlan& plan) { return std::make_unique<CapnProtoEncoder>(plan); },
          [](const RunPlan&) { return std::make_unique<CapnProtoDecoder>(); }};
}

}  // namespace baton::perf
