// SPDX-License-Identifier: Apache-2.0
#include "status_callback.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/bind/bind.hpp>
#include <boost/make_shared.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "baton/ros1/ros1.hpp"

namespace baton::ros1::detail {
namespace {

struct Number {
  using ConstPtr = std::shared_ptr<const Number>;
  int value = 0;
};
struct Counts {
  void shared(const Number::ConstPtr& number) { sum += number->value; }
  void by_value(Number::ConstPtr number) const { sum += number->value; }
  void boosted(const boost::shared_ptr<const Number>& number, int factor) { sum += factor * number->value; }
  void plain(const Number& number) { sum += number.value; }
  mutable int sum = 0;
};
int g_sum = 0;
void add(const std::string& name, const Number::ConstPtr& number) { g_sum += name == "x" ? number->value : 0; }

TEST(CallWith, WhatBoostBindMakesIsCalledWithWhateverTheBoundFunctionTakes) {
  using boost::placeholders::_1;
  const Number::ConstPtr number = std::make_shared<const Number>(Number{7});
  Counts counts;
  const auto call = [&](auto callback) { call_with<Number>(callback, number); };
  call(boost::bind(&Counts::shared, &counts, _1));
  call(boost::bind(&Counts::by_value, &counts, _1));
  call(boost::bind(&Counts::boosted, &counts, _1, 10));
  call(boost::bind(&Counts::plain, &counts, _1));
  EXPECT_EQ(counts.sum, 13 * 7);
  call(boost::bind(add, std::string("x"), _1));
  call(boost::bind<void>([](const Number& each) { g_sum += each.value; }, _1));
  EXPECT_EQ(g_sum, 2 * 7);
  EXPECT_EQ(number.use_count(), 1) << "nothing of it is kept";
}

class NoQueue final : public ros::CallbackQueueInterface {
 public:
  void addCallback(const ros::CallbackInterfacePtr&, std::uint64_t) override {}
  void removeByID(std::uint64_t) override {
  }  // nor does roscpp's wait for other threads if a callback of this id calls it
};

TEST(StatusCallbackTest, AnEndWaitsForACallInAnotherThread) {
  NoQueue queue;
  std::atomic<bool> began{false}, has_ended{false}, changed{false};
  const auto callback = boost::make_shared<StatusCallback>(
      queue, [] { return 1U; },
      [&] {
        began = true;
        // Long enough for an end() that does not wait; one that waits makes this loop end by its count.
        for (int i = 0; i < 200 && !has_ended; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        changed = true;
      });
  std::thread caller([&] { EXPECT_EQ(callback->call(), ros::CallbackInterface::Success); });
  while (!began) std::this_thread::yield();
  callback->end();
  has_ended = true;
  EXPECT_TRUE(changed);
  caller.join();
}

TEST(StatusCallbackTest, ACallThatWaitedForTheCallbackThatEndedItLooksAtNothing) {
  NoQueue queue;
  std::atomic<std::uint32_t> looked{0};
  std::atomic<bool> second_came{false};
  boost::shared_ptr<StatusCallback> callback;
  int changes = 0;
  callback = boost::make_shared<StatusCallback>(
      queue, [&] { return ++looked; },
      [&] {
        ++changes;
        while (!second_came) std::this_thread::yield();
        callback->end();  // a program may now free what the two functions use
      });
  std::thread second([&] {
    while (looked == 0) std::this_thread::yield();
    second_came = true;
    EXPECT_EQ(callback->call(), ros::CallbackInterface::Invalid);
  });
  EXPECT_EQ(callback->call(), ros::CallbackInterface::Success);
  second.join();
  EXPECT_EQ(looked, 1U);
  EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace baton::ros1::detail
