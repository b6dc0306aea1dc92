// SPDX-License-Identifier: Apache-2.0
// A model of writers of seldom messages and readers that rest, with the product's table of the writer (resting.hpp). It visits every state
// that publishing, taking, resting, disconnecting and the frames on the link can reach, in every order.
#include "resting.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace baton::transport {
namespace {

struct Free {};

/// One writer and one reader, in two processes or in one, and the link between them.
struct ModelPair {
  enum class Kind : char { kCall = 'c', kAttached = 'a', kRest = 'r', kRefused = 'n', kAttach = 't' };
  struct ModelFrame {
    Kind kind;
    std::uint64_t first = 0;  // of ATTACHED
  };
  std::size_t depth = 0;
  int publishes = 0, rests = 0, disconnects = 0, refusals = 0;  // that may still happen
  std::string fault;

  // the writer's process
  BasicRestingReaders<Free> resting;
  bool live = false;
  std::uint64_t last = 0;
  std::deque<std::uint64_t> history;
  // the memory of their connection
  std::deque<std::uint64_t> queue;
  bool pushed_out = false;  // a message of the queue or of the history, since the reader took one
  // the reader's process
  enum Reader { kRests, kAttaching, kLive } reader = kRests;
  bool tries_again = false;
  std::deque<std::uint64_t> orphaned;
  std::uint64_t expected =
      1;  // the next number; what a reader of volatile durability missed before it matched does not count
  // the link
  std::deque<ModelFrame> to_reader, to_writer;

  static Gid gid() { return Gid{1}; }
  static constexpr PeerId kPeer = 7;

  static ModelPair begin(std::size_t depth, int publishes, int rests, int disconnects, int refusals) {
    ModelPair world;
    world.depth = depth;
    world.publishes = publishes, world.rests = rests, world.disconnects = disconnects, world.refusals = refusals;
    world.match();
    return world;
  }
  void match() {
    BasicRestingReaders<Free>::Entry entry;
    entry.from = last + 1;
    resting.add(kPeer, gid(), entry);
    reader = kRests;
    expected = last + 1;
  }
  void keep_newest(std::deque<std::uint64_t>& list) {
    if (list.size() <= depth) return;
    list.pop_front();
    pushed_out = true;
  }
  void publish() {
    --publishes;
    ++last;
    const bool remembered = !resting.empty();
    if (live) {
      queue.push_back(last);
      keep_newest(queue);
    }
    if (!remembered) return;
    history.push_back(last);
    keep_newest(history);
    resting.call_all(last, [this](PeerId, const Gid&) { return to_reader.push_back({Kind::kCall}), true; });
  }
  void rest() {
    --rests;
    live = false;
    BasicRestingReaders<Free>::Entry entry;
    entry.from = last + 1;
    resting.add(kPeer, gid(), entry);
    to_reader.push_back({Kind::kRest});
  }
  void disconnect() {
    --disconnects;
    to_reader.clear(), to_writer.clear();
    resting.remove_all(kPeer);
    live = tries_again = false;
    queue.clear(), history.clear(), orphaned.clear();
    pushed_out = false;
    match();
  }
  void attach(bool refused) {
    to_writer.pop_front();
    if (live) {
      fault = "ATTACH for a reader that is attached";
      return;
    }
    const auto* const entry = resting.find(kPeer, gid());
    if (entry == nullptr) {
      fault = "ATTACH of a reader that neither rests nor is connected";
      return;
    }
    if (refused) {
      --refusals;
      resting.refuse(kPeer, gid());
      to_reader.push_back({Kind::kRefused});
      return;
    }
    queue.clear();
    for (const std::uint64_t kept : history)
      if (kept >= entry->from) queue.push_back(kept);
    to_reader.push_back({Kind::kAttached, entry->from});
    resting.remove(kPeer, gid());
    if (!resting.awaited()) history.clear();
    live = true;
  }
  void read() {
    const ModelFrame frame = to_reader.front();
    to_reader.pop_front();
    switch (frame.kind) {
      case Kind::kCall:
        if (reader != kRests) fault = "CALL of a reader that is called or connected";
        reader = kAttaching;
        to_writer.push_back({Kind::kAttach});
        return;
      case Kind::kAttached:
        if (reader != kAttaching) fault = "ATTACHED without ATTACH";
        if (frame.first != expected && !pushed_out) fault = "a connection begins with " + std::to_string(frame.first);
        reader = kLive;
        return;
      case Kind::kRest:
        if (reader != kLive) fault = "REST of a reader that is not connected";
        if (!queue.empty()) fault = "unread messages rest";
        reader = kRests;
        return;
      case Kind::kRefused:
        reader = kRests;
        tries_again = true;
        return;
      case Kind::kAttach:
        return;
    }
  }
  void take() {
    const std::uint64_t taken = queue.front();
    queue.pop_front();
    if (taken < expected) fault = "message " + std::to_string(taken) + " comes twice";
    if (taken > expected && !pushed_out) fault = "message " + std::to_string(expected) + " is lost";
    expected = taken + 1;
    if (queue.empty() && history.empty()) pushed_out = false;
  }

