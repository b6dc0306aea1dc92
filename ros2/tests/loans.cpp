// SPDX-License-Identifier: Apache-2.0
// Loans of types of fixed size, at both ends, in C++ and C, without libbaton_heap.so. gtest without a role; else one end of a test
// with several processes: loans say <topic> <readers> | hear <topic> <messages> | hold <topic> <messages>.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "every_type_values.hpp"
#include "rcl.hpp"
#include "rmw/rmw.h"
#include "rosidl_typesupport_introspection_c/identifier.h"

namespace {

using namespace std::chrono_literals;
using every_type::Member;
using every_type::Members;

/// "std_msgs/msg/Int64"; `language`: "c" or "cpp".
const rosidl_message_type_support_t* support_of(const std::string& name, const std::string& language) {
  const std::string package = name.substr(0, name.find('/')), kind = "rosidl_typesupport_" + language;
  void* library = dlopen(("lib" + package + "__" + kind + ".so").c_str(), RTLD_LAZY);
  std::string symbol = kind + "__get_message_type_support_handle__";
  for (const char c : name) symbol += c == '/' ? std::string("__") : std::string(1, c);
  void* get = library != nullptr ? dlsym(library, symbol.c_str()) : nullptr;
  if (get == nullptr) fail(dlerror());
  return reinterpret_cast<const rosidl_message_type_support_t* (*)()>(get)();
}

/// The introspections of C++ and C have the same layout in what is read here.
const Members& members_of(const rosidl_message_type_support_t* support) {
  const auto* found = support->func(support, every_type::introspection::typesupport_identifier);
  if (found == nullptr) found = support->func(support, rosidl_typesupport_introspection_c__identifier);
  rcutils_reset_error();
  if (found == nullptr) fail("a type without introspection");
  return *static_cast<const Members*>(found->data);
}

/// Calls `visit(bytes, size)` for every field of scalars.
void for_each_field(const Members& members, void* native,
                    const std::function<void(unsigned char*, std::size_t)>& visit) {
  for (std::uint32_t i = 0; i < members.member_count_; ++i) {
    const Member& member = members.members_[i];
    auto* field = static_cast<unsigned char*>(native) + member.offset_;
    const std::size_t count = member.is_array_ ? member.array_size_ : 1;
    if (member.type_id_ != every_type::introspection::ROS_TYPE_MESSAGE) {
      visit(field, count * every_type::width(member.type_id_));
      continue;
    }
    const Members& nested = members_of(member.members_);
    for (std::size_t k = 0; k < count; ++k) for_each_field(nested, field + k * nested.size_of_, visit);
  }
}

/// Bytes of 0 and 1 are values of every type, also of bool.
void fill(const Members& members, void* native, unsigned seed) {
  every_type::Source source(std::to_string(seed));
  for_each_field(members, native, [&](unsigned char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = source.next() & 1;
  });
}
bool is_filled(const Members& members, void* native, unsigned seed) {
  every_type::Source source(std::to_string(seed));
  bool right = true;
  for_each_field(members, native, [&](unsigned char* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) right = right && bytes[i] == (source.next() & 1);
  });
  return right;
}

/// "rw-s", as /proc/self/maps has it.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char mode[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, mode) != 3) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (begin <= at && at < end) return mode;
  }
  return "";
}

struct Lender : Publisher {
  Lender(Ros& ros, const rosidl_message_type_support_t* its_support, const std::string& topic,
         const rmw_qos_profile_t& qos = rmw_qos_profile_default)
      : Publisher(ros, its_support, topic, qos), support(its_support) {}
  void* borrow() {
    void* lent = nullptr;
    check(rcl_borrow_loaned_message(&it, support, &lent), "borrow");
    return lent;
  }
  void give_back(void* lent) { check(rcl_return_loaned_message_from_publisher(&it, lent), "give back"); }
  void publish_lent(void* lent) { check(rcl_publish_loaned_message(&it, lent, nullptr), "publish a loan"); }
  rmw_publisher_t* rmw() { return rcl_publisher_get_rmw_handle(&it); }
  const rosidl_message_type_support_t* const support;
};

