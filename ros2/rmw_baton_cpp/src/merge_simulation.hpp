// SPDX-License-Identifier: Apache-2.0
// For tests: publishers that send over both paths, and the two sources that receive their messages. They follow a small
// model of the rules of publisher_path.cpp and of Baton's reader; every fault of the underlying path is a parameter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "merge.hpp"

namespace baton::rmw {

struct Simulation final : MergeSources {
  struct Options {
    Merge::Options merge;
    std::size_t publishers = 1;
    std::size_t queue = 8;               // of Baton's reader, per publisher, if it keeps all
    std::size_t held = 8;                // samples that the merge may hold, per publisher
    bool announces_older = true;         // publishers state which older messages newcomers get
    unsigned lost_one_in = 0;            // of the underlying path; 0: none
    unsigned ends_one_in = 0;            // of the publishers, at each step
    unsigned without_memory_one_in = 5;  // of the messages in an empty queue of Baton's
    unsigned takes_one_in = 2;           // steps in which the application takes; 0: none
    std::int64_t step_ns = 1;            // of the clock
    bool keeps_samples = true;           // the application keeps samples for a while
    bool matched_at_start = false;       // by the underlying RMW
    bool the_long_way = false;           // Merge::choose_of_all() chooses, also what choose() alone could
  };
  struct Sent {
    std::size_t publisher;
    std::uint64_t number;
    bool handed = false;  // to Baton
    bool meant = false;   // a message for the subscription, on either path
  };
  struct Publisher {
    std::size_t index = 0;
    transport::Gid gid{};
    OrderHeader last;
    std::uint64_t sequence = 0;
    bool attached = false, matched = false, other_reader = false, newcomer = false, ended = false;
    bool without_memory = false;  // what is in the queue lies in memory that has not arrived yet
    bool passed_over = false;     // and a take has seen that
    std::deque<FromBaton> queue;
    std::deque<FromUnderlying> in_flight;
    std::uint64_t delivered_number = 0;
    std::size_t kept = 0;  // samples that the application holds
  };

  Simulation(Options simulated, std::uint32_t seed) : options(simulated), random(seed), merge(*this, simulated.merge) {
    for (std::size_t i = 0; i < options.publishers; ++i) add_publisher();
  }

  bool one_in(unsigned n) { return n != 0 && random() % n == 0; }

  void add_publisher() {
    Publisher& added = publishers.emplace_back();
    added.index = publishers.size() - 1;
    added.gid[0] = static_cast<std::uint8_t>(publishers.size());
    added.gid[1] = static_cast<std::uint8_t>(publishers.size() >> 8U);
    added.matched = options.matched_at_start;
    added.other_reader = one_in(2);
  }

  // The sources.
  /// The oldest message by source time, among publishers of which more samples may be held.
  bool take_baton(FromBaton* message) override {
    meanwhile();
    Publisher* oldest = nullptr;
    for (Publisher& each : publishers) {
      if (each.queue.empty()) continue;
      each.passed_over = each.without_memory;
      if (each.passed_over || held_of(each) >= options.held) continue;
      if (oldest == nullptr || each.queue.front().source_time_ns < oldest->queue.front().source_time_ns) oldest = &each;
    }
    if (oldest == nullptr) return false;
    *message = std::move(oldest->queue.front());
    oldest->queue.pop_front();
    message->expired = message->expires_ns < now_ns;
    message->position->taken_ns = now_ns;
    return true;
  }
  std::size_t held_of(const Publisher& publisher) const {
    return publisher.kept + static_cast<std::size_t>(std::count_if(
                                merge.baton_.begin(), merge.baton_.end(),
                                [&](const FromBaton& message) { return message.publisher == publisher.gid; }));
  }
  bool baton_has_data() const override { return baton_unread() != 0; }
  std::size_t baton_unread() const override {
    std::size_t unread = 0;
    for (const Publisher& each : publishers) unread += each.passed_over ? 0 : each.queue.size();
    return unread;
  }
  bool baton_awaits(const transport::Gid& publisher) const override {
    return std::any_of(publishers.begin(), publishers.end(),
                       [&](const Publisher& each) { return each.gid == publisher && each.passed_over; });
  }
  bool take_underlying(FromUnderlying* message) override {
    meanwhile();
    while (!history.empty() && now_ns - history.front().source_time_ns > options.merge.lifespan_ns) history.pop_front();
    if (history.empty()) return false;
    *message = history.front();
    history.pop_front();
    message->buffer = ++last_buffer;
    outside.insert(message->buffer);
    return true;
  }
  bool underlying_has_data() override { return !history.empty(); }
  void release(const FromUnderlying& message) override {
    ASSERT_EQ(outside.erase(message.buffer), 1U) << "released twice";
  }
  bool underlying_matched() override {
    return std::any_of(publishers.begin(), publishers.end(),
                       [](const auto& each) { return each.matched && !each.ended; });
  }

