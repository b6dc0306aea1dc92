// SPDX-License-Identifier: Apache-2.0
// The real-time profile, kept: publisher and subscription in two processes that lock their memory, asleep between messages.
#include <gtest/gtest.h>

#include "baton/node/real_time.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/geometry_msgs/point.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/os/real_time_check.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using Image = baton::msg::sensor_msgs::Image;

namespace {

constexpr std::uint64_t kWarm = 60;
constexpr std::uint64_t kMessages = 1500;
constexpr std::size_t kMix[] = {64, 4096, 200000, 1000, 900000, 17};

// Written by one child each, read when they are dead.
struct Outcome {
  std::atomic<int> state{0};  // 1: ended well; 2: may not lock memory
  baton::RealTimeReport report;
  std::uint64_t taken = 0, lost = 0;
  char error[400] = "";
};

class RealTimeTest : public baton::test::DomainTest {
 protected:
  void SetUp() override {
    baton::test::DomainTest::SetUp();
    shared_ = static_cast<Outcome*>(
        ::mmap(nullptr, 2 * sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    publisher_ = new (shared_) Outcome;
    subscriber_ = new (shared_ + 1) Outcome;
  }
  void TearDown() override {
    ::munmap(shared_, 2 * sizeof(Outcome));
    baton::test::DomainTest::TearDown();
  }

  template <class F>
  static pid_t child(Outcome& outcome, F body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::alarm(250);
    try {
      baton::real_time::lock_memory();
    } catch (const baton::Exception&) {
      outcome.state = 2;
      ::_exit(0);
    }
    try {
      body();
      outcome.state = 1;
    } catch (const std::exception& error) {
      std::snprintf(outcome.error, sizeof outcome.error, "%s", error.what());
    }
    ::_exit(0);
  }

  /// `fill(message, i)` and `look(message)` are what the two do with a message.
  template <class T, class Fill, class Look>
  void run(const baton::PublisherOptions& options, Fill fill, Look look) {
    const pid_t subscriber = child(*subscriber_, [&] {
      baton::Node node("subscriber");
      auto subscription = node.subscribe<T>("t", baton::QoS(8).hold(2));
      baton::transport::WaitSet wait_set;
      wait_set.add(subscription.reader()).or_throw();
      baton::Sample<T> kept;  // the newest stays until the next came
      const auto take_to = [&](std::uint64_t last) {
        for (std::uint64_t sequence = 0; sequence < last;) {
          (void)wait_set.wait(1s).or_throw();
          while (baton::Sample<T> sample = subscription.take()) {
            sequence = sample.info().sequence;
            look(*sample);
            kept = std::move(sample);
            ++subscriber_->taken;
          }
        }
      };
      take_to(kWarm);
      const baton::RealTimeCheck check;
      take_to(kWarm + kMessages - 20);
      subscriber_->report = check.report();
      subscriber_->lost = subscription.statuses().lost_total;
    });
    const pid_t publisher = child(*publisher_, [&] {
      baton::Node node("publisher");
      auto pub = node.advertise<T>("t", baton::QoS(8), options);
      if (!node.wait_for([&] { return pub.matched() == 1; }, 60s)) throw std::runtime_error("no subscriber came");
      const auto send = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
          auto loan = pub.loan();
          fill(*loan, i);
          pub.publish(std::move(loan));
          const timespec period{0, 300000};
          ::clock_nanosleep(CLOCK_MONOTONIC, 0, &period, nullptr);
        }
      };
      send(0, kWarm);
      {
        const baton::RealTimeCheck check;
        send(kWarm, kWarm + kMessages);
        publisher_->report = check.report();
      }
      send(0, 40);  // so that the last of the subscriber's are surely not lost
    });
    for (const pid_t pid : {subscriber, publisher}) {
      int status = 0;
      ::waitpid(pid, &status, 0);
      EXPECT_EQ(status, 0);
    }
    if (publisher_->state == 2) GTEST_SKIP() << "this user may not lock memory (mlockall)";
    EXPECT_EQ(publisher_->state, 1) << publisher_->error;
    EXPECT_EQ(subscriber_->state, 1) << subscriber_->error;
    EXPECT_TRUE(publisher_->report.clean()) << "publisher: " << publisher_->report.text();
    EXPECT_TRUE(subscriber_->report.clean()) << "subscriber: " << subscriber_->report.text();
    EXPECT_GT(subscriber_->taken + subscriber_->lost, kMessages - 40);
  }

