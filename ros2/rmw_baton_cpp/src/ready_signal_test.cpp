// SPDX-License-Identifier: Apache-2.0
#include "ready_signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "callback_thread.hpp"

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

class ReadySignalTest : public testing::Test {
 protected:
  ReadySignalTest() {
    signal_.set_callback_thread(callback_thread_);
    other_.set_callback_thread(callback_thread_);
  }

  const std::shared_ptr<CallbackThread> callback_thread_ = std::make_shared<CallbackThread>();
  Callback callback_, second_;
  ReadySignal signal_, other_;
};

TEST_F(ReadySignalTest, on_ready_does_not_wait_for_a_callback_that_wants_the_callers_lock) {
  std::mutex of_underlying;
  std::atomic<bool> entered{false};
  std::atomic<bool> signalled{false};
  callback_.act = [&] {
    entered = true;
    EXPECT_TRUE(comes_true([&] { return signalled.load(); }));
    const std::lock_guard<std::mutex> take(of_underlying);
  };
  signal_.set_callback(Callback::call, &callback_, kAll);
  ReadySignal::on_ready(&signal_, 1);
  ASSERT_TRUE(comes_true([&] { return entered.load(); }));
  {
    const std::lock_guard<std::mutex> lock(of_underlying);
    ReadySignal::on_ready(&signal_, 2);
    ReadySignal::on_ready(&other_, 1);
  }
  signalled = true;
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 3; }));
}

TEST_F(ReadySignalTest, a_callback_runs_without_a_lock_of_the_caller_of_on_ready) {
  std::mutex of_underlying;
  callback_.act = [&] { const std::lock_guard<std::mutex> take(of_underlying); };
  signal_.set_callback(Callback::call, &callback_, kAll);
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard<std::mutex> lock(of_underlying);
    ReadySignal::on_ready(&signal_, 1);
  }
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1000; }));
}

TEST_F(ReadySignalTest, a_callback_is_notified_of_earlier_data_up_to_its_limit) {
  ReadySignal::on_ready(&signal_, 7);
  ReadySignal::on_ready(&other_, 7);
  signal_.set_callback(Callback::call, &callback_, 5);
  other_.set_callback(Callback::call, &second_, kAll);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 5 && second_.counted == 7; }));
}

TEST_F(ReadySignalTest, the_thread_that_sets_a_callback_notifies_it_of_earlier_data) {
  const std::thread::id here = std::this_thread::get_id();
  callback_.act = [&] { EXPECT_EQ(std::this_thread::get_id(), here); };
  ReadySignal::on_ready(&signal_, 7);
  std::size_t waiting = 2;  // the thread that calls later finds nothing
  signal_.set_callback(Callback::call, &callback_, kAll,
                       [&](std::size_t count) { return count + std::exchange(waiting, 0); });
  EXPECT_EQ(callback_.counted, 9U);
  signal_.set_callback(nullptr, nullptr, kAll);
}

TEST_F(ReadySignalTest, a_fetch_that_finds_nothing_calls_no_callback_and_blocks_no_wait_set) {
  const auto wait_set = std::make_shared<transport::WaitSet>();
  std::atomic<std::size_t> fetched{0};
  signal_.set_wait_set(wait_set);
  signal_.set_callback(Callback::call, &callback_, kAll, [&](std::size_t count) {
    fetched += count;
    return count == 2 ? std::size_t{1} : std::size_t{0};
  });
  ReadySignal::on_ready(&signal_, 3);
  EXPECT_TRUE(comes_true([&] { return fetched == 3 && signal_.notified(); }));
  EXPECT_EQ(callback_.counted, 0U);
  ReadySignal::on_ready(&signal_, 2);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1 && signal_.notified(); }));
  signal_.set_callback(nullptr, nullptr, kAll);
}

TEST_F(ReadySignalTest, a_wait_set_wakes_after_the_callback_has_returned) {
  const auto wait_set = std::make_shared<transport::WaitSet>();
  std::atomic<bool> entered{false}, go_on{false};
  callback_.act = [&] {
    entered = true;
    EXPECT_TRUE(comes_true([&] { return go_on.load(); }));
  };
  signal_.set_wait_set(wait_set);
  signal_.set_callback(Callback::call, &callback_, kAll);
  EXPECT_TRUE(signal_.notified());
  ReadySignal::on_ready(&signal_, 1);
  EXPECT_FALSE(signal_.count() != 0 && signal_.notified());
  ASSERT_TRUE(comes_true([&] { return entered.load(); }));
  EXPECT_FALSE(signal_.count() != 0 && signal_.notified());
  go_on = true;
  for (Result<bool> woken = false; !signal_.notified();) {
    woken = wait_set->wait(std::chrono::minutes(1));
    ASSERT_TRUE(woken && *woken);
  }
  EXPECT_EQ(callback_.counted, 1U);
  EXPECT_EQ(signal_.count(), 1U);
}

