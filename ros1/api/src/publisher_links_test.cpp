// SPDX-License-Identifier: Apache-2.0
#include "publisher_links.hpp"

#include <gtest/gtest.h>

#include <boost/make_shared.hpp>
#include <string>

#include "serialized.hpp"

namespace baton::ros1::detail {
namespace {

using transport::Gid;
using Topic = PublisherLinks::Topic;

/// A link that nothing is written to: the table only names it.
class NamedLink final : public ros::SubscriberLink {
 public:
  void enqueueMessage(const ros::SerializedMessage&, bool, bool) override {}
  void drop() override {}
  std::string getTransportType() override { return {}; }
  std::string getTransportInfo() override { return {}; }
};

ros::SerializedMessage message_of(std::uint8_t content) {
  ros::SerializedMessage out = frame_of(1);
  *out.message_start = content;
  return out;
}

/// A process whose name alone identifies it.
struct OneProcess {
  explicit OneProcess(const std::string& node) : process{node, 0} {}
  SubscriberLink on(const ros::SubscriberLinkPtr& which) const {
    return {which, std::make_shared<RoscppPeer>(process.node, os::TcpPeer())};
  }
  const Process process;
  const ros::SubscriberLinkPtr link = boost::make_shared<NamedLink>(), side = boost::make_shared<NamedLink>();
};

ProcessSubscriptions subscriptions(std::uint8_t readers, std::size_t by_handle, bool stock) {
  ProcessSubscriptions out{{}, by_handle, stock};
  for (std::uint8_t i = 1; i <= readers; ++i) out.readers.push_back(Gid{i});
  return out;
}
std::vector<Gid> served(std::uint8_t count) { return subscriptions(count, 0, false).readers; }

std::string in_words(const PublisherLinks::Ways& ways) {
  std::string out;
  const auto add = [&](bool is, const char* way) { out += is ? std::string(out.empty() ? "" : ", ") + way : ""; };
  add(!ways.there.empty(), "handle");
  add(!ways.here.empty(), "handle with bytes");
  add(!ways.early_there.empty(), "handle later");
  add(!ways.early_here.empty(), "handle with bytes later");
  add(!ways.bytes.empty(), "bytes");
  return out.empty() ? "Baton alone" : out;
}

std::string written(const PublisherLinks::Writes& writes, const OneProcess& to) {
  std::string out;
  for (const auto& [link, message] : writes) {
    out += link == to.link ? "link " : link == to.side ? "side " : "other ";
    out += std::to_string(*message.message_start) + ";";
  }
  return out;
}

TEST(PublisherLinksTest, AProcessGetsAMessageByOneWayForEachKindOfItsSubscriptions) {
  struct Row {
    const char* what;
    Mode mode;
    bool latch;
    ProcessSubscriptions has;
    std::uint8_t served;
    bool side;
    const char* way;
  };
  const Mode lotros = Mode::kLotros, tzc = Mode::kTzc;
  const Row rows[] = {
      {"a stock node", lotros, false, {}, 0, false, "bytes"},
      {"all are served", lotros, false, subscriptions(2, 0, false), 2, false, "Baton alone"},
      {"one is not served", lotros, false, subscriptions(2, 0, false), 1, false, "bytes"},
      {"a stock subscription beside", lotros, false, subscriptions(1, 0, true), 1, false, "bytes"},
      {"a subscription in mode tzc of a publisher in mode lotros", lotros, false, subscriptions(1, 1, false), 1, false,
       "Baton alone"},
      {"tzc", tzc, false, subscriptions(1, 1, false), 1, true, "handle"},
      {"tzc, not served", tzc, false, subscriptions(1, 1, false), 0, true, "handle with bytes"},
      {"tzc, latched", tzc, true, subscriptions(1, 1, false), 1, true, "handle with bytes"},
      {"tzc, no side link yet", tzc, false, subscriptions(1, 1, false), 1, false, "handle later"},
      {"tzc, neither", tzc, false, subscriptions(1, 1, false), 0, false, "handle with bytes later"},
      {"one of each mode", tzc, false, subscriptions(2, 1, false), 2, true, "handle"},
      {"one of each mode, one not served", tzc, false, subscriptions(2, 1, false), 1, true, "handle with bytes, bytes"},
      {"tzc and a stock one", tzc, false, subscriptions(1, 1, true), 1, true, "handle, bytes"},
      {"lotros of a publisher in mode tzc", tzc, false, subscriptions(1, 0, false), 1, false, "Baton alone"},
  };
  for (const Row& row : rows) {
    const OneProcess one("/one");
    PublisherLinks links(row.mode, row.latch, 4);
    if (!row.has.readers.empty()) links.set_processes({{one.process, row.has}});
    SubscriberLink link = one.on(one.link), side = one.on(one.side);
    EXPECT_TRUE(links.add(Topic::kOrdinary, link));
    EXPECT_FALSE(links.add(Topic::kOrdinary, link)) << "it is there";
    if (row.side) {
      EXPECT_TRUE(links.add(Topic::kSide, side));
    }
    EXPECT_EQ(in_words(links.ways(served(row.served))), row.way) << row.what;
    if (!row.latch) {
      const bool needs_bytes = std::string(row.way).find("bytes") != std::string::npos;
      EXPECT_EQ(links.serves_all(served(row.served)), !needs_bytes) << row.what;
    }
    links.remove(one.link);
    links.remove(one.side);
    EXPECT_EQ(in_words(links.ways({})), "Baton alone") << row.what << ", gone";
  }
}

TEST(PublisherLinksTest, AMessageForOneProcessIsHandedToItsServedReadersOrToOneIfAllGetHandles) {
  struct Row {
    const char* what;
    ProcessSubscriptions has;
    std::uint8_t served;
    std::size_t readers;
    bool bytes, trailed;
  };
  const Row rows[] = {
      {"stock", {}, 0, 0, true, false},
      {"all are served", subscriptions(2, 0, false), 2, 2, false, false},
      {"one is not", subscriptions(2, 0, false), 1, 1, true, false},
      {"all in mode tzc", subscriptions(2, 2, false), 2, 1, false, false},
      {"the same, one is not served", subscriptions(2, 2, false), 1, 1, false, false},
      {"the same, none is", subscriptions(2, 2, false), 0, 0, true, true},
      {"one in mode tzc", subscriptions(2, 1, false), 2, 2, false, false},
  };
  for (const Row& row : rows) {
    const OneProcess one("/one");
    PublisherLinks links(Mode::kTzc, false, 4);
    if (!row.has.readers.empty()) links.set_processes({{one.process, row.has}});
    SubscriberLink link = one.on(one.link);
    links.add(Topic::kOrdinary, link);
    const PublisherLinks::OneWay way = links.one_way(*links.find(one.link), served(row.served));
    EXPECT_EQ(way.readers.size(), row.readers) << row.what;
    EXPECT_EQ(way.bytes, row.bytes) << row.what;
    EXPECT_EQ(way.trailed, row.trailed) << row.what;
  }
}

class PublisherLinksWithOne : public testing::Test {
 protected:
  void make(Mode mode, bool latch, const ProcessSubscriptions& has) {
    links.emplace(mode, latch, 2);
    links->set_processes({{one.process, has}});
    SubscriberLink link = one.on(one.link);
    links->add(Topic::kOrdinary, link);
  }
  void add_side() {
    SubscriberLink side = one.on(one.side);
    links->add(Topic::kSide, side);
  }
  std::string latched_for_one() { return written(links->latched_for(*links->find(one.link)), one); }