struct Taker : Subscription {
  using Subscription::Subscription;
  /// Null: there is none.
  void* try_take_lent() {
    void* lent = nullptr;
    return taken(rcl_take_loaned_message(&it, &lent, nullptr, nullptr)) ? lent : nullptr;
  }
  void* take_lent() {
    void* lent = nullptr;
    until([&] { return (lent = try_take_lent()) != nullptr; }, "a message");
    return lent;
  }
  void give_back(void* lent) { check(rcl_return_loaned_message_from_subscription(&it, lent), "give back"); }
  rmw_subscription_t* rmw() { return rcl_subscription_get_rmw_handle(&it); }
};

/// KEEP_ALL: nothing is lost.
rmw_qos_profile_t all() {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.history = RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  return qos;
}

std::string topic_of(const std::string& name) {
  std::string topic = "/loans";
  for (const char c : name) topic += c == '/' ? '_' : c;
  return topic;
}

using TypeName = std::tuple<const char*, const char*>;
class OfAFixedSize : public testing::TestWithParam<TypeName> {};

TEST_P(OfAFixedSize, is_lent_at_both_ends_where_it_lies) {
  const auto [name, language] = GetParam();
  const rosidl_message_type_support_t* support = support_of(name, language);
  const Members& members = members_of(support);
  Ros ros("both");
  Lender publisher(ros, support, topic_of(name) + language, all());
  Taker subscription(ros, support, topic_of(name) + language, all());
  ASSERT_TRUE(rcl_publisher_can_loan_messages(&publisher.it));
  ASSERT_TRUE(rcl_subscription_can_loan_messages(&subscription.it));
  for (unsigned seed = 0; seed < 10; ++seed) {
    void* lent = publisher.borrow();
    EXPECT_EQ(mapping_of(lent), "rw-s");
    fill(members, lent, seed);
    publisher.publish_lent(lent);
    void* taken = subscription.take_lent();
    EXPECT_EQ(mapping_of(taken), "r--s");
    EXPECT_TRUE(is_filled(members, taken, seed));
    subscription.give_back(taken);
  }
}

constexpr const char* kFixed[] = {"std_msgs/msg/Empty",
                                  "std_msgs/msg/Bool",
                                  "std_msgs/msg/Byte",
                                  "std_msgs/msg/Int16",
                                  "std_msgs/msg/UInt64",
                                  "std_msgs/msg/Float32",
                                  "std_msgs/msg/ColorRGBA",
                                  "builtin_interfaces/msg/Time",
                                  "geometry_msgs/msg/Point",
                                  "geometry_msgs/msg/Quaternion",
                                  "geometry_msgs/msg/Transform",
                                  "geometry_msgs/msg/TwistWithCovariance",
                                  "geometry_msgs/msg/Inertia",
                                  "geometry_msgs/msg/PoseWithCovariance",
                                  "sensor_msgs/msg/NavSatStatus",
                                  "test_msgs/msg/BasicTypes",
                                  "test_msgs/msg/Constants",
                                  "unique_identifier_msgs/msg/UUID"};
INSTANTIATE_TEST_SUITE_P(Loans, OfAFixedSize, testing::Combine(testing::ValuesIn(kFixed), testing::Values("c", "cpp")),
                         [](const testing::TestParamInfo<TypeName>& type) {
                           return topic_of(std::get<0>(type.param)).substr(6) + "_" + std::get<1>(type.param);
                         });

TEST(Loans, of_defaults_begin_with_them) {
  for (const char* language : {"c", "cpp"}) {
    Ros ros("defaults");
    const rosidl_message_type_support_t* support = support_of("geometry_msgs/msg/Quaternion", language);
    Lender publisher(ros, support, "/loans_of_defaults");
    void* lent = publisher.borrow();
    const double expected[4] = {0, 0, 0, 1};
    EXPECT_EQ(std::memcmp(lent, expected, sizeof expected), 0);
    std::memset(lent, 0x55, sizeof expected);
    publisher.give_back(lent);
    void* again = publisher.borrow();  // the same place, most likely
    EXPECT_EQ(std::memcmp(again, expected, sizeof expected), 0);
    publisher.give_back(again);
  }
}

