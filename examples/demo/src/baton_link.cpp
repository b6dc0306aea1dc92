// SPDX-License-Identifier: Apache-2.0
#include "baton_link.hpp"

#include "baton/baton.hpp"

namespace baton::demo {
namespace {

constexpr std::uint32_t kDepth = 4;

class BatonSender final : public ImageSender {
 public:
  BatonSender(const std::string& directory, const std::string& channel)
      : node_("camera", NodeOptions{0, directory, {}}), publisher_(node_.advertise<Image>(channel, QoS(kDepth))) {}

  void send(const std::function<void(Image&)>& fill, const std::function<void(Image&)>& stamp) override {
    Loan<Image> image = publisher_.loan();
    fill(*image);
    stamp(*image);
    publisher_.publish(std::move(image));
  }
  std::uint32_t receivers() const override { return publisher_.matched(); }
  LinkCounters counters() const override {
    const PublisherCounters c = publisher_.counters();
    return {c.published, c.copied_messages, c.copied_bytes, 0};
  }

 private:
  Node node_;
  Publisher<Image> publisher_;
};

class BatonReceiver final : public ImageReceiver {
 public:
  BatonReceiver(const std::string& directory, const std::string& channel, const std::string& role)
      : node_(role, NodeOptions{0, directory, {}}), subscription_(node_.subscribe<Image>(channel, QoS(kDepth))) {
    wait_set_.add(subscription_.reader()).or_throw();
  }

  bool receive(std::chrono::milliseconds timeout, const std::function<void(const Image&)>& use) override {
    Sample<Image> sample = subscription_.take();
    if (!sample) {
      if (!std::move(wait_set_.wait(timeout)).or_throw()) return false;
      sample = subscription_.take();
      if (!sample) return false;
    }
    ++messages_;
    // Proof, not belief: the pixels are read where the publisher wrote them, in its segment, or they count as copied.
    if (!memory::in_window(sample->data.data())) ++copies_;
    use(*sample);
    return true;
  }
  LinkCounters counters() const override { return {messages_, copies_, 0, subscription_.statuses().lost_total}; }

 private:
  Node node_;
  Subscription<Image> subscription_;
  transport::WaitSet wait_set_;
  std::uint64_t messages_ = 0, copies_ = 0;
};

}  // namespace

std::unique_ptr<ImageSender> make_baton_sender(const std::string& directory, const std::string& channel) {
  return std::make_unique<BatonSender>(directory, channel);
}
std::unique_ptr<ImageReceiver> make_baton_receiver(const std::string& directory, const std::string& channel,
                                                   const std::string& role) {
  return std::make_unique<BatonReceiver>(directory, channel, role);
}

}  // namespace baton::demo