TEST_F(ReadySignalTest, data_of_a_removed_callback_wakes_the_wait_set) {
  signal_.set_callback(Callback::call, &callback_, kAll);
  signal_.begin_notifying();
  signal_.set_callback(nullptr, nullptr, kAll);
  EXPECT_TRUE(signal_.notified());
  ReadySignal::on_ready(&signal_, 1);
  EXPECT_TRUE(signal_.notified());
}

TEST_F(ReadySignalTest, a_signal_may_end_in_its_own_callback) {
  for (const bool cleared : {false, true}) {
    auto signal = std::make_unique<ReadySignal>();
    Callback last;
    signal->set_callback_thread(callback_thread_);
    last.act = [&] {
      if (cleared) signal->set_callback(nullptr, nullptr, kAll);
      signal.reset();
    };
    signal->set_callback(Callback::call, &last, kAll);
    ReadySignal::on_ready(signal.get(), 1);
    EXPECT_TRUE(comes_true([&] { return last.counted == 1 && !last.running; }));
  }
}

TEST_F(ReadySignalTest, a_former_callback_does_not_run_and_nothing_is_lost_while_callbacks_change) {
  constexpr std::size_t kSignals = 20000;
  std::atomic<bool> done{false};
  std::thread signals([&] {
    for (std::size_t i = 0; i < kSignals; ++i) ReadySignal::on_ready(&signal_, 1);
    done = true;
  });
  std::size_t notified = 0;
  for (std::size_t i = 0; !done || i < 100; ++i) {
    auto callback = std::make_unique<Callback>();
    signal_.set_callback(Callback::call, callback.get(), kAll);
    if (i % 2 == 0) std::this_thread::yield();
    if (i % 3 == 0) signal_.set_callback(nullptr, nullptr, kAll);
    // Replaced by another one, which takes the rest.
    signal_.set_callback(Callback::call, &callback_, kAll);
    EXPECT_FALSE(callback->running);
    notified += callback->counted;
  }
  signals.join();
  EXPECT_TRUE(comes_true([&] { return notified + callback_.counted == kSignals; }))
      << notified << " " << callback_.counted;
}

TEST_F(ReadySignalTest, a_callback_may_change_its_own_and_other_callbacks) {
  callback_.act = [&] {
    signal_.set_callback(nullptr, nullptr, kAll);
    other_.set_callback(Callback::call, &second_, kAll);
    ReadySignal::on_ready(&other_, 1);
  };
  bool first = true;
  second_.act = [&] {
    if (!std::exchange(first, false)) return;
    signal_.set_callback(Callback::call, &second_, kAll);
    ReadySignal::on_ready(&signal_, 1);
  };
  signal_.set_callback(Callback::call, &callback_, kAll);
  ReadySignal::on_ready(&signal_, 1);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 1 && second_.counted == 2; }));
}

TEST_F(ReadySignalTest, fetched_data_is_notified_of_until_the_fetch_is_forgotten) {
  std::atomic<bool> gone{false};
  std::atomic<std::size_t> waiting{0};
  signal_.set_callback(Callback::call, &callback_, kAll, [&](std::size_t count) {
    EXPECT_FALSE(gone);
    return count + waiting.exchange(0);
  });
  waiting = 4;
  callback_thread_->wake();
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 4; }));
  signal_.forget_fetch();
  gone = true;
  ReadySignal::on_ready(&signal_, 2);
  EXPECT_TRUE(comes_true([&] { return callback_.counted == 6; }));
}

TEST_F(ReadySignalTest, a_signal_with_a_callback_may_end_while_others_are_called) {
  std::atomic<bool> done{false};
  other_.set_callback(Callback::call, &second_, kAll);
  std::thread signals([&] {
    while (!done) ReadySignal::on_ready(&other_, 1);
  });
  for (int i = 0; i < 1000; ++i) {
    Callback callback;
    ReadySignal signal;
    signal.set_callback_thread(callback_thread_);
    ReadySignal::on_ready(&signal, 1);
    signal.set_callback(Callback::call, &callback, kAll);
  }
  done = true;
  signals.join();
}

}  // namespace
}  // namespace baton::rmw