TEST(Loans, of_strings_and_sequences_are_refused_with_the_reason) {
  Ros ros("refused");
  for (const char* name : {"std_msgs/msg/String", "sensor_msgs/msg/Image", "test_msgs/msg/UnboundedSequences"}) {
    const rosidl_message_type_support_t* support = support_of(name, "cpp");
    Lender publisher(ros, support, topic_of(name));
    Taker subscription(ros, support, topic_of(name));
    EXPECT_FALSE(rcl_publisher_can_loan_messages(&publisher.it));
    EXPECT_FALSE(rcl_subscription_can_loan_messages(&subscription.it));
    void* lent = nullptr;
    bool taken = false;
    EXPECT_EQ(rmw_borrow_loaned_message(publisher.rmw(), support, &lent), RMW_RET_UNSUPPORTED);
    EXPECT_NE(std::string(rcutils_get_error_string().str).find("a type with strings or sequences"), std::string::npos);
    rcutils_reset_error();
    EXPECT_EQ(rmw_take_loaned_message(subscription.rmw(), &lent, &taken, nullptr), RMW_RET_UNSUPPORTED);
    rcutils_reset_error();
    EXPECT_EQ(lent, nullptr);
  }
}

/// For the other tests, of one type.
class LoansOfNumbers : public testing::Test {
 protected:
  static std::int64_t& number(void* message) { return *static_cast<std::int64_t*>(message); }
  static void say(Lender& publisher, std::int64_t value) {
    void* lent = publisher.borrow();
    number(lent) = value;
    publisher.publish_lent(lent);
  }
  const rosidl_message_type_support_t* support = support_of("std_msgs/msg/Int64", "cpp");
};

TEST_F(LoansOfNumbers, and_ordinary_messages_keep_their_order) {
  Ros ros("order");
  Lender publisher(ros, support, "/loans_in_order", all());
  Taker subscription(ros, support, "/loans_in_order", all());
  std::int64_t next = 1;
  for (std::int64_t i = 1; i <= 300; i += 3) {
    void* early = publisher.borrow();  // published after those that were made later
    say(publisher, i);
    const std::int64_t ordinary = i + 1;
    publisher.publish(&ordinary);
    number(early) = i + 2;
    publisher.publish_lent(early);
    for (; next < i + 3; ++next) {
      if (next % 2 == 0) {
        void* taken = subscription.take_lent();
        EXPECT_EQ(number(taken), next);
        subscription.give_back(taken);
        continue;
      }
      std::int64_t taken = 0;
      until([&] { return subscription.take(&taken); }, "a message");
      EXPECT_EQ(taken, next);
    }
  }
  EXPECT_EQ(subscription.try_take_lent(), nullptr);
}

TEST_F(LoansOfNumbers, that_are_returned_are_not_published_and_can_be_lent_again) {
  Ros ros("returned");
  Lender publisher(ros, support, "/loans_returned", all());
  Taker subscription(ros, support, "/loans_returned", all());
  for (int i = 0; i < 20000; ++i) {
    void* lent = publisher.borrow();
    if (i % 1000 == 0) {
      EXPECT_EQ(mapping_of(lent), "rw-s") << i;
    }
    number(lent) = -1;
    publisher.give_back(lent);
  }
  say(publisher, 7);
  void* taken = subscription.take_lent();
  EXPECT_EQ(number(taken), 7);
  subscription.give_back(taken);
}

TEST_F(LoansOfNumbers, can_be_out_in_any_number) {
  Ros ros("many");
  Lender publisher(ros, support, "/loans_many", all());
  Taker subscription(ros, support, "/loans_many", all());
  std::vector<void*> lent;
  for (int i = 0; i < 3000; ++i) lent.push_back(publisher.borrow());
  EXPECT_EQ(std::set<void*>(lent.begin(), lent.end()).size(), lent.size());
  for (std::size_t i = 0; i < lent.size(); ++i) number(lent[i]) = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < lent.size(); ++i) EXPECT_EQ(number(lent[i]), static_cast<std::int64_t>(i));
  for (int i = 0; i < 30; ++i) {
    publisher.publish_lent(lent.back());
    void* taken = subscription.take_lent();
    EXPECT_EQ(number(taken), static_cast<std::int64_t>(lent.size() - 1));
    subscription.give_back(taken);
    lent.pop_back();
  }
  for (void* each : lent) publisher.give_back(each);
}

TEST_F(LoansOfNumbers, stay_as_they_are_until_they_are_returned) {
  Ros ros("kept");
  auto publisher = std::make_unique<Lender>(ros, support, "/loans_kept", all());
  Taker subscription(ros, support, "/loans_kept", all());
  std::vector<void*> kept;
  for (std::int64_t i = 0; i < 40; ++i) {
    say(*publisher, i);
    kept.push_back(subscription.take_lent());
  }
  std::size_t in_place = 0;
  for (void* each : kept) in_place += mapping_of(each) == "r--s";
  EXPECT_EQ(in_place, 4U);                   // half of what a subscription may hold; the others are copies
  for (std::int64_t i = 0; i < 1000; ++i) {  // every chunk that could be used again is
    say(*publisher, -1);
    if (void* taken = subscription.try_take_lent()) subscription.give_back(taken);
  }
  publisher.reset();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(number(kept[i]), static_cast<std::int64_t>(i));
    subscription.give_back(kept[i]);
  }
}

