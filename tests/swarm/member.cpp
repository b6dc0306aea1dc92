// SPDX-License-Identifier: Apache-2.0
#include "member.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace baton::swarm {
namespace {

constexpr std::uint32_t kSlots = 64;  // few, so that one that is free too early is used again at once
constexpr std::size_t kMostHeld = 24;

// FNV-1a over words: quick enough to be done again and again.
std::uint64_t checksum(const char* bytes, std::size_t size) {
  std::uint64_t sum = 0xCBF29CE484222325U;
  for (; size >= 8; bytes += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, 8);
    sum = (sum ^ word) * 0x100000001B3U;
  }
  for (; size > 0; ++bytes, --size) sum = (sum ^ static_cast<unsigned char>(*bytes)) * 0x100000001B3U;
  return sum;
}

struct Head {
  std::uint64_t checksum, publisher, number;
};

void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }  // a statistic

}  // namespace

std::string make_text(std::uint64_t publisher, std::uint64_t number, std::size_t filler) {
  std::string text(sizeof(Head) + filler, static_cast<char>(number));
  const Head head{0, publisher, number};
  std::memcpy(text.data(), &head, sizeof head);
  const std::uint64_t sum = checksum(text.data() + 8, text.size() - 8);
  std::memcpy(text.data(), &sum, sizeof sum);
  return text;
}

Content read_text(const char* text, std::size_t size) {
  Content content;
  if (size < sizeof(Head)) return content;
  Head head;
  std::memcpy(&head, text, sizeof head);
  content.checksum = head.checksum;
  content.publisher = head.publisher;
  content.number = head.number;
  content.intact = checksum(text + 8, size - 8) == head.checksum;
  return content;
}

std::string topic_name(unsigned topic) { return "/swarm/" + std::to_string(topic); }

QoS quality(unsigned topic, Random& random) {
  QoS qos(1 + below(random, 8));
  qos.hold(1 + below(random, 6));
  if (topic == 1) qos.transient_local();
  if (topic == 2) qos.best_effort();
  if (topic == 3) qos.keep_all(4 + below(random, 16));
  return qos;
}

Member::Member(Board& board, Card& card, Random& random, std::uint64_t id)
    : board_(board), card_(card), random_(random), id_(id) {}

void Member::join(unsigned publishers, unsigned subscriptions) {
  NodeOptions options;
  options.on_diagnostic = [this](const transport::Diagnostic& diagnostic) {
    if (diagnostic.code == Errc::malformed_message) board_.fail("a malformed message: %s", diagnostic.text.c_str());
    if (diagnostic.code == Errc::disconnected) count(card_.given_up);
  };
  node_ = std::make_unique<Node>("member", options);
  wait_set_ = std::make_unique<transport::WaitSet>();
  PublisherOptions pool;
  pool.slot_count = kSlots;
  pool.max_message_bytes = 1 << 16;
  const unsigned first = below(random_, kTopics);
  for (unsigned i = 0; i < publishers; ++i) {
    Sender sender;
    sender.topic = (first + i) % kTopics;
    const QoS qos = quality(sender.topic, random_);
    sender.publisher = node_->advertise<Message>(topic_name(sender.topic), qos, pool);
    sender.id = id_ * 1000 + ++senders_made_;
    sender.history = sender.topic == 1 ? qos.depth : 0;
    senders_.push_back(std::move(sender));
  }
  for (unsigned i = 0; i < subscriptions; ++i) receivers_.push_back(make_receiver((first + i) % kTopics));
}

Member::Receiver Member::make_receiver(unsigned topic) {
  Receiver receiver;
  receiver.topic = topic;
  receiver.subscription = node_->subscribe<Message>(topic_name(topic), quality(topic, random_));
  wait_set_->add(receiver.subscription.reader()).or_throw();
  return receiver;
}

void Member::leave() {
  if (!held_.empty()) count(card_.kept_past_node);
  for (Receiver& receiver : receivers_) wait_set_->remove(receiver.subscription.reader());
  receivers_.clear();
  senders_.clear();
  wait_set_.reset();
  node_.reset();
}

