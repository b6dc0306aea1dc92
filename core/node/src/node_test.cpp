// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/msg/std_msgs/u_int64.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using Image = baton::msg::sensor_msgs::Image;
using String = baton::msg::std_msgs::String;

namespace {

class NodeTest : public baton::test::DomainTest {};

TEST_F(NodeTest, ALoanedMessageArrivesInTheChunkItWasBuiltIn) {
  baton::Node node("n");
  auto sub = node.subscribe<Image>("image", baton::QoS(4));
  auto pub = node.advertise<Image>("image", baton::QoS(4));
  baton::test::await_matched(node, sub);
  auto loan = pub.loan();
  loan->width = 640;
  loan->header.frame_id = "map";
  loan->data.resize(640 * 480);
  loan->data[1000] = 42;
  pub.publish(std::move(loan));
  EXPECT_FALSE(loan);
  auto sample = sub.take();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->width, 640u);
  EXPECT_EQ(sample->header.frame_id, "map");
  ASSERT_EQ(sample->data.size(), 640u * 480u);
  EXPECT_EQ(sample->data[1000], 42);
  EXPECT_EQ(sample.info().sequence, 1u);
  EXPECT_EQ(sample.info().publisher, pub.gid());
  EXPECT_EQ(pub.counters().copied_messages, 0u);
  EXPECT_FALSE(sub.take());
}

TEST_F(NodeTest, TheReceptionTimeIsTheTimeAtWhichTheProgramAsksForIt) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("text");
  auto pub = node.advertise<String>("text");
  baton::test::await_matched(node, sub);
  pub.publish(String());
  const auto sample = sub.take();
  ASSERT_TRUE(sample);
  const baton::MessageInfo first = sample.info();
  EXPECT_GE(first.reception_time_ns, first.source_time_ns);
  std::this_thread::sleep_for(2ms);
  EXPECT_GE(sample.info().reception_time_ns, first.reception_time_ns + 1'000'000);
}

TEST_F(NodeTest, ChangingAnOrdinaryObjectAfterPublishingDoesNotChangeWhatReadersSee) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("text");
  auto pub = node.advertise<String>("text");
  baton::test::await_matched(node, sub);
  String message;
  message.data = "first";
  pub.publish(message);
  message.data = "second, and much longer than the first one was";
  pub.publish(message);
  EXPECT_EQ(sub.take()->data, "first");
  EXPECT_EQ(sub.take()->data, "second, and much longer than the first one was");
  EXPECT_EQ(pub.counters().copied_messages, 2u);
}

TEST_F(NodeTest, AnAbandonedLoanIsNeverSeen) {
  baton::Node node("n");
  auto sub = node.subscribe<Image>("image");
  auto pub = node.advertise<Image>("image");
  {
    auto loan = pub.loan();
    loan->data.resize(100);
  }
  EXPECT_FALSE(sub.take());
  EXPECT_EQ(pub.memory_account().loaned_slots, 0u);
}

TEST_F(NodeTest, ASampleOutlivesSubscriptionPublisherAndNode) {
  baton::Sample<String> kept;
  std::shared_ptr<const String> shared;
  {
    baton::Node node("n");
    auto sub = node.subscribe<String>("text");
    auto pub = node.advertise<String>("text");
    baton::test::await_matched(node, sub);
    String message;
    message.data = "kept";
    pub.publish(message);
    message.data = "shared";
    pub.publish(message);
    kept = sub.take();
    shared = sub.take().share();
  }
  EXPECT_EQ(kept->data, "kept");
  EXPECT_EQ(shared->data, "shared");
}

TEST_F(NodeTest, RepublishingAReceivedSampleCopiesItOnce) {
  baton::Node node("n");
  auto in = node.subscribe<Image>("in");
  auto out = node.subscribe<Image>("out");
  auto first = node.advertise<Image>("in");
  auto second = node.advertise<Image>("out");
  baton::test::await_matched(node, in);
  baton::test::await_matched(node, out);
  auto loan = first.loan();
  loan->data.assign(5000, 7);
  first.publish(std::move(loan));
  auto sample = in.take();
  second.publish(*sample);
  EXPECT_EQ(second.counters().copied_messages, 1u);
  EXPECT_EQ(out.take()->data, sample->data);
}