  // The publishers.
  /// Events that may happen while the merge works.
  void meanwhile() {
    if (!running || !one_in(10)) return;
    Publisher& publisher = publishers[random() % publishers.size()];
    if (publisher.ended) return;
    publish(publisher);
    if (one_in(2)) arrive(publisher);
  }
  void publish(Publisher& publisher) {
    const std::int64_t time_ns = now_ns += options.step_ns;
    Sent& message = sent[time_ns];
    message = {publisher.index, ++publisher.last.number};
    const bool announces = options.announces_older && publisher.newcomer && publisher.last.underlying_count != 0;
    const bool also =
        publisher.other_reader || (!publisher.attached && publisher.matched) || (announces && publisher.matched);
    const bool lives_long = options.merge.lifespan_ns == INT64_MAX;
    if (publisher.queue.empty() && one_in(options.without_memory_one_in)) publisher.without_memory = true;
    if (publisher.attached && (options.merge.keep_last || publisher.queue.size() < options.queue)) {
      OrderHeader header = publisher.last;
      header.also_underlying = also;
      if (also) ++header.underlying_count;
      if (announces) header.older = publisher.matched ? OlderUnderlying::kFollowed : OlderUnderlying::kNone;
      publisher.newcomer = false;
      FromBaton& queued = publisher.queue.emplace_back();
      queued.publisher = publisher.gid;
      queued.position = PathOrder::Position{header, ++publisher.sequence, !lives_long, time_ns};
      queued.source_time_ns = time_ns;
      if (!lives_long) queued.expires_ns = time_ns + options.merge.lifespan_ns;
      if (options.merge.keep_last && publisher.queue.size() > options.merge.depth) publisher.queue.pop_front();
      message.handed = true;
    }
    if (message.handed && !also) {
      message.meant = true;
      return;
    }
    ++publisher.last.underlying_count;
    if (publisher.matched)
      publisher.in_flight.push_back({publisher.gid, publisher.last.underlying_count, time_ns, 0, false});
    message.meant = message.handed || publisher.matched;
  }
  void arrive(Publisher& publisher) {
    if (publisher.in_flight.empty()) return;
    const FromUnderlying message = publisher.in_flight.front();
    publisher.in_flight.pop_front();
    if (one_in(options.lost_one_in)) return;
    history.push_back(message);
    history.back().received_ns = now_ns;
    if (!options.merge.keep_last || history.size() <= options.merge.depth) return;
    history.erase(std::min_element(history.begin(), history.end(), [](const auto& one, const auto& other) {
      return one.source_time_ns < other.source_time_ns;
    }));
  }
  static void memory_arrives(Publisher& publisher) { publisher.without_memory = publisher.passed_over = false; }
  void end(Publisher& publisher) {
    memory_arrives(publisher);
    publisher.ended = true;
    publisher.in_flight.clear();
    add_publisher();
  }

  // The application.
  bool take() {
    look_again_ns = INT64_MAX;
    chosen_ns = now_ns;
    const Merge::Now now{now_ns, now_ns};
    const Merge::Next next =
        options.the_long_way ? merge.choose_of_all(false, now, &look_again_ns) : merge.choose(now, &look_again_ns);
    chosen = next;
    if (next.source == Merge::Source::kNone) return false;
    take(next);
    return true;
  }
  void take(const Merge::Next& next) {
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
    if (next.source == Merge::Source::kBaton) {
      const FromBaton message = merge.take_baton(next);
      time_ns = message.source_time_ns;
      number = message.position->header.number;
    } else {
      const FromUnderlying message = merge.take_underlying(next);
      release(message);
      time_ns = message.source_time_ns;
      number = message.number;
    }
    const Sent& message = sent.at(time_ns);
    Publisher& publisher = publishers[message.publisher];
    EXPECT_TRUE(delivered.insert(time_ns).second) << "twice";
    EXPECT_GT(message.number, publisher.delivered_number) << "not in order";
    if (options.matched_at_start && options.lost_one_in == 0 && !options.merge.keep_last) {
      EXPECT_EQ(number, message.number) << "not the number over both paths";
    }
    if (options.merge.lifespan_ns != INT64_MAX) {
      EXPECT_LE(chosen_ns - time_ns, options.merge.lifespan_ns) << "expired";
    }
    publisher.delivered_number = message.number;
  }

  void step() {
    now_ns += options.step_ns;
    const std::size_t index = random() % publishers.size();
    Publisher& publisher = publishers[index];
    if (!publisher.ended) {
      if (one_in(30)) publisher.other_reader = !publisher.other_reader;
      if (one_in(20)) publisher.matched = true;
      if (one_in(20)) {
        publisher.attached = !publisher.attached;
        publisher.newcomer = publisher.attached;
      }
      if (options.keeps_samples && one_in(20)) publisher.kept = random() % (options.held + 1);
      if (one_in(2)) publish(publisher);
      if (one_in(4)) arrive(publisher);
      if (one_in(8)) memory_arrives(publisher);
      if (one_in(options.ends_one_in)) end(publisher);
    }
    if (one_in(options.takes_one_in)) take();
  }
  void arrive_all_underlying() {
    for (Publisher& each : publishers) {
      while (!each.in_flight.empty()) arrive(each);
    }
  }
  void arrive_all() {
    running = false;
    for (Publisher& each : publishers) {
      each.kept = 0;
      memory_arrives(each);
    }
    arrive_all_underlying();
  }
  /// Takes all remaining messages. `waits`: also those that must wait for a time.
  std::size_t drain(bool waits) {
    std::size_t taken = 0;
    for (;;) {
      while (take()) ++taken;
      if (!waits || look_again_ns == INT64_MAX) return taken;
      now_ns = look_again_ns;
    }
  }

  const Options options;
  bool running = true;
  std::mt19937 random;
  std::int64_t now_ns = 0, chosen_ns = 0, look_again_ns = INT64_MAX;
  Merge merge;
  Merge::Next chosen;
  std::deque<Publisher> publishers;
  std::deque<FromUnderlying> history;  // of the underlying subscription
  std::set<std::size_t> outside;       // buffers that the merge or the application uses
  std::size_t last_buffer = 0;
  std::map<std::int64_t, Sent> sent;  // by source time
  std::set<std::int64_t> delivered;   // the same
};

}  // namespace baton::rmw