  std::vector<std::function<void(ModelPair&)>> steps() const {
    std::vector<std::function<void(ModelPair&)>> all;
    if (publishes > 0) all.push_back([](ModelPair& w) { w.publish(); });
    if (rests > 0 && live && queue.empty()) all.push_back([](ModelPair& w) { w.rest(); });
    if (disconnects > 0) all.push_back([](ModelPair& w) { w.disconnect(); });
    if (!to_reader.empty()) all.push_back([](ModelPair& w) { w.read(); });
    if (!to_writer.empty()) all.push_back([](ModelPair& w) { w.attach(false); });
    if (!to_writer.empty() && refusals > 0) all.push_back([](ModelPair& w) { w.attach(true); });
    if (reader == kLive && live && !queue.empty()) all.push_back([](ModelPair& w) { w.take(); });
    if (tries_again) {
      all.push_back([](ModelPair& w) {
        w.tries_again = false;
        if (w.reader != kRests) return;  // called meanwhile
        w.reader = kAttaching;
        w.to_writer.push_back({Kind::kAttach});
      });
    }
    return all;
  }
  /// Nothing happens any more.
  std::string judge() const {
    if (!fault.empty()) return fault;
    if (expected != last + 1 && !pushed_out) return "message " + std::to_string(expected) + " never comes";
    if (!queue.empty()) return "messages wait for ever";
    if (resting.awaited()) return "a reader is called and does not attach";
    if (!history.empty()) return "messages are kept for nobody";
    if (live == !resting.empty()) return "a pair neither rests nor is connected";
    return "";
  }
  std::string key() const {
    std::string key = fault;
    const auto add = [&key](std::uint64_t value) { key += std::to_string(value) + ","; };
    for (const int budget : {publishes, rests, disconnects, refusals}) add(static_cast<std::uint64_t>(budget));
    add(live + 2U * pushed_out + 4U * static_cast<unsigned>(reader) + 16U * tries_again);
    add(last), add(expected);
    for (const auto& [reader_key, entry] : resting.entries()) add(entry.from * 4 + entry.called * 2U + entry.refused);
    for (const auto* list : {&history, &queue}) {
      for (const std::uint64_t each : *list) add(each);
      key += ";";
    }
    for (const auto* list : {&to_reader, &to_writer}) {
      for (const ModelFrame& frame : *list) key += static_cast<char>(frame.kind), add(frame.first);
      key += ";";
    }
    return key;
  }
};

/// Visits every state; the first fault found, or nothing.
std::string explore_pair(const ModelPair& start, std::size_t& states) {
  std::unordered_set<std::string> seen;
  std::vector<ModelPair> open{start};
  while (!open.empty()) {
    const ModelPair world = std::move(open.back());
    open.pop_back();
    if (!seen.insert(world.key()).second) continue;
    if (!world.fault.empty()) return world.fault;
    const auto steps = world.steps();
    if (steps.empty()) {
      if (std::string fault = world.judge(); !fault.empty()) return fault;
    }
    for (const auto& step : steps) {
      ModelPair next = world;
      step(next);
      open.push_back(std::move(next));
    }
  }
  states = seen.size();
  return "";
}

constexpr std::size_t kDeep = 100;  // nothing is pushed out

TEST(RestingModel, EveryInterleavingGivesEachMessageOnceAndInOrder) {
  for (const std::size_t depth : {kDeep, std::size_t{2}}) {
    std::size_t states = 0;
    EXPECT_EQ(explore_pair(ModelPair::begin(depth, 8, 6, 0, 0), states), "") << depth;
    EXPECT_GT(states, 500U);
  }
}

TEST(RestingModel, RefusalsAndRepeatedAttemptsLoseNothingThatIsKept) {
  for (const std::size_t depth : {kDeep, std::size_t{2}}) {
    std::size_t states = 0;
    EXPECT_EQ(explore_pair(ModelPair::begin(depth, 6, 4, 0, 3), states), "") << depth;
    EXPECT_GT(states, 1000U);
  }
}

TEST(RestingModel, PairsThatWereDisconnectedRestAgain) {
  for (const std::size_t depth : {kDeep, std::size_t{2}}) {
    std::size_t states = 0;
    EXPECT_EQ(explore_pair(ModelPair::begin(depth, 6, 3, 2, 2), states), "") << depth;
    EXPECT_GT(states, 3000U);
  }
}

constexpr std::size_t kNodeOfAMap = 48;  // beside what lies in the node
static_assert(sizeof(std::pair<const RestingReaders::Key, RestingReaders::Entry>) + kNodeOfAMap <= kRestingBytes);

TEST(RestingReaders, OnlyThoseThatLackAMessageAreCalledAndOnce) {
  BasicRestingReaders<Free> readers;
  BasicRestingReaders<Free>::Entry had, lacks;
  had.from = 6, lacks.from = 5;
  readers.add(1, Gid{1}, had);
  readers.add(1, Gid{2}, lacks);
  readers.add(2, Gid{3}, lacks);
  std::vector<Gid> called;
  const auto call = [&](PeerId, const Gid& reader) { return called.push_back(reader), true; };
  readers.call_all(5, call);
  EXPECT_EQ(called, (std::vector<Gid>{Gid{2}, Gid{3}}));
  readers.call_all(5, call);
  EXPECT_EQ(called.size(), 2U);
  readers.call_all(6, call);
  EXPECT_EQ(called.size(), 3U);
  EXPECT_TRUE(readers.awaited());
  EXPECT_EQ(readers.remove(1, Gid{2})->from, 5U);
  EXPECT_TRUE(readers.remove_all(1) && readers.remove_all(2));
  EXPECT_FALSE(readers.awaited() || readers.remove_all(2));
}

TEST(RestingReaders, ThoseThatWereRefusedCountAsMatchedNoMore) {
  RestingReaders readers;
  readers.add(1, Gid{1}, {});
  readers.add(1, Gid{2}, {});
  EXPECT_EQ(readers.matched(), 2U);
  EXPECT_TRUE(readers.refuse(1, Gid{1}));
  EXPECT_FALSE(readers.refuse(1, Gid{1}) || readers.refuse(1, Gid{3}));
  EXPECT_EQ(readers.matched(), 1U);
  EXPECT_TRUE(readers.remove(1, Gid{1})->refused);
  EXPECT_EQ(readers.matched(), 1U);
  readers.clear();
  EXPECT_EQ(readers.matched(), 0U);
}

TEST(RestingReaders, AReaderThatCouldNotBeCalledIsCalledWithTheNextMessage) {
  RestingReaders readers;
  readers.add(1, Gid{1}, {}).from = 1;
  readers.call_all(1, [](PeerId, const Gid&) { return false; });
  EXPECT_FALSE(readers.awaited());
  readers.call_all(2, [](PeerId, const Gid&) { return true; });
  EXPECT_TRUE(readers.awaited());
}

}  // namespace
}  // namespace baton::transport