TEST_F(LoansOfNumbers, are_returned_once_and_to_their_own_end) {
  Ros ros("once");
  Lender publisher(ros, support, "/loans_once", all()), other(ros, support, "/loans_once", all());
  Taker subscription(ros, support, "/loans_once", all());
  void* lent = publisher.borrow();
  EXPECT_NE(rmw_return_loaned_message_from_publisher(other.rmw(), lent), RMW_RET_OK);
  EXPECT_NE(rmw_publish_loaned_message(other.rmw(), lent, nullptr), RMW_RET_OK);
  EXPECT_EQ(rmw_return_loaned_message_from_publisher(publisher.rmw(), nullptr), RMW_RET_INVALID_ARGUMENT);
  EXPECT_EQ(rmw_publish_loaned_message(publisher.rmw(), nullptr, nullptr), RMW_RET_INVALID_ARGUMENT);
  EXPECT_EQ(rmw_borrow_loaned_message(publisher.rmw(), support, &lent), RMW_RET_INVALID_ARGUMENT);
  rcutils_reset_error();
  publisher.give_back(lent);
  EXPECT_NE(rmw_return_loaned_message_from_publisher(publisher.rmw(), lent), RMW_RET_OK);
  EXPECT_NE(rmw_publish_loaned_message(publisher.rmw(), lent, nullptr), RMW_RET_OK);
  rcutils_reset_error();

  say(publisher, 5);
  void* taken = subscription.take_lent();
  EXPECT_EQ(rmw_return_loaned_message_from_subscription(subscription.rmw(), nullptr), RMW_RET_INVALID_ARGUMENT);
  std::int64_t stranger = 0;
  EXPECT_NE(rmw_return_loaned_message_from_subscription(subscription.rmw(), &stranger), RMW_RET_OK);
  rcutils_reset_error();
  subscription.give_back(taken);
  EXPECT_NE(rmw_return_loaned_message_from_subscription(subscription.rmw(), taken), RMW_RET_OK);
  rcutils_reset_error();
}

TEST_F(LoansOfNumbers, may_be_out_when_their_context_is_shut_down_or_their_end_is_destroyed) {
  Ros ros("outstanding");
  {
    Lender publisher(ros, support, "/loans_outstanding", all());
    Taker subscription(ros, support, "/loans_outstanding", all());
    say(publisher, 1);
    (void)subscription.take_lent();
    (void)publisher.borrow();
  }
  Ros ended("ended");
  Lender publisher(ended, support, "/loans_shut_down", all());
  Taker subscription(ended, support, "/loans_shut_down", all());
  say(publisher, 2);
  void* taken = subscription.take_lent();
  void* lent = publisher.borrow();
  void* late = publisher.borrow();
  check(rcl_shutdown(&ended.context), "shutdown");
  EXPECT_EQ(number(taken), 2);
  number(lent) = number(late) = 3;
  EXPECT_EQ(rmw_return_loaned_message_from_subscription(subscription.rmw(), taken), RMW_RET_OK);
  EXPECT_EQ(rmw_return_loaned_message_from_publisher(publisher.rmw(), lent), RMW_RET_OK);
  static_cast<void>(rmw_publish_loaned_message(publisher.rmw(), late, nullptr) == RMW_RET_OK);
  rcutils_reset_error();
  EXPECT_NE(rmw_return_loaned_message_from_publisher(publisher.rmw(), late),
            RMW_RET_OK);  // it is the publisher's since
  rcutils_reset_error();
  ended.is_shut_down = true;
}

TEST_F(LoansOfNumbers, reach_each_of_many_nodes_of_one_name) {
  constexpr std::size_t kNodes = 6;
  std::vector<std::unique_ptr<Ros>> nodes;
  for (std::size_t i = 0; i < kNodes; ++i) nodes.push_back(std::make_unique<Ros>("twin"));
  std::vector<std::unique_ptr<Taker>> subscriptions(kNodes);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kNodes; ++i) {
    threads.emplace_back(
        [&, i] { subscriptions[i] = std::make_unique<Taker>(*nodes[i], support, "/loans_of_twins", all()); });
  }
  for (std::thread& each : threads) each.join();
  Ros ros("twin");
  Lender publisher(ros, support, "/loans_of_twins", all());
  say(publisher, 8);
  for (const auto& each : subscriptions) {
    void* taken = each->take_lent();
    EXPECT_EQ(number(taken), 8);
    EXPECT_EQ(mapping_of(taken), "r--s");
    each->give_back(taken);
  }
}

