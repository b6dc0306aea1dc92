// SPDX-License-Identifier: Apache-2.0
#include "baton/node/service.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "baton/baton.hpp"
#include "baton/message/print.hpp"
#include "baton/srv/std_srvs/set_bool.hpp"
#include "node_core.hpp"
#include "node_test_support.hpp"

thread_local std::size_t baton::test::t_missing_from = SIZE_MAX;

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return bytes < baton::test::t_missing_from ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return operator new(bytes, std::nothrow); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

using namespace std::chrono_literals;
using SetBool = baton::srv::std_srvs::SetBool;

namespace {

class ServiceTest : public baton::test::DomainTest {
 protected:
  void SetUp() override {
    DomainTest::SetUp();
    server_ = std::make_unique<baton::Node>("server");
    service_ = server_->serve<SetBool>("switch", [](const SetBool::Request& request, SetBool::Response& response) {
      response.success = request.data;
      response.message = request.data ? "on" : "off";
    });
    executor_.add(*server_);
    thread_ = std::thread([this] { executor_.spin(); });
  }
  void TearDown() override {
    executor_.cancel();
    thread_.join();
    service_ = {};
    executor_.remove(*server_);
    server_.reset();
    DomainTest::TearDown();
  }
  std::unique_ptr<baton::Node> server_;
  baton::Service<SetBool> service_;
  baton::Executor executor_;
  std::thread thread_;
};

/// What a subscription to the events of SetBool gets, as text.
class Events {
 public:
  explicit Events(baton::Node& node)
      : definition_(baton::message::Definition::parse(
                        baton::detail::event_definition(baton::message::type_of<SetBool::Request>(),
                                                        baton::message::type_of<SetBool::Response>()),
                        baton::detail::event_hash<SetBool>())
                        .or_throw()),
        reader_(node.make_reader("switch/_service_event", definition_.type(), baton::QoS(100))) {}
  bool is_matched() const { return reader_->matched() == 1; }
  /// The next `count`, without times and ids.
  std::vector<std::string> take(std::size_t count) {
    std::vector<std::string> out;
    baton::transport::WaitSet wait_set;
    wait_set.add(reader_).or_throw();
    while (out.size() < count) {
      const baton::transport::TakenSample taken = reader_->take_next().or_throw();
      if (!taken) {
        if (!wait_set.wait(60s).or_throw()) break;
        continue;
      }
      const std::string text =
          baton::message::print(definition_.type(),
                                {static_cast<const std::byte*>(taken.message()), taken.size_bytes()}, {0, 0, true})
              .or_throw();
      const std::size_t number = text.find("  sequence_number: ");
      out.push_back(text.substr(0, text.find("  stamp:")) + text.substr(number));
    }
    return out;
  }

 private:
  baton::message::Definition definition_;
  std::shared_ptr<baton::transport::Reader> reader_;
};

TEST_F(ServiceTest, CallsAreSeenByOthersWhileTheProgramAsksForIt) {
  baton::Node node("client");
  auto client = node.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(60s));
  SetBool::Request on;
  on.data = true;
  ASSERT_TRUE(client.call(on, 60s));
  EXPECT_EQ(node.count_publishers("switch/_service_event"), 0U) << "nobody has asked";

  service_.configure_introspection(baton::ServiceIntrospection::kContents);
  Events events(node);
  ASSERT_TRUE(node.wait_for([&] { return events.is_matched(); }, 60s));
  ASSERT_TRUE(client.call(on, 60s));
  EXPECT_EQ(events.take(2), (std::vector<std::string>{
                                "info:\n  event_type: 1\n  sequence_number: 2\nrequest:\n- data: true\nresponse: []\n",
                                "info:\n  event_type: 2\n  sequence_number: 2\nrequest: []\nresponse:\n- success: "
                                "true\n  message: 'on'\n"}));
  service_.configure_introspection(baton::ServiceIntrospection::kMetadata);
  ASSERT_TRUE(client.call(on, 60s));
  EXPECT_EQ(events.take(2),
            (std::vector<std::string>{"info:\n  event_type: 1\n  sequence_number: 3\nrequest: []\nresponse: []\n",
                                      "info:\n  event_type: 2\n  sequence_number: 3\nrequest: []\nresponse: []\n"}));
  service_.configure_introspection(baton::ServiceIntrospection::kOff);
  ASSERT_TRUE(client.call(on, 60s));
  service_.configure_introspection(baton::ServiceIntrospection::kMetadata);
  ASSERT_TRUE(client.call(on, 60s));
  EXPECT_EQ(events.take(1).at(0), "info:\n  event_type: 1\n  sequence_number: 5\nrequest: []\nresponse: []\n")
      << "of the fourth call nothing";
}