  const OneProcess one{"/one"};
  std::optional<PublisherLinks> links;
};

TEST_F(PublisherLinksWithOne, HandlesWaitForTheSideLinkInTheirOrderAndAsManyAsTheQueueHas) {
  make(Mode::kTzc, false, subscriptions(1, 1, false));
  for (const int number : {1, 2, 3})
    links->keep_early(links->ways(served(1)), message_of(static_cast<std::uint8_t>(number)), {});
  EXPECT_EQ(links->take_early().size(), 0U) << "the link has not come";
  add_side();
  EXPECT_EQ(written(links->take_early(), one), "side 2;side 3;");
  EXPECT_EQ(links->take_early().size(), 0U);
}

TEST_F(PublisherLinksWithOne, HandlesThatWaitEndWithTheLinkWithTheSubscriptionAndBeforeBytes) {
  const auto keep = [this] {
    make(Mode::kTzc, false, subscriptions(1, 1, false));
    links->keep_early(links->ways(served(1)), message_of(1), {});
  };
  keep();
  links->remove(one.link);
  add_side();
  EXPECT_TRUE(links->take_early().empty());
  keep();
  links->set_processes({{one.process, subscriptions(1, 0, false)}});
  add_side();
  EXPECT_TRUE(links->take_early().empty());
  keep();
  links->set_processes({{one.process, subscriptions(2, 1, true)}});
  links->keep_early(links->ways({}), {}, message_of(2));
  add_side();
  EXPECT_TRUE(links->take_early().empty()) << "the bytes are newer";
}

TEST_F(PublisherLinksWithOne, AProcessThatConnectsGetsTheLatchedMessageOnce) {
  const PublisherLinks::Latched from_baton{message_of(1), message_of(2), message_of(3), {}, false};
  const PublisherLinks::Latched by_bytes{message_of(1), message_of(2), {}, {}, true};
  struct Row {
    const char* what;
    ProcessSubscriptions has;
    bool side;
    const PublisherLinks::Latched& last;
    const char* written;
  };
  const Row rows[] = {
      {"lotros", subscriptions(1, 0, false), false, from_baton, "link 1;"},
      {"tzc", subscriptions(1, 1, false), true, from_baton, "side 3;"},
      {"tzc, no side link yet", subscriptions(1, 1, false), false, from_baton, ""},
      {"tzc and stock", subscriptions(1, 1, true), true, from_baton, "side 3;link 1;"},
      {"lotros, not in Baton", subscriptions(1, 0, false), false, by_bytes, "link 2;"},
      {"tzc, not in Baton", subscriptions(1, 1, false), true, by_bytes, "link 2;"},
  };
  for (const Row& row : rows) {
    make(Mode::kTzc, true, row.has);
    links->set_latched(row.last, {});
    if (row.side) add_side();
    EXPECT_EQ(latched_for_one(), row.written) << row.what;
    EXPECT_EQ(latched_for_one(), "") << row.what << ", again";
    links->set_latched(row.last, {one.link, one.side});
    EXPECT_EQ(latched_for_one(), "") << row.what << ", written when it was published";
  }
}

TEST_F(PublisherLinksWithOne, BatonHandsTheLatchedMessageToEachReaderOnce) {
  make(Mode::kLotros, true, subscriptions(2, 0, false));
  links->set_latched({message_of(1), {}, {}, {Gid{1}}, false}, {});
  std::vector<Gid> asked;
  const auto hand = [&](const Gid& reader) {
    asked.push_back(reader);
    return true;
  };
  for (int i = 0; i < 2; ++i) links->hand_latched(*links->find(one.link), hand);
  EXPECT_EQ(asked, (std::vector<Gid>{Gid{2}}));
  EXPECT_EQ(latched_for_one(), "") << "Baton has served the whole process";
  links->set_processes({{one.process, subscriptions(1, 0, false)}});
  links->set_processes({{one.process, subscriptions(2, 0, false)}});
  links->hand_latched(*links->find(one.link), hand);
  EXPECT_EQ(asked.size(), 2U) << "a subscription that came again is asked again";
}

TEST_F(PublisherLinksWithOne, AHandleForOneProcessComesBehindTheLatchedOne) {
  make(Mode::kTzc, true, subscriptions(1, 1, false));
  links->set_latched({message_of(1), {}, message_of(2), {}, false}, {});
  EXPECT_TRUE(links->handles_of_own(*links->find(one.link), message_of(3)).empty());
  add_side();
  EXPECT_EQ(written(links->take_early(), one), "side 2;side 3;");
  EXPECT_EQ(written(links->handles_of_own(*links->find(one.link), message_of(4)), one), "side 4;");
}

TEST_F(PublisherLinksWithOne, AServedProcessWithoutALinkIsMissedUntilItIsGivenUp) {
  make(Mode::kLotros, false, subscriptions(1, 0, false));
  EXPECT_FALSE(links->misses_links(served(1), false));
  links->remove(one.link);
  EXPECT_FALSE(links->misses_links({}, false)) << "Baton does not serve it";
  EXPECT_TRUE(links->misses_links(served(1), true));
  EXPECT_FALSE(links->misses_links(served(1), false)) << "it was given up";
  links->set_processes({});
  links->set_processes({{one.process, subscriptions(1, 0, false)}});
  EXPECT_TRUE(links->misses_links(served(1), false)) << "it came again";
}

TEST_F(PublisherLinksWithOne, SubscribersCountByTheWayThatTheyAreServed) {
  make(Mode::kTzc, false, subscriptions(3, 1, true));
  add_side();
  const PublisherSide::Subscribers all = links->count(served(3));
  EXPECT_EQ(all.own, 2U);
  EXPECT_EQ(all.handles, 1U);
  EXPECT_EQ(all.serialized, 1U);
}

}  // namespace
}  // namespace baton::ros1::detail