TEST_F(LoansOfNumbers, count_for_deadlines) {
  rmw_qos_profile_t qos = all();
  qos.deadline = {0, 100'000'000};
  Ros ros("deadline");
  Lender publisher(ros, support, "/loans_deadline", qos);
  Taker subscription(ros, support, "/loans_deadline", qos);
  rcl_event_t event = rcl_get_zero_initialized_event();
  check(rcl_publisher_event_init(&event, &publisher.it, RCL_PUBLISHER_OFFERED_DEADLINE_MISSED), "event");
  rmw_offered_deadline_missed_status_t status{};
  say(publisher, 1);  // the first message begins it
  const auto missed = [&] {
    if (rcl_take_event(&event, &status) != RCL_RET_OK) rcutils_reset_error();
    return status.total_count != 0;
  };
  until(missed, "a missed deadline");
  check(rcl_event_fini(&event), "event's end");
}

TEST_F(LoansOfNumbers, that_are_too_old_are_not_lent) {
  rmw_qos_profile_t qos = all();
  qos.lifespan = {1, 0};
  Ros ros("lifespan");
  Lender publisher(ros, support, "/loans_lifespan", qos);
  Taker subscription(ros, support, "/loans_lifespan", qos);
  say(publisher, 1);
  std::this_thread::sleep_for(1300ms);
  EXPECT_EQ(subscription.try_take_lent(), nullptr);
}

constexpr std::size_t kDeep = 50000;  // nothing is lost while a reader is slow

/// Numbers from 0, each third as an ordinary message, once `readers` are there, until its input ends.
int say(const std::string& topic, std::size_t readers) {
  Ros ros("say");
  Lender publisher(ros, support_of("std_msgs/msg/Int64", "cpp"), topic, with_depth(kDeep));
  publisher.wait_for(readers);
  std::atomic<bool> ended{false};
  std::thread input([&] {
    for (std::string line; std::getline(std::cin, line);) {
    }
    ended = true;
  });
  std::int64_t number = 0;
  for (; !ended; ++number, std::this_thread::sleep_for(1ms)) {
    if (number % 3 == 2) {
      publisher.publish(&number);
    } else {
      void* lent = publisher.borrow();
      *static_cast<std::int64_t*>(lent) = number;
      publisher.publish_lent(lent);
    }
  }
  input.join();
  std::printf("{\"said\": %" PRId64 "}\n", number);
  return 0;
}

/// Takes numbers as loans until `messages` came that lie in Baton's memory. `hold`: keeps four of them until its input ends, and looks at them
/// then.
int hear(const std::string& topic, std::int64_t messages, bool hold) {
  Ros ros("hear");
  Taker subscription(ros, support_of("std_msgs/msg/Int64", "cpp"), topic, with_depth(kDeep));
  std::int64_t last = -1, counted = 0, wrong = 0, unchanged = 0;
  std::vector<std::pair<void*, std::int64_t>> kept;
  while (counted < messages) {
    void* taken = subscription.take_lent();
    const std::int64_t number = *static_cast<std::int64_t*>(taken);
    wrong += last >= 0 && number != last + 1;
    last = number;
    counted += mapping_of(taken) == "r--s";
    if (hold && counted > messages - 4) {
      kept.emplace_back(taken, number);
    } else {
      subscription.give_back(taken);
    }
  }
  if (hold) {
    std::printf("holding\n");
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
    }
    for (const auto& [message, number] : kept) {
      unchanged += *static_cast<std::int64_t*>(message) == number;
      subscription.give_back(message);
    }
  }
  std::printf("{\"wrong\": %" PRId64 ", \"kept\": %zu, \"unchanged\": %" PRId64 "}\n", wrong, kept.size(), unchanged);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "say" && argc == 4) return say(argv[2], std::stoul(argv[3]));
  if ((role == "hear" || role == "hold") && argc == 4) return hear(argv[2], std::stoll(argv[3]), role == "hold");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