  Outcome *shared_ = nullptr, *publisher_ = nullptr, *subscriber_ = nullptr;
};

TEST_F(RealTimeTest, UnboundedMessagesAreExchangedWithWakeUpsOnly) {
  run<Image>(
      baton::real_time::pool(1 << 20, 12),
      [](Image& image, std::uint64_t i) {
        image.header.frame_id = "camera";
        image.data.resize(kMix[i % (sizeof kMix / sizeof kMix[0])]);
        for (std::size_t at = 0; at < image.data.size(); at += 512) image.data[at] = static_cast<std::uint8_t>(i);
      },
      [](const Image& image) {
        volatile std::uint8_t sum = 0;
        for (std::size_t at = 0; at < image.data.size(); at += 512)
          sum = static_cast<std::uint8_t>(sum + image.data[at]);
      });
}

TEST_F(RealTimeTest, MessagesThatGrowAreExchangedWithWakeUpsOnly) {
  run<Image>(
      baton::real_time::pool(4 << 20, 12), [](Image& image, std::uint64_t i) { image.data.resize(1000 + 2000 * i); },
      [](const Image&) {});
}

TEST_F(RealTimeTest, MessagesOfAFixedSizeAreExchangedWithWakeUpsOnly) {
  run<baton::msg::geometry_msgs::Point>(
      baton::PublisherOptions{},
      [](baton::msg::geometry_msgs::Point& point, std::uint64_t i) { point.x = static_cast<double>(i); },
      [](const baton::msg::geometry_msgs::Point&) {});
}

TEST_F(RealTimeTest, AnOrdinaryPoolIsFoundOut) {
  const pid_t pid = child(*publisher_, [&] {
    baton::Node node("publisher");
    auto pub = node.advertise<Image>("u");
    pub.publish(pub.loan());
    const baton::RealTimeCheck check;
    auto loan = pub.loan();
    loan->data.resize(3 << 20);  // its pages come from the system now
    publisher_->report = check.report();
  });
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (publisher_->state == 2) GTEST_SKIP() << "this user may not lock memory (mlockall)";
  EXPECT_GT(publisher_->report.system_calls, 0U);
}

TEST_F(RealTimeTest, MemoryIsLockedBeforeTheFirstNodeOrNotAtAll) {
  baton::Node node("n");
  auto pub = node.advertise<Image>("t");
  pub.publish(pub.loan());
  try {
    baton::real_time::lock_memory();
    FAIL() << "would have given every sparse segment all its memory";
  } catch (const baton::Exception& error) {
    EXPECT_EQ(error.code(), baton::Errc::already_exists);
  }
}

TEST_F(RealTimeTest, APoolBacksAsManyWholeSlotsAsItIsAskedFor) {
  for (const std::size_t bytes : {std::size_t{60} << 10, std::size_t{1} << 20, (std::size_t{1} << 20) + 65'000}) {
    baton::Node node("n");
    auto pub = node.advertise<Image>("t", baton::QoS(8), baton::real_time::pool(bytes, 40));
    const std::size_t backed = pub.memory_account().backed_bytes;
    EXPECT_GE(backed, 40 * bytes) << bytes;
    std::vector<baton::Loan<Image>> loans;
    for (int i = 0; i < 40; ++i) {
      loans.push_back(pub.loan());
      loans.back()->data.resize(bytes - 1000);
    }
    EXPECT_EQ(pub.memory_account().backed_bytes, backed) << bytes;
  }
}

TEST_F(RealTimeTest, APriorityOutOfRangeIsRefused) {
  for (const int priority : {0, 100, -1}) {
    try {
      baton::real_time::run_fifo(priority);
      FAIL() << priority;
    } catch (const baton::Exception& error) {
      EXPECT_EQ(error.code(), baton::Errc::invalid_argument);
    }
  }
}

}  // namespace