TEST_F(NodeTest, PublishingWhatALoanRefersToCopiesItAndLeavesTheLoan) {
  baton::Node node("n");
  auto sub = node.subscribe<Image>("image");
  auto pub = node.advertise<Image>("image");
  auto other = node.advertise<Image>("other");
  baton::test::await_matched(node, sub);
  auto loan = pub.loan();
  loan->data.assign(5000, 7);
  other.publish(*loan);
  pub.publish(*loan);
  EXPECT_EQ(other.counters().copied_messages, 1u);
  EXPECT_EQ(pub.counters().copied_messages, 1u);
  loan->data[0] = 8;
  pub.publish(std::move(loan));
  EXPECT_EQ(sub.take()->data[0], 7);
  EXPECT_EQ(sub.take()->data[0], 8);
}

TEST_F(NodeTest, APublisherOfAFixedSizeIsBoundByItsMemoryAndNotByLargeSlots) {
  baton::Node node("n");
  baton::PublisherOptions options;
  options.slot_count = 4;
  auto pub = node.advertise<baton::msg::std_msgs::UInt64>("number", {}, options);
  std::vector<baton::Subscription<baton::msg::std_msgs::UInt64>> subs;
  for (int i = 0; i < 20; ++i) subs.push_back(node.subscribe<baton::msg::std_msgs::UInt64>("number"));
  for (auto& sub : subs) baton::test::await_matched(node, sub);
}

TEST_F(NodeTest, CallbacksMayTakeSamplesReferencesInfoOrSharedPointers) {
  baton::Node node("n");
  int calls = 0;
  std::shared_ptr<const String> kept;
  auto a = node.subscribe<String>("t", {}, [&](const String& m) { calls += m.data == "x"; });
  auto b = node.subscribe<String>("t", {}, [&](const baton::Sample<String>& m) { calls += m->data == "x"; });
  auto c = node.subscribe<String>(
      "t", {}, [&](const String& m, const baton::MessageInfo& info) { calls += m.data == "x" && info.sequence == 1; });
  auto d = node.subscribe<String>("t", 10, [&](const String::ConstPtr& m) {
    kept = m;
    ++calls;
  });
  auto pub = node.advertise<String>("t");
  for (auto* sub : {&a, &b, &c, &d}) baton::test::await_matched(node, *sub);
  String message;
  message.data = "x";
  pub.publish(message);
  baton::Executor executor;
  executor.add(node);
  while (calls < 4) ASSERT_TRUE(executor.spin_once(60s));
  EXPECT_FALSE(executor.spin_once(0s));
  EXPECT_EQ(kept->data, "x");
}

TEST_F(NodeTest, AnInvalidTopicNameIsRefusedByName) {
  baton::Node node("n");
  try {
    (void)node.advertise<String>("a b");
    FAIL();
  } catch (const baton::Exception& e) {
    EXPECT_EQ(e.code(), baton::Errc::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("'a b'"), std::string::npos);
  }
  EXPECT_THROW(node.advertise<String>(""), baton::Exception);
  EXPECT_THROW(node.advertise<String>("a//b"), baton::Exception);
  EXPECT_THROW(baton::Node(""), baton::Exception);
}

TEST_F(NodeTest, HoldingMoreSamplesThanTheLimitIsAClearError) {
  baton::Node node("n");
  auto sub = node.subscribe<String>("t", baton::QoS(10).hold(2));
  auto pub = node.advertise<String>("t");
  baton::test::await_matched(node, sub);
  for (int i = 0; i < 3; ++i) pub.publish(String{});
  auto first = sub.take(), second = sub.take();
  ASSERT_TRUE(first && second);
  auto third = sub.try_take();
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, baton::Errc::held_limit);
  first.release();
  EXPECT_TRUE(sub.take());
}

