// SPDX-License-Identifier: Apache-2.0
#include "inlet.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "listener.hpp"

namespace baton::rmw {
namespace {

constexpr std::size_t kAll = SIZE_MAX;

/// False after a minute, in which no machine is too slow.
bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// An application's callback: `act` runs in it.
struct Callback {
  std::function<void()> act;
  std::atomic<std::size_t> counted{0};
  std::atomic<bool> running{false};

  static void call(const void* user_data, std::size_t count) {
    auto* self = static_cast<Callback*>(const_cast<void*>(user_data));
    EXPECT_FALSE(self->running.exchange(true)) << "two calls at one time";
    if (self->act) self->act();
    self->counted += count;
    self->running = false;
  }
};

class InletTest : public testing::Test {
 protected:
  InletTest() {
    inlet_.be_called_by(listener_);
    other_.be_called_by(listener_);
  }

  const std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
  Callback callback_, second_;
  Inlet inlet_, other_;
};

TEST_F(InletTest, what_rings_does_not_wait_for_a_callback_that_wants_its_locks) {
  std::mutex of_below;
  std::atomic<bool> entered{false};
  std::atomic<bool> rang{false};
  callback_.act = [&] {
    entered = true;
    EXPECT_TRUE(comes_true([&] { return rang.load(); }));
    const std::lock_guard<std::mutex> take(of_below);
  };
  inlet_.set_callback(Callback::call, &callback_, kAll);
  Inlet::rung(&inlet_, 1);
  ASSERT_TRUE(comes_true([&] { return entered.load(); }));
  {
    const std::lock_guard<std::mutex> below(of_below);
    Inlet::rung(&inlet_, 2);
    Inlet::rung(&other_, 1);
  }
  rang = true;
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 3; }));
}

TEST_F(InletTest, a_callback_runs_with_no_lock_of_what_rings) {
  std::mutex of_below;
  callback_.act = [&] { const std::lock_guard<std::mutex> take(of_below); };
  inlet_.set_callback(Callback::call, &callback_, kAll);
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard<std::mutex> below(of_below);
    Inlet::rung(&inlet_, 1);
  }
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1000; }));
}

TEST_F(InletTest, what_came_without_a_callback_is_told_to_the_next_one_up_to_its_limit) {
  Inlet::rung(&inlet_, 7);
  Inlet::rung(&other_, 7);
  inlet_.set_callback(Callback::call, &callback_, 5);
  other_.set_callback(Callback::call, &second_, kAll);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 5 && second_.counted == 7; }));
}

TEST_F(InletTest, what_came_before_is_told_by_the_thread_that_sets_the_callback_before_that_returns) {
  const std::thread::id here = std::this_thread::get_id();
  callback_.act = [&] { EXPECT_EQ(std::this_thread::get_id(), here); };
  Inlet::rung(&inlet_, 7);
  std::size_t waiting = 2;  // the thread that calls later finds nothing
  inlet_.set_callback(Callback::call, &callback_, kAll,
                      [&](std::size_t rung) { return rung + std::exchange(waiting, 0); });
  EXPECT_EQ(callback_.counted, 9U);
  inlet_.set_callback(nullptr, nullptr, kAll);
}

TEST_F(InletTest, what_turns_out_to_be_nothing_new_is_not_told_and_keeps_no_wait_set_waiting) {
  const auto wait_set = std::make_shared<transport::WaitSet>();
  std::atomic<std::size_t> fetched{0};
  inlet_.ring_to(wait_set);
  inlet_.set_callback(Callback::call, &callback_, kAll, [&](std::size_t rung) {
    fetched += rung;
    return rung == 2 ? std::size_t{1} : std::size_t{0};
  });
  Inlet::rung(&inlet_, 3);
  EXPECT_TRUE(comes_true([&] { return fetched == 3 && inlet_.told(); }));
  EXPECT_EQ(callback_.counted, 0U);
  Inlet::rung(&inlet_, 2);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1 && inlet_.told(); }));
  inlet_.set_callback(nullptr, nullptr, kAll);
}

TEST_F(InletTest, a_wait_set_is_told_of_nothing_before_the_callback_has_returned) {
  const auto wait_set = std::make_shared<transport::WaitSet>();
  std::atomic<bool> entered{false}, go_on{false};
  callback_.act = [&] {
    entered = true;
    EXPECT_TRUE(comes_true([&] { return go_on.load(); }));
  };
  inlet_.ring_to(wait_set);
  inlet_.set_callback(Callback::call, &callback_, kAll);
  EXPECT_TRUE(inlet_.told());
  Inlet::rung(&inlet_, 1);
  EXPECT_FALSE(inlet_.rang() != 0 && inlet_.told());
  ASSERT_TRUE(comes_true([&] { return entered.load(); }));
  EXPECT_FALSE(inlet_.rang() != 0 && inlet_.told());
  go_on = true;
  for (Result<bool> woken = false; !inlet_.told();) {
    woken = wait_set->wait(std::chrono::minutes(1));
    ASSERT_TRUE(woken && *woken);
  }
  EXPECT_EQ(callback_.counted, 1U);
  EXPECT_EQ(inlet_.rang(), 1U);
}

