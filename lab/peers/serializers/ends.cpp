// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "codec.hpp"

namespace baton::perf {
namespace {

Family family_of(const RunPlan& plan) {
  const auto set = plan.settings.find("transport");
  if (set == plan.settings.end() || set->second == "unix") return Family::kUnix;
  if (set->second == "tcp") return Family::kTcp;
  throw std::runtime_error("the setting transport is unix or tcp");
}

class EncodingPublisher : public PublisherEnd {
 public:
  EncodingPublisher(const RunPlan& plan, unsigned index, const Format& format)
      : sender_(plan, index, family_of(plan)), encoder_(format.encoder(plan)) {}
  std::byte* begin(std::size_t bytes) override {
    sender_.accept_new();
    return encoder_->begin(bytes);
  }
  void publish(std::size_t) override {
    parts_.clear();
    encoder_->finish(parts_);
    sender_.send(parts_.data(), parts_.size());
  }

 private:
  StreamSender sender_;
  std::unique_ptr<Encoder> encoder_;
  std::vector<iovec> parts_;
};

class DecodingSubscriber : public SubscriberEnd {
 public:
  DecodingSubscriber(const RunPlan& plan, const Format& format, Receiver& receiver)
      : decoder_(format.decoder(plan)),
        stream_(plan, family_of(plan), [this, &receiver](std::byte* wire, std::size_t bytes, unsigned) {
          decoder_->decode(wire, bytes, receiver);
        }) {}
  void receive(std::chrono::nanoseconds timeout) override { stream_.receive(timeout); }

 private:
  std::unique_ptr<Decoder> decoder_;
  StreamReceiver stream_;
};

}  // namespace

std::unique_ptr<PublisherEnd> make_encoding_publisher(const RunPlan& plan, unsigned index, const Format& format) {
  return std::make_unique<EncodingPublisher>(plan, index, format);
}
std::unique_ptr<SubscriberEnd> make_decoding_subscriber(const RunPlan& plan, const Format& format, Receiver& receiver) {
  return std::make_unique<DecodingSubscriber>(plan, format, receiver);
}

}  // namespace baton::perf