TEST_F(NodeTest, HoldingMoreSamplesThanAPublisherCanGrantIsHeardAtOnceByBothEnds) {
  std::mutex mutex;
  std::vector<std::string> heard;
  baton::NodeOptions logging;
  logging.on_diagnostic = [&](const baton::transport::Diagnostic& diagnostic) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (diagnostic.code == baton::Errc::incompatible_qos) heard.push_back(diagnostic.text);
  };
  baton::Node node("n", logging);
  baton::PublisherOptions few, enough;
  few.slot_count = 256;
  enough.slot_count = 642;
  few.max_message_bytes = enough.max_message_bytes = 1 << 16;
  auto sub = node.subscribe<String>("t", baton::QoS(10).hold(300));
  auto pub = node.advertise<String>("t", 10, few);
  ASSERT_TRUE(node.wait_for(
      [&] {
        const auto told = sub.statuses();
        return told.incompatible_qos_total == 1 && told.refused_now == 1 && pub.statuses().incompatible_qos_total == 1;
      },
      60s));
  EXPECT_NE(sub.statuses().last_incompatibility.find("raise PublisherOptions::slot_count to at least 642"),
            std::string::npos)
      << sub.statuses().last_incompatibility;
  pub = node.advertise<String>("t", {}, enough);
  baton::test::await_matched(node, sub);
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(heard.size(), 2u) << "once on each side, and not again";
}

TEST_F(NodeTest, TheGraphShowsNodesTopicsAndCounts) {
  baton::Node node("talker");
  auto pub = node.advertise<String>("chatter");
  auto sub = node.subscribe<String>("/chatter");
  EXPECT_EQ(node.count_publishers("chatter"), 1u);
  EXPECT_EQ(node.count_subscriptions("chatter"), 1u);
  EXPECT_EQ(node.topics().at("/chatter").front(), "std_msgs/String");
  bool found = false;
  for (const auto& [name, pid] : node.nodes()) found |= name == "talker";
  EXPECT_TRUE(found);
  pub = {};
  EXPECT_TRUE(node.wait_for([&] { return node.count_publishers("chatter") == 0; }, 60s));
}

// TZC Fig. 6, with the types' names of this library.
TEST_F(NodeTest, TheProgramOfTzcFigure6AllocatesFillsAndPublishesWithoutCopyingTheDataPart) {
  const std::uint32_t queue_size = 4;
  const std::size_t mem_size = 16 << 20, data_size = 1 << 20;
  baton::Node n("n");
  const void* filled_at = nullptr;
  bool seen = false;
  baton::Publisher pub = n.advertise<Image>("topic", queue_size, mem_size);
  baton::Subscription sub = n.subscribe<Image>("topic", queue_size, [&](const Image::ConstPtr& msg) {
    seen = msg->data.size() == data_size && msg->data[17] == 3 && msg->encoding == "rgb8";
  });
  baton::test::await_matched(n, sub);
  // prepare the message
  Image msg;
  msg.encoding = "rgb8";
  msg.data.resize(data_size);
  ASSERT_TRUE(pub.allocate(msg));
  filled_at = msg.data.data();
  EXPECT_TRUE(baton::memory::in_window(filled_at));
  std::fill(msg.data.begin(), msg.data.end(), std::uint8_t{3});
  pub.publish(msg);
  EXPECT_EQ(pub.counters().copied_messages, 0u);
  EXPECT_EQ(msg.data.data(), filled_at) << "the message stays with the program";
  baton::Executor executor;
  executor.add(n);
  executor.spin_once(60s);
  EXPECT_TRUE(seen);
}

