// SPDX-License-Identifier: Apache-2.0
#include "parameter_store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>

using baton::Errc;
using baton::Parameter;
using baton::ParameterDescriptor;
using baton::ParameterType;
using baton::ParameterValue;
using baton::SetParametersResult;
using baton::detail::ParameterStore;

namespace {

class ParameterStoreTest : public ::testing::Test {
 protected:
  ParameterValue declare(const std::string& name, const ParameterValue& value, const ParameterDescriptor& d = {}) {
    return store_.declare(name, value, ParameterType::kNotSet, d);
  }
  std::string set(const std::string& name, const ParameterValue& value) {
    const SetParametersResult result = store_.set_atomically({{name, value}});
    EXPECT_EQ(result.successful, result.reason.empty());
    return result.reason;
  }
  static Errc code(const std::function<void()>& function) {
    try {
      function();
    } catch (const baton::Exception& error) {
      return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return Errc::system;
  }
  ParameterStore store_{"/camera",
                        {{"/**", "rate", 1, "f.yaml:1"},
                         {"/**", "rate", 2, "f.yaml:2"},
                         {"/**", "name", 5, "f.yaml:3"},
                         {"/**", "empty", std::vector<std::string>{}, "f.yaml:4"},
                         {"/**", "bytes", std::vector<int>{1, 255}, "f.yaml:5"},
                         {"/**", "wide", std::vector<int>{256}, "f.yaml:6"},
                         {"/**", "needed", true, "f.yaml:7"}}};
};

TEST_F(ParameterStoreTest, ADeclarationTakesTheLastOverrideOfItsName) {
  EXPECT_EQ(declare("rate", 10), ParameterValue(2));
  EXPECT_EQ(store_.get("rate"), ParameterValue(2));
  EXPECT_EQ(declare("other", "x"), ParameterValue("x"));
  EXPECT_EQ(code([&] { declare("rate", 1); }), Errc::already_exists);
  EXPECT_EQ(code([&] { declare("", 1); }), Errc::invalid_argument);
}

TEST_F(ParameterStoreTest, AnOverrideOfAnotherTypeIsRefusedWithItsPlace) {
  try {
    declare("name", "x");
    FAIL();
  } catch (const baton::Exception& error) {
    EXPECT_STREQ(error.what(),
                 "type_mismatch: f.yaml:3: parameter 'name' of node '/camera' is of type string, and 5 is of type "
                 "integer");
  }
  EXPECT_FALSE(store_.has("name"));
}

TEST_F(ParameterStoreTest, WhatYamlCannotWriteIsConverted) {
  EXPECT_EQ(declare("rate", 0.5), ParameterValue(2.0));
  EXPECT_EQ(declare("empty", std::vector<double>{1}), ParameterValue(std::vector<double>{}));
  EXPECT_EQ(declare("bytes", std::vector<std::uint8_t>{}), ParameterValue(std::vector<std::uint8_t>{1, 255}));
  EXPECT_EQ(code([&] { declare("wide", std::vector<std::uint8_t>{}); }), Errc::type_mismatch);
  EXPECT_EQ(set("rate", 3), "");
  EXPECT_EQ(store_.get("rate"), ParameterValue(3.0));
}

TEST_F(ParameterStoreTest, AParameterWithoutADefaultNeedsAnOverride) {
  EXPECT_EQ(store_.declare("needed", {}, ParameterType::kBool, {}), ParameterValue(true));
  EXPECT_EQ(code([&] { store_.declare("absent", {}, ParameterType::kBool, {}); }), Errc::invalid_argument);
}

TEST_F(ParameterStoreTest, ASetKeepsTheTypeAndNamesTheParameter) {
  declare("text", "a");
  EXPECT_EQ(set("text", "b"), "");
  EXPECT_EQ(store_.get("text"), ParameterValue("b"));
  EXPECT_EQ(set("text", 1), "parameter 'text' of node '/camera' is of type string, and 1 is of type integer");
  EXPECT_NE(set("unknown", 1).find("'unknown' of node '/camera' is not declared"), std::string::npos);
  EXPECT_NE(set("text", {}).find("cannot be unset"), std::string::npos);
  EXPECT_EQ(store_.get("text"), ParameterValue("b"));
}

TEST_F(ParameterStoreTest, DescriptorsBoundWhatIsSet) {
  ParameterDescriptor descriptor;
  descriptor.integer_range = {10, 21, 5};
  declare("whole", 10, descriptor);
  for (const int good : {10, 15, 20, 21}) EXPECT_EQ(set("whole", good), "") << good;
  for (const int bad : {9, 22, 11}) EXPECT_NE(set("whole", bad), "") << bad;
  descriptor.integer_range = {INT64_MIN, INT64_MAX, 2};
  declare("extreme", INT64_MIN, descriptor);
  EXPECT_EQ(set("extreme", INT64_MAX), "");
  EXPECT_EQ(set("extreme", 0), "");
  EXPECT_NE(set("extreme", 1), "");
  ParameterDescriptor real;
  real.floating_point_range = {0.0, 1.0, 0.1};
  declare("real", 0.3, real);
  for (const double good : {0.0, 0.7, 1.0}) EXPECT_EQ(set("real", good), "") << good;
  for (const double bad : {-0.1, 1.1, 0.25, std::numeric_limits<double>::quiet_NaN()}) EXPECT_NE(set("real", bad), "");
  EXPECT_EQ(set("real", 1), "") << "an integer is a double";
  EXPECT_EQ(code([&] { declare("out", 2.0, real); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { declare("text", "a", real); }), Errc::invalid_argument);
  real.floating_point_range = {1.0, 0.0, 0.0};
  EXPECT_EQ(code([&] { declare("empty range", 0.5, real); }), Errc::invalid_argument);
  ParameterDescriptor constant;
  constant.read_only = true;
  declare("constant", 1, constant);
  EXPECT_NE(set("constant", 2).find("read-only"), std::string::npos);
  EXPECT_EQ(code([&] { store_.undeclare("constant"); }), Errc::invalid_argument);
  ParameterDescriptor dynamic;
  dynamic.dynamic_typing = true;
  declare("dynamic", 1, dynamic);
  EXPECT_EQ(set("dynamic", "text"), "");
  EXPECT_EQ(store_.get("dynamic"), ParameterValue("text"));
}

TEST_F(ParameterStoreTest, AnAtomicSetSetsAllOrNone) {
  declare("a", 1);
  declare("b", 1);
  EXPECT_FALSE(store_.set_atomically({{"a", 2}, {"b", "text"}}).successful);
  EXPECT_EQ(store_.get("a"), ParameterValue(1));
  EXPECT_TRUE(store_.set_atomically({{"a", 2}, {"b", 3}}).successful);
  EXPECT_EQ(store_.get("b"), ParameterValue(3));
}

TEST_F(ParameterStoreTest, ACallbackMayRefuseWithAReason) {
  auto handle = store_.add_on_set([&](const std::vector<Parameter>& parameters) {
    EXPECT_EQ(store_.has(parameters.at(0).name()), parameters.at(0).as_int() != 1) << "it sees the old values";
    return parameters.at(0).as_int() < 10 ? SetParametersResult{} : SetParametersResult{false, "too large"};
  });
  declare("a", 1);
  EXPECT_EQ(set("a", 10), "too large");
  EXPECT_EQ(store_.get("a"), ParameterValue(1));
  EXPECT_EQ(set("a", 9), "");
  handle.reset();
  EXPECT_EQ(set("a", 10), "") << "the callback ended with its handle";
  auto silent = store_.add_on_set([](const auto&) { return SetParametersResult{false, ""}; });
  EXPECT_NE(set("a", 1), "");
  EXPECT_EQ(code([&] { declare("b", 1); }), Errc::invalid_argument);
  EXPECT_FALSE(store_.has("b"));
}

TEST_F(ParameterStoreTest, ACallbackAfterASetMaySetAndOneBeforeMayNot) {
  declare("a", 1);
  declare("b", 1);
  auto post = store_.add_post_set([&](const std::vector<Parameter>& parameters) {
    if (parameters.at(0).name() != "a") return;
    EXPECT_EQ(set("b", parameters.at(0).value()), "");
  });
  EXPECT_EQ(set("a", 5), "");
  EXPECT_EQ(store_.get("b"), ParameterValue(5));
  auto on_set = store_.add_on_set([&](const auto&) { return store_.set_atomically({{"b", 1}}); });
  EXPECT_EQ(code([&] { set("a", 6); }), Errc::invalid_argument);
  on_set.reset();
  EXPECT_EQ(set("a", 7), "") << "an exception of a callback leaves no lock behind";
}

TEST_F(ParameterStoreTest, EveryChangeIsAnEvent) {
  int prepared = 0;
  std::vector<ParameterStore::Event> events;
  store_.on_first_declaration([&] {
    ++prepared;
    store_.on_event([&](const ParameterStore::Event& event) { events.push_back(event); });
  });
  declare("a", 1);
  declare("b", 1);
  EXPECT_EQ(prepared, 1);
  set("a", 2);
  set("a", "refused");
  store_.undeclare("a");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].added.at(0).name(), "a");
  EXPECT_EQ(events[2].changed.at(0).as_int(), 2);
  EXPECT_EQ(events[3].deleted.at(0).as_int(), 2);
  EXPECT_EQ(code([&] { store_.undeclare("a"); }), Errc::not_found);
  EXPECT_EQ(code([&] { store_.get("a"); }), Errc::not_found);
}

TEST_F(ParameterStoreTest, NamesAreListedByPrefixAndDepth) {
  for (const char* name : {"a", "b.c", "b.d.e", "bc"}) declare(name, 1);
  using Names = std::vector<std::string>;
  EXPECT_EQ(store_.list({}, 0).names, (Names{"a", "b.c", "b.d.e", "bc"}));
  EXPECT_EQ(store_.list({}, 0).prefixes, (Names{"b", "b.d"}));
  EXPECT_EQ(store_.list({}, 1).names, (Names{"a", "bc"}));
  EXPECT_EQ(store_.list({"b"}, 0).names, (Names{"b.c", "b.d.e"}));
  EXPECT_EQ(store_.list({"b"}, 1).names, (Names{"b.c"}));
  EXPECT_EQ(store_.list({"a", "b.d"}, 0).names, (Names{"a", "b.d.e"}));
}

TEST_F(ParameterStoreTest, ThreadsSetAndReadAtTheSameTime) {
  declare("a", 0);
  declare("b", 0);
  auto handle = store_.add_on_set([&](const std::vector<Parameter>&) {
    return SetParametersResult{store_.get("a") == store_.get("b"), "the pair is torn"};
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(store_.set_atomically({{"a", i * t}, {"b", i * t}}).successful);
        store_.get("a");
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store_.get("a"), store_.get("b"));
}

TEST_F(ParameterStoreTest, ListsOfOtherProcessesCostLittleHoweverLongTheyAre) {
  // Compared one by one, these are 10^10 pairs of names: the test would run into its time limit.
  std::vector<std::string> prefixes;
  for (int i = 0; i < 1'000'000; ++i) prefixes.push_back("a" + std::to_string(i));
  for (int i = 0; i < 10'000; ++i) declare("b" + std::to_string(i) + ".c", 1);
  EXPECT_TRUE(store_.list(prefixes, 0).names.empty());
  EXPECT_EQ(store_.list({}, 0).prefixes.size(), 10'000U);
}

TEST_F(ParameterStoreTest, AForkedChildIsRefusedAndDoesNotWaitForItsParentsThreads) {
  declare("a", 0);
  std::promise<void> inside, leave;
  auto handle = store_.add_on_set([&](const std::vector<Parameter>&) {
    inside.set_value();
    leave.get_future().wait();
    return SetParametersResult{};
  });
  std::thread setter([&] { store_.set_atomically({{"a", 1}}); });  // holds a lock of the store
  inside.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    bool right = code([&] { store_.set_atomically({{"a", 2}}); }) == Errc::forked;
    right = right && code([&] { store_.get("a"); }) == Errc::forked;
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  leave.set_value();
  setter.join();
}

}  // namespace