TEST_F(ServiceTest, AClientsCallsAreSeenToo) {
  baton::Node node("client");
  auto client = node.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(60s));
  client.configure_introspection(baton::ServiceIntrospection::kContents);
  Events events(node);
  ASSERT_TRUE(node.wait_for([&] { return events.is_matched(); }, 60s));
  ASSERT_TRUE(client.call(SetBool::Request(), 60s));
  EXPECT_EQ(events.take(2), (std::vector<std::string>{
                                "info:\n  event_type: 0\n  sequence_number: 1\nrequest:\n- data: false\nresponse: []\n",
                                "info:\n  event_type: 3\n  sequence_number: 1\nrequest: []\nresponse:\n- success: "
                                "false\n  message: 'off'\n"}));
  EXPECT_THROW(baton::Service<SetBool>().configure_introspection(baton::ServiceIntrospection::kOff), baton::Exception);
}

TEST_F(ServiceTest, AMessageThatIsMalformedWhenItIsCopiedIsInNoEvent) {
  baton::Node node("client");
  std::vector<baton::Errc> lost;
  baton::detail::ServiceEvents::Options options;
  options.is_server = true;
  options.request = &baton::message::type_of<SetBool::Request>();
  options.response = &baton::message::type_of<SetBool::Response>();
  std::shared_ptr<baton::transport::Writer> writer;
  options.advertise = [&](const baton::message::Type& type) {
    return writer = node.participant()
                        ->create_writer({node.resolve_topic_name("switch/_service_event"),
                                         "client",
                                         baton::detail::type_info(type),
                                         baton::QoS(100),
                                         {}})
                        .or_throw();
  };
  options.on_lost = [&](const baton::Error& why) { lost.push_back(why.code); };
  baton::detail::ServiceEvents seen(std::move(options));
  seen.configure(baton::ServiceIntrospection::kContents, baton::detail::event_hash<SetBool>());
  Events events(node);
  ASSERT_TRUE(node.wait_for([&] { return events.is_matched(); }, 60s));
  struct alignas(8) Response {  // of 16 bytes, its text behind it
    std::uint32_t success = 1, length = 4;
    std::int32_t offset = 4;
    char text[4] = {'o', 'n', 0, 1};
  };
  const Response good;
  Response malformed;
  malformed.offset = 1 << 20;
  seen.sent({}, &malformed, sizeof malformed);
  seen.sent({}, &good, sizeof good);
  EXPECT_EQ(lost, std::vector<baton::Errc>{baton::Errc::malformed_message});
  EXPECT_EQ(events.take(1).at(0),
            "info:\n  event_type: 2\n  sequence_number: 0\nrequest: []\nresponse:\n- success: true\n  message: 'on'\n");
  EXPECT_EQ(writer->memory_account().loaned_slots, 0U);
}

TEST_F(ServiceTest, ACallReturnsTheResponseOfItsRequest) {
  baton::Node node("client");
  auto client = node.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(60s));
  SetBool::Request request;
  for (bool on : {true, false, true}) {
    request.data = on;
    auto response = client.call(request, 60s);
    ASSERT_TRUE(response);
    EXPECT_EQ(static_cast<bool>(response->success), on);
    EXPECT_EQ(response->message, on ? "on" : "off");
  }
}