TEST_F(NodeTest, PublishNeverEmptiesItsArgument) {
  baton::Node node("n");
  auto pub = node.advertise<Image>("topic", 4);
  Image prepared, ordinary;
  prepared.data.assign(1 << 16, 7);
  ordinary.data.assign(1 << 16, 8);
  const baton::Result<void> allocated = pub.try_allocate(prepared);
  ASSERT_TRUE(allocated.ok()) << allocated.error().message;
  prepared.data.assign(1 << 16, 7);
  pub.publish(prepared);
  pub.publish(std::move(ordinary));
  pub.publish_allocated(ordinary);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(prepared.data.size(), 1U << 16);
  EXPECT_EQ(ordinary.data.size(), 1U << 16);
  EXPECT_EQ(pub.counters().copied_messages, 3U);
}

TEST_F(NodeTest, AllocateFailsWhenTheMemoryIsTooSmall) {
  baton::Node n("n");
  auto pub = n.advertise<Image>("topic", 1, 1 << 20);
  Image msg;
  msg.data.resize(8 << 20);
  EXPECT_FALSE(pub.allocate(msg));
  EXPECT_EQ(msg.data.size(), 8u << 20) << "a refused message stays as it was";
}

TEST_F(NodeTest, AnAllocatedMessageThatIsNeverPublishedGivesItsChunkBack) {
  baton::Node n("n");
  auto pub = n.advertise<Image>("topic", 1, 8 << 20);
  for (int i = 0; i < 100; ++i) {
    Image msg;
    msg.data.resize(1 << 20);
    ASSERT_TRUE(pub.allocate(msg)) << i;
  }
  EXPECT_EQ(pub.memory_account().loaned_slots, 0u);
}