void Member::publish() {
  for (Sender& sender : senders_) {
    auto loan = sender.publisher.try_loan();
    if (!loan.ok()) {
      count(card_.refused);
      continue;
    }
    (*loan)->data = make_text(sender.id, ++sender.number, below(random_, 3000));
    if (sender.publisher.try_publish(*loan).ok())
      count(card_.published);
    else
      count(card_.refused);
    if (sender.topic == 4 && chance(random_, 4)) sender.publisher.trim();
  }
}

void Member::take() {
  for (Receiver& receiver : receivers_) {
    for (int i = 0; i < 8; ++i) {
      auto taken = receiver.subscription.try_take();
      if (!taken.ok()) {
        if (taken.error().code == Errc::held_limit)
          release(1);
        else
          board_.fail("take: %s", taken.error().message.c_str());
        break;
      }
      if (!*taken) break;
      Held held;
      held.sample = std::move(*taken);
      const auto& text = held.sample->data;
      held.content = read_text(text.data(), text.size());
      count(card_.taken);
      if (!held.content.intact)
        board_.fail("a message on topic %u is torn as it is taken: publisher %llu, number %llu, %zu bytes",
                    receiver.topic, static_cast<unsigned long long>(held.content.publisher),
                    static_cast<unsigned long long>(held.content.number), text.size());
      if (receiver.topic != 1) {
        std::uint64_t& newest = receiver.newest[held.content.publisher];
        if (held.content.number <= newest)
          board_.fail("publisher %llu's message %llu came after %llu on topic %u",
                      static_cast<unsigned long long>(held.content.publisher),
                      static_cast<unsigned long long>(held.content.number), static_cast<unsigned long long>(newest),
                      receiver.topic);
        newest = held.content.number;
      }
      held_.push_back(std::move(held));
    }
  }
  if (held_.size() > kMostHeld) release(held_.size() - kMostHeld);
}

void Member::check(const Held& held, const char* when) {
  const auto& text = held.sample->data;
  const Content now = read_text(text.data(), text.size());
  count(card_.verified);
  if (now.intact && now.checksum == held.content.checksum && now.publisher == held.content.publisher &&
      now.number == held.content.number)
    return;
  board_.fail("a sample changed %s: it was message %llu of publisher %llu, and is %s %llu of %llu (%zu held; %s)", when,
              static_cast<unsigned long long>(held.content.number),
              static_cast<unsigned long long>(held.content.publisher), now.intact ? "now message" : "torn, perhaps",
              static_cast<unsigned long long>(now.number), static_cast<unsigned long long>(now.publisher), held_.size(),
              joined() ? "the node lives" : "the node has ended");
}

void Member::verify(bool all) {
  if (held_.empty()) return;
  if (!all) return check(held_[below(random_, held_.size())], "while it was held");
  for (const Held& held : held_) check(held, "while it was held");
}

void Member::release(std::size_t count) {
  for (; count > 0 && !held_.empty(); --count) {
    const std::size_t at = chance(random_, 3) ? below(random_, held_.size()) : 0;
    check(held_[at], "before its release");
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void Member::wait() {
  if (receivers_.empty())
    ::usleep(below(random_, 2000));
  else
    (void)wait_set_->wait(std::chrono::microseconds(below(random_, 3000)));
}

std::uint64_t Member::slots_in_use() const {
  std::uint64_t slots = 0;
  for (const Sender& sender : senders_) {
    const auto account = sender.publisher.memory_account();
    slots += account.loaned_slots + account.published_slots - std::min(sender.history, account.published_slots);
  }
  return slots;
}

std::uint32_t Member::segments() const {
  std::size_t segments = 0;
  for (const Sender& sender : senders_) segments += sender.publisher.memory_account().segments;
  return static_cast<std::uint32_t>(segments);
}

std::uint32_t Member::matched_publishers() const {
  std::uint32_t matched = 0;
  for (const Receiver& receiver : receivers_) matched += receiver.subscription.matched();
  return matched;
}

void Member::trim() {
  for (Sender& sender : senders_) sender.publisher.trim();
}

void Member::replace_a_subscription() {
  if (receivers_.empty()) return;
  Receiver& receiver = receivers_[below(random_, receivers_.size())];
  wait_set_->remove(receiver.subscription.reader());
  receiver = make_receiver(below(random_, kTopics));
}

}  // namespace baton::swarm