TEST_F(ServiceTest, SeveralClientsGetTheirOwnResponses) {
  baton::Node node("clients");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      auto client = node.client<SetBool>("switch");
      if (!client.wait_for_service(60s)) return;
      SetBool::Request request;
      request.data = i % 2 == 0;
      for (int n = 0; n < 20; ++n) {
        auto response = client.call(request, 60s);
        right += response && static_cast<bool>(response->success) == (i % 2 == 0);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
}

TEST_F(ServiceTest, AClientWithACallbackGetsResponsesThroughItsExecutor) {
  baton::Node node("client");
  std::vector<std::uint64_t> answered;
  auto client = node.client<SetBool>("switch", [&](const baton::Sample<SetBool::Response>& response) {
    answered.push_back(response.info().correlation_sequence);
  });
  ASSERT_TRUE(client.wait_for_service(60s));
  const std::uint64_t first = client.send(SetBool::Request{}), second = client.send(SetBool::Request{});
  baton::Executor executor;
  executor.add(node);
  while (answered.size() < 2) ASSERT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(answered, (std::vector<std::uint64_t>{first, second}));
  EXPECT_THROW(client.call(SetBool::Request{}, 1s), baton::Exception);
}

TEST_F(ServiceTest, AClientsCallbackTakesWhatASubscriptionsTakes) {
  baton::Node node("client");
  int answered = 0;
  auto a = node.client<SetBool>("switch", [&](const SetBool::Response&) { ++answered; });
  auto b = node.client<SetBool>("switch", [&](const SetBool::Response::ConstSharedPtr&) { ++answered; });
  auto c =
      node.client<SetBool>("switch", [&](const auto& response) { answered += response->message == "off" ? 1 : 100; });
  ASSERT_TRUE(a.wait_for_service(60s));
  a.send(SetBool::Request{});
  ASSERT_TRUE(b.wait_for_service(60s));
  b.send(SetBool::Request{});
  ASSERT_TRUE(c.wait_for_service(60s));
  c.send(SetBool::Request{});
  baton::Executor executor;
  executor.add(node);
  while (answered < 3) ASSERT_TRUE(executor.spin_once(60s));
  EXPECT_EQ(answered, 3);
}

TEST_F(ServiceTest, ACallWithoutAServerEndsAtItsTimeout) {
  baton::Node node("client");
  auto client = node.client<SetBool>("nobody");
  EXPECT_FALSE(client.wait_for_service(20ms));
  EXPECT_FALSE(client.call(SetBool::Request{}, 20ms));
}

TEST_F(ServiceTest, AClientThatReadsLateHasItsResponseHoweverManyOthersGotTheirs) {
  baton::Node node("clients");
  auto late = node.client<SetBool>("switch");
  auto busy = node.client<SetBool>("switch");
  ASSERT_TRUE(late.wait_for_service(60s) && busy.wait_for_service(60s));
  SetBool::Request request;
  const std::uint64_t sequence = late.send(request);
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(busy.call(request, 20s));
  ASSERT_TRUE(late.core()->take_response(sequence).or_throw());
  EXPECT_FALSE(late.core()->responses()->take().or_throw()) << "the others' responses did not come here";
}

TEST_F(ServiceTest, OneLookForAResponsePassesOverABoundedNumberOfOthers) {
  constexpr std::uint64_t kMostOtherResponses = 16;  // in service.cpp
  baton::Node node("client"), stranger("stranger");
  auto client = node.client<SetBool>("switch");
  auto strangers = stranger.advertise<SetBool::Response>("switch/_response", baton::QoS(100));
  ASSERT_TRUE(client.wait_for_service(60s));
  const auto& responses = client.core()->responses();
  while (responses->matched() < 2 || strangers.matched() < 1) std::this_thread::sleep_for(1ms);
  for (std::uint64_t i = 0; i < kMostOtherResponses + 1; ++i) strangers.publish(strangers.loan());
  while (responses->unread() <= kMostOtherResponses) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(client.core()->take_response(1).or_throw());
  EXPECT_EQ(responses->unread(), 1U) << "the caller looks at its deadline, and comes back";
  for (std::uint64_t i = 0; i < 2 * kMostOtherResponses; ++i) strangers.publish(strangers.loan());
  EXPECT_TRUE(client.call(SetBool::Request{}, 60s));
}

TEST_F(ServiceTest, AsManyClientsAreServedAsTheResponsesHaveSlotsFor) {
  baton::Node server("server"), caller("caller");
  baton::PublisherOptions many;
  many.slot_count = 2048;
  many.max_message_bytes = 1 << 20;
  const auto answer = [](const SetBool::Request& request, SetBool::Response& response) {
    response.success = request.data;
  };
  auto some_service = server.serve<SetBool>("some", answer);
  auto many_service = server.serve<SetBool>("many", answer, nullptr, many);
  std::vector<baton::Client<SetBool>> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(caller.client<SetBool>("some"));
  for (int i = 0; i < 150; ++i) clients.push_back(caller.client<SetBool>("many"));
  for (const auto& client : clients) ASSERT_TRUE(client.wait_for_service(20s));
  baton::Executor executor;
  executor.add(server);
  std::thread spin([&] { executor.spin(); });
  SetBool::Request request;
  request.data = true;
  for (std::size_t i : {std::size_t{0}, std::size_t{39}, std::size_t{40}, clients.size() - 1}) {
    const auto response = clients[i].call(request, 20s);
    EXPECT_TRUE(response && response->success) << i;
  }
  executor.cancel();
  spin.join();
}

TEST_F(ServiceTest, FiftyResponsesMayBeKeptAndMoreIfTheClientAsksForMore) {
  baton::Node node("client");
  auto client = node.client<SetBool>("switch"), much = node.client<SetBool>("switch", {}, 200);
  ASSERT_TRUE(client.wait_for_service(60s) && much.wait_for_service(60s));
  std::vector<baton::Sample<SetBool::Response>> kept;
  for (int i = 0; i < 200; ++i) {
    kept.push_back(much.call(SetBool::Request{}, 60s));
    ASSERT_TRUE(kept.back()) << i;
    if (i >= 50) continue;
    kept.push_back(client.call(SetBool::Request{}, 60s));
    ASSERT_TRUE(kept.back()) << i;
  }
  try {
    for (int i = 0; i < 20; ++i) kept.push_back(client.call(SetBool::Request{}, 60s));
    FAIL() << "the limit is 64";
  } catch (const baton::Exception& error) {
    EXPECT_EQ(error.code(), baton::Errc::held_limit);
    EXPECT_NE(std::string(error.what()).find("`held`"), std::string::npos) << error.what();
  }
  kept.clear();
  EXPECT_TRUE(client.call(SetBool::Request{}, 60s));
}

TEST_F(ServiceTest, AServerThatDoesNotReadStopsNoCallThatAnotherServerAnswers) {
  baton::Node idle("idle"), node("client");
  int asked = 0;
  // Nobody spins `idle`, so its requests wait.
  auto second = idle.serve<SetBool>("switch", [&](const SetBool::Request&, SetBool::Response&) { ++asked; });
  auto client = node.client<SetBool>("switch");
  ASSERT_TRUE(client.wait_for_service(60s));
  while (client.core()->requests()->writer()->matched() < 2) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 250; ++i) ASSERT_TRUE(client.call(SetBool::Request{}, 60s)) << i;
  EXPECT_EQ(asked, 0);
  baton::Executor executor;
  executor.add(idle);
  while (executor.spin_some() > 0) {
  }
  EXPECT_EQ(asked, 100) << "the first hundred wait; the others are lost for this server";
  // Alone it stops its clients, as both asked for.
  auto alone = idle.serve<SetBool>("alone", [](const SetBool::Request&, SetBool::Response&) {});
  auto caller = node.client<SetBool>("alone");
  ASSERT_TRUE(caller.wait_for_service(60s));
  for (int i = 0; i < 100; ++i) caller.send(SetBool::Request{});
  try {
    caller.send(SetBool::Request{});
    FAIL() << "the queue is full";
  } catch (const baton::Exception& error) {
    EXPECT_EQ(error.code(), baton::Errc::queue_full);
  }
}