TEST_F(NodeTest, DiagnosticsReachLivingNodesOnly) {
  baton::Node stays("stays");
  std::atomic<int> told{0}, told_late{0};
  baton::NodeOptions counting;
  counting.on_diagnostic = [&](const baton::transport::Diagnostic&) { ++told; };
  baton::NodeOptions late;
  late.on_diagnostic = [&](const baton::transport::Diagnostic&) { ++told_late; };
  { baton::Node gone("gone", counting); }
  baton::Node witness("witness", late);
  auto strings = stays.advertise<String>("t");
  auto others = stays.subscribe<Image>("t");
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (told_late == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_GT(told_late, 0);
  EXPECT_EQ(told, 0);
}

TEST_F(NodeTest, AQueueLengthIsEnoughForAPublisherAndAPolledSubscription) {
  baton::Node node("n");
  auto pub = node.advertise<String>("t", 3);
  auto sub = node.subscribe<String>("t", 2);
  baton::test::await_matched(node, sub);
  String text;
  for (int i = 0; i < 5; ++i) {
    text.data = std::to_string(i);
    pub.publish(text);
  }
  EXPECT_EQ(sub.take()->data, "3") << "KEEP_LAST 2";
  EXPECT_EQ(sub.take()->data, "4");
  EXPECT_FALSE(sub.take());
}

TEST_F(NodeTest, HowAMessageWasMadeTravelsWithIt) {
  baton::Node node("n");
  auto pub = node.advertise<String>("t");
  auto sub = node.subscribe<String>("t");
  baton::test::await_matched(node, sub);
  for (const auto selection : {baton::memory::Selection::kInPlace, baton::memory::Selection::kLow,
                               baton::memory::Selection::kHigh, static_cast<baton::memory::Selection>(77)}) {
    baton::transport::PublishInfo info;
    info.selection = selection;
    pub.publish(pub.loan(), info);
    const auto sample = sub.take();
    ASSERT_TRUE(sample);
    // What is unknown is no conversion that this reader knows of.
    EXPECT_EQ(sample.info().selection,
              static_cast<int>(selection) == 77 ? baton::memory::Selection::kInPlace : selection);
  }
}

/// The error's text, from its first word after the code to its first colon.
template <class F>
std::string refusal(F&& use) {
  try {
    use();
  } catch (const baton::Exception& error) {
    EXPECT_EQ(error.code(), baton::Errc::invalid_argument);
    const std::string text = error.what();
    const std::size_t begin = text.find(": ") + 2;
    return text.substr(begin, text.find(':', begin) - begin);
  }
  return "no error";
}

TEST_F(NodeTest, UsingAnEmptyObjectIsAnErrorThatNamesTheKindOfObject) {
  baton::Node node("n");
  auto pub = node.advertise<String>("text");
  auto loan = pub.loan();
  pub.publish(std::move(loan));
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_EQ(refusal([&] { loan->data = "late"; }), "this loan is empty");
  EXPECT_EQ(refusal([&] { (*loan).data = "late"; }), "this loan is empty");
  EXPECT_EQ(pub.try_publish(loan).error().code, baton::Errc::invalid_argument);
  EXPECT_EQ(loan.get(), nullptr);

  baton::Publisher<String> none;
  String message;
  EXPECT_EQ(refusal([&] { none.publish(message); }), "this publisher is empty");
  EXPECT_EQ(refusal([&] { none.publish(String()); }), "this publisher is empty");
  EXPECT_EQ(refusal([&] { none.loan(); }), "this publisher is empty");
  EXPECT_EQ(refusal([&] { none.allocate(message); }), "this publisher is empty");
  EXPECT_EQ(refusal([&] { none.matched(); }), "this publisher is empty");
  EXPECT_EQ(none.try_loan().error().code, baton::Errc::invalid_argument);
  EXPECT_EQ(none.try_publish_copy(message).error().code, baton::Errc::invalid_argument);
  const baton::Publisher<String> moved = std::move(pub);
  EXPECT_EQ(refusal([&] { pub.loan(); }), "this publisher is empty");
  // NOLINTEND(bugprone-use-after-move)

  baton::Subscription<String> nobody;
  EXPECT_EQ(refusal([&] { nobody.take(); }), "this subscription is empty");
  EXPECT_EQ(nobody.try_take().error().code, baton::Errc::invalid_argument);
  const baton::Sample<String> sample;
  EXPECT_EQ(refusal([&] { static_cast<void>(sample->data.size()); }), "this sample is empty");
  baton::Client<baton::srv::std_srvs::SetBool> client;
  EXPECT_EQ(refusal([&] { client.available(); }), "this client is empty");
}

TEST_F(NodeTest, ANameThatWouldSpoilAListIsRefused) {
  for (const std::string& name :
       {std::string(), std::string("two words"), std::string("line\nfeed"), std::string("\x1b[31m"),
        std::string("gr\xC3\xB6\xC3\x9F"
                    "e"),
        std::string(256, 'n'), std::string("a\0b", 3)}) {
    try {
      baton::Node node(name);
      ADD_FAILURE() << name;
    } catch (const baton::Exception& e) {
      EXPECT_EQ(e.code(), baton::Errc::invalid_argument);
    }
  }
  EXPECT_EQ(baton::Node(std::string(255, 'n')).name().size(), 255U);
}

TEST_F(NodeTest, ANameThatTheCommandLineRefusesIsRefusedByTheConstructorInTheSameWords) {
  const auto why_refused = [](auto&& use) -> std::string {
    try {
      use();
    } catch (const baton::Exception& e) {
      const std::string text = e.what();
      return text.substr(text.find(": ") + 2);
    }
    return "not refused";
  };
  for (const char* name : {"my-node", "a.b", "two words", "1st", "a:b"}) {
    const std::string why = why_refused([&] { const baton::Node node(name); });
    EXPECT_EQ(why.find("'" + std::string(name) + "' is no name of a node: use letters, digits and '_'"), 0U) << why;
    const std::string on_line = why_refused([&] { baton::parse_arguments({"p", std::string("__node:=") + name}); });
    EXPECT_EQ(on_line, "argument '__node:=" + std::string(name) + "': " + why);
  }
  for (const char* name : {"_hidden", "n1", "A"})
    EXPECT_NO_THROW(baton::Node(name).declare_parameter("rate", 1)) << name;
}

}  // namespace
