// SPDX-License-Identifier: Apache-2.0
// A process of the swarm: publishes and subscribes with random quality of service, holds samples for random times, and checks the
// content of each held sample.
// Thread rules: one thread. Invariant: the content of a sample does not change until it is released.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "board.hpp"

namespace baton::swarm {

using Message = msg::std_msgs::String;
using Random = std::mt19937_64;

/// 0 to n - 1.
inline unsigned below(Random& random, std::size_t n) { return static_cast<unsigned>(random() % n); }
inline bool chance(Random& random, unsigned one_in) { return below(random, one_in) == 0; }

/// "<checksum of the rest> <publisher> <number> <filler>"
std::string make_text(std::uint64_t publisher, std::uint64_t number, std::size_t filler);
struct Content {
  std::uint64_t checksum = 0, publisher = 0, number = 0;
  bool intact = false;
};
Content read_text(const char* text, std::size_t size);

inline constexpr unsigned kTopics = 5;
/// Topics 0 to 3 are a kind of quality of service each, so that their ends match: volatile KEEP_LAST, transient_local, best effort,
/// reliable KEEP_ALL. On topic 4 a publisher changes its segment all the time.
QoS quality(unsigned topic, Random& random);
std::string topic_name(unsigned topic);

/// A sample and its content at the take. It may outlive the subscription and the node.
struct Held {
  Sample<Message> sample;
  Content content;
};

class Member {
 public:
  Member(Board& board, Card& card, Random& random, std::uint64_t id);

  /// Joins with so many publishers and subscriptions, of successive topics from a random one on.
  void join(unsigned publishers, unsigned subscriptions);
  /// Ends publishers, subscriptions and node; held samples stay.
  void leave();
  bool joined() const noexcept { return node_ != nullptr; }
  Node& node() { return *node_; }

  void publish();
  void take();
  /// Checks some or all held samples.
  void verify(bool all);
  void release(std::size_t count);
  void release_all() { release(held_.size()); }
  std::size_t held() const noexcept { return held_.size(); }
  /// Waits for messages, a few milliseconds at most.
  void wait();
  /// Slots that are neither free nor history.
  std::uint64_t slots_in_use() const;
  /// Segments that the publishers have now, each with a descriptor: the older ones as long as a history lies in them.
  std::uint32_t segments() const;
  std::uint32_t matched_publishers() const;
  void trim();
  void replace_a_subscription();

 private:
  struct Sender {
    Publisher<Message> publisher;
    unsigned topic = 0;
    std::uint64_t id = 0, number = 0;
    std::size_t history = 0;
  };
  struct Receiver {
    Subscription<Message> subscription;
    unsigned topic = 0;
    std::map<std::uint64_t, std::uint64_t> newest;  // by publisher; not for topics with history, which comes again
  };
  Receiver make_receiver(unsigned topic);
  void check(const Held& held, const char* when);

  Board& board_;
  Card& card_;
  Random& random_;
  std::uint64_t id_;
  std::uint64_t senders_made_ = 0;
  std::unique_ptr<Node> node_;
  std::unique_ptr<transport::WaitSet> wait_set_;
  std::vector<Sender> senders_;
  std::vector<Receiver> receivers_;
  std::deque<Held> held_;
};

}  // namespace baton::swarm