/// Any process of the domain can read the ids of others' clients in the graph.
TEST_F(ServiceTest, ARequestThatNamesAnotherProcessesClientIsPassedOver) {
  baton::Node node("client");
  std::atomic<int> asked = 0;
  auto count = server_->serve<SetBool>("count", [&](const SetBool::Request&, SetBool::Response&) { ++asked; });
  auto client = node.client<SetBool>("count");
  ASSERT_TRUE(client.wait_for_service(60s));
  ASSERT_TRUE(client.call(SetBool::Request{}, 60s));
  baton::transport::Participant::WriterOptions options;
  options.topic = "/count/_request";
  options.node = "/liar";
  options.type = baton::detail::type_info(baton::message::type_of<SetBool::Request>());
  options.qos = baton::detail::request_qos();
  options.gid.fill(7);  // as a process that is not this one
  const auto liar = client.core()->participant()->create_writer(options);
  ASSERT_TRUE(liar) << liar.error().message;
  while ((*liar)->matched() == 0) std::this_thread::sleep_for(1ms);
  for (const baton::transport::Gid& named : {client.core()->responses()->gid(), (*liar)->gid()}) {
    const auto chunk = (*liar)->loan_sized(options.type.skeleton_bytes);
    ASSERT_TRUE(chunk);
    std::memset(chunk->message(), 0, options.type.skeleton_bytes);
    baton::transport::PublishInfo info;
    info.correlation_client = named;
    info.correlation_sequence = 1;
    ASSERT_TRUE((*liar)->publish(*chunk, info));
  }
  while (asked < 2) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(client.call(SetBool::Request{}, 60s));
  EXPECT_EQ(asked, 3) << "the two calls, and the request that names a client of its own process";
}