TEST_F(InletTest, a_callback_that_is_taken_away_leaves_its_news_to_the_wait_set) {
  inlet_.set_callback(Callback::call, &callback_, kAll);
  inlet_.begin_telling();
  inlet_.set_callback(nullptr, nullptr, kAll);
  EXPECT_TRUE(inlet_.told());
  Inlet::rung(&inlet_, 1);
  EXPECT_TRUE(inlet_.told());
}

TEST_F(InletTest, an_inlet_may_end_in_its_own_callback) {
  for (const bool cleared : {false, true}) {
    auto inlet = std::make_unique<Inlet>();
    Callback last;
    inlet->be_called_by(listener_);
    last.act = [&] {
      if (cleared) inlet->set_callback(nullptr, nullptr, kAll);
      inlet.reset();
    };
    inlet->set_callback(Callback::call, &last, kAll);
    Inlet::rung(inlet.get(), 1);
    EXPECT_TRUE(comes_true([&] { return last.counted == 1 && !last.running; }));
  }
}

TEST_F(InletTest, a_former_callback_does_not_run_and_nothing_is_lost_while_callbacks_change) {
  constexpr std::size_t kRings = 20000;
  std::atomic<bool> done{false};
  std::thread rings([&] {
    for (std::size_t i = 0; i < kRings; ++i) Inlet::rung(&inlet_, 1);
    done = true;
  });
  std::size_t told = 0;
  for (std::size_t i = 0; !done || i < 100; ++i) {
    auto callback = std::make_unique<Callback>();
    inlet_.set_callback(Callback::call, callback.get(), kAll);
    if (i % 2 == 0) std::this_thread::yield();
    if (i % 3 == 0) inlet_.set_callback(nullptr, nullptr, kAll);
    // Replaced by another one, which takes the rest.
    inlet_.set_callback(Callback::call, &callback_, kAll);
    EXPECT_FALSE(callback->running);
    told += callback->counted;
  }
  rings.join();
  EXPECT_TRUE(comes_true([&] { return told + callback_.counted == kRings; })) << told << " " << callback_.counted;
}

TEST_F(InletTest, a_callback_may_change_its_own_and_other_callbacks) {
  callback_.act = [&] {
    inlet_.set_callback(nullptr, nullptr, kAll);
    other_.set_callback(Callback::call, &second_, kAll);
    Inlet::rung(&other_, 1);
  };
  bool first = true;
  second_.act = [&] {
    if (!std::exchange(first, false)) return;
    inlet_.set_callback(Callback::call, &second_, kAll);
    Inlet::rung(&inlet_, 1);
  };
  inlet_.set_callback(Callback::call, &callback_, kAll);
  Inlet::rung(&inlet_, 1);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1 && second_.counted == 2; }));
}

TEST_F(InletTest, what_is_fetched_before_a_call_is_part_of_it_until_the_inlet_is_removed) {
  std::atomic<bool> gone{false};
  std::atomic<std::size_t> waiting{4};
  inlet_.set_callback(Callback::call, &callback_, kAll);
  listener_->add(inlet_, [&](std::size_t rung) {
    EXPECT_FALSE(gone);
    return rung + waiting.exchange(0);
  });
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 4; }));
  listener_->wake();
  listener_->remove(inlet_);
  gone = true;
  listener_->wake();
  Inlet::rung(&other_, 1);
  other_.set_callback(Callback::call, &second_, kAll);
  EXPECT_TRUE(comes_true([&] { return second_.counted == 1; }));
}

TEST_F(InletTest, an_inlet_with_a_callback_may_end_while_others_are_called) {
  std::atomic<bool> done{false};
  other_.set_callback(Callback::call, &second_, kAll);
  std::thread rings([&] {
    while (!done) Inlet::rung(&other_, 1);
  });
  for (int i = 0; i < 1000; ++i) {
    Callback callback;
    Inlet inlet;
    inlet.be_called_by(listener_);
    Inlet::rung(&inlet, 1);
    inlet.set_callback(Callback::call, &callback, kAll);
  }
  done = true;
  rings.join();
}

}  // namespace
}  // namespace baton::rmw