TEST_F(ServiceTest, ARequestThatFindsNoMemoryForItsResponseDoesNotEndTheService) {
  baton::Node server("server"), caller("caller");
  baton::PublisherOptions little;
  little.memory_limit_bytes = little.max_message_bytes = 1 << 20;
  auto service = server.serve<SetBool>(
      "large", [](const SetBool::Request&, SetBool::Response& response) { response.message.resize(700'000); }, nullptr,
      little);
  auto client = caller.client<SetBool>("large");
  ASSERT_TRUE(client.wait_for_service(60s));
  baton::Executor executor;
  executor.add(server);
  std::vector<baton::Sample<SetBool::Response>> kept;
  std::size_t unanswered = 0;
  const auto call = [&] {
    const std::uint64_t number = client.send(SetBool::Request{});
    EXPECT_NO_THROW(executor.spin_once(60s));
    auto response = client.core()->take_response(number).or_throw();
    if (response)
      kept.emplace_back(std::move(response));
    else
      ++unanswered;
  };
  while (unanswered == 0) call();
  EXPECT_FALSE(kept.empty());
  kept.clear();
  call();
  EXPECT_EQ(kept.size(), 1U);
}

TEST_F(ServiceTest, ARequestForWhoseCopyThereIsNoMemoryGetsNoResponseAndEndsNothing) {
  baton::Node server("server"), caller("caller");
  std::size_t handled = 0;
  auto service = server.serve<SetBool>(
      "copies", [&](const SetBool::Request::SharedPtr&, const SetBool::Response::SharedPtr&) { ++handled; });
  auto client = caller.client<SetBool>("copies");
  ASSERT_TRUE(client.wait_for_service(60s));
  baton::Executor executor;
  executor.add(server);
  const auto answered = [&](bool memory) {
    const std::uint64_t number = client.send(SetBool::Request{});
    {
      const baton::test::MissingMemory missing(memory ? SIZE_MAX : 1);
      EXPECT_TRUE(executor.spin_once(60s));
    }
    return static_cast<bool>(client.core()->take_response(number).or_throw());
  };
  EXPECT_TRUE(answered(true));  // taking the first message needs memory, too
  EXPECT_FALSE(answered(false));
  EXPECT_EQ(handled, 1U);
  EXPECT_TRUE(answered(true));
  EXPECT_EQ(handled, 2U);
}

TEST_F(ServiceTest, ABadAllocOfAHandlerIsTheProgramsError) {
  baton::Node server("server"), caller("caller");
  const auto fails = [](const SetBool::Request&, SetBool::Response&) { throw std::bad_array_new_length(); };
  auto service = server.serve<SetBool>("fails", fails);
  auto client = caller.client<SetBool>("fails");
  ASSERT_TRUE(client.wait_for_service(60s));
  baton::Executor executor;
  executor.add(server);
  client.send(SetBool::Request{});
  EXPECT_THROW(executor.spin_once(60s), std::bad_alloc);
}

}  // namespace
