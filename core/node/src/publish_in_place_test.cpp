// SPDX-License-Identifier: Apache-2.0
// Objects that are published by reference, without a copy: what readers see, what the program keeps, and when Baton copies.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/baton.hpp"
#include "baton/memory/arena.hpp"
#include "baton/memory/own_copy.hpp"
#include "baton/memory/pool.hpp"
#include "baton/msg/sensor_msgs/image.hpp"
#include "baton/node/reference_habit.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using baton::detail::ReferenceHabit;
using baton::msg::sensor_msgs::Image;

namespace {

constexpr std::size_t kBytes = std::size_t{3} << 20;  // the sanitizers' windows have slots of 4 MiB

bool all(const Image& image, std::uint8_t value) {
  return image.data.size() == kBytes &&
         std::all_of(image.data.begin(), image.data.end(), [=](std::uint8_t byte) { return byte == value; });
}

class PublishInPlaceTest : public baton::test::DomainTest {
 protected:
  void SetUp() override {
    baton::test::DomainTest::SetUp();
    node_.emplace("n");
    publisher_ = node_->advertise<Image>("image", 8);
    subscription_ = node_->subscribe<Image>("image", baton::QoS(8).hold(8));
    baton::test::await_matched(*node_, subscription_);
    Image probe;
    fill(probe, 0);
    publisher_.publish(probe);
    if (copies() != 0) GTEST_SKIP() << "this system cannot set shared pages aside";
    static_cast<void>(take());
  }
  void fill(Image& image, std::uint8_t value) {
    image.encoding = "mono8";
    image.data.resize(kBytes);
    ASSERT_TRUE(publisher_.allocate(image));
    std::fill(image.data.begin(), image.data.end(), value);
  }
  baton::Sample<Image> take() { return take_from(subscription_); }
  static baton::Sample<Image> take_from(baton::Subscription<Image>& subscription) {
    baton::WaitSet waits;
    waits.add(subscription);
    for (;;) {
      if (baton::Sample<Image> sample = subscription.take()) return sample;
      if (!waits.wait(60s)) throw std::runtime_error("no message came");
    }
  }
  std::uint64_t copies() const { return publisher_.counters().copied_messages; }

  std::optional<baton::Node> node_;
  baton::Publisher<Image> publisher_;
  baton::Subscription<Image> subscription_;
};

TEST_F(PublishInPlaceTest, AProgramMayReadAndWriteWhatItPublishedAndReadersSeeNoLaterWrite) {
  Image image;
  fill(image, 3);
  std::uint8_t* const taken_before = image.data.data();
  image.width = 17;
  publisher_.publish(image);
  EXPECT_EQ(copies(), 0U);
  EXPECT_TRUE(all(image, 3)) << "the program reads what it wrote";
  EXPECT_EQ(image.data.data(), taken_before);
  const auto sample = take();
  ASSERT_TRUE(all(*sample, 3));
  std::fill_n(taken_before, kBytes / 2, std::uint8_t{9});  // by an address from before the publication
  image.data.back() = 8;
  image.width = 18;
  image.encoding = "changed";
  EXPECT_TRUE(all(*sample, 3));
  EXPECT_EQ(sample->width, 17U);
  EXPECT_EQ(sample->encoding, "mono8");
  EXPECT_EQ(image.data[5], 9);
  EXPECT_EQ(image.data[kBytes / 2], 3);
  EXPECT_EQ(image.data.back(), 8);
}

TEST_F(PublishInPlaceTest, AReaderThatComesLaterSeesTheMessageAsItWasPublished) {
  auto latched = node_->advertise<Image>("latched", baton::QoS(1).transient_local());
  Image image;
  image.data.resize(kBytes);
  ASSERT_TRUE(latched.allocate(image));
  std::fill(image.data.begin(), image.data.end(), std::uint8_t{5});
  latched.publish(image);
  std::fill(image.data.begin(), image.data.end(), std::uint8_t{6});
  auto late = node_->subscribe<Image>("latched", baton::QoS(1).transient_local());
  EXPECT_TRUE(all(*take_from(late), 5));
  EXPECT_EQ(latched.counters().copied_messages, 0U);
}

TEST_F(PublishInPlaceTest, AnObjectThatIsPublishedAgainIsCopiedAndTheOnesAfterItAreHandedOverWhenOneWasLeftAlone) {
  {
    Image image;
    fill(image, 1);
    publisher_.publish(image);
    for (std::uint8_t value = 2; value < 5; ++value) {
      std::fill(image.data.begin(), image.data.end(), value);
      publisher_.publish(image);
      EXPECT_EQ(copies(), value - 1U);
    }
    for (std::uint8_t value = 1; value < 5; ++value) EXPECT_TRUE(all(*take(), value)) << int{value};
  }
  const auto publish_one = [&](std::uint8_t value) {
    const std::uint64_t before = copies();
    Image image;
    fill(image, value);
    publisher_.publish(image);
    EXPECT_TRUE(all(*take(), value));
    return copies() - before;
  };
  std::uint64_t copied = 0;
  while (publish_one(7) == 1) ASSERT_LT(++copied, 100U);
  EXPECT_GT(copied, 0U) << "the program used its last object again";
  EXPECT_EQ(publish_one(8), 0U);
}

TEST_F(PublishInPlaceTest, AnObjectThatIsAllocatedAgainIsNeverCopied) {
  Image image;
  for (std::uint8_t value = 1; value < 20; ++value) {
    fill(image, value);
    publisher_.publish(image);
    EXPECT_TRUE(all(*take(), value));
  }
  EXPECT_EQ(copies(), 0U);
}

TEST_F(PublishInPlaceTest, TheMemoryComesBackWhenTheObjectHasEndedAndNoReaderHasIt) {
  const auto published = [&] { return publisher_.memory_account().published_slots; };
  auto sample = [&] {
    Image image;
    fill(image, 4);
    publisher_.publish(image);
    return take();
  }();
  EXPECT_EQ(publisher_.memory_account().loaned_slots, 0U);
  EXPECT_TRUE(all(*sample, 4)) << "the reader has it, the object has ended";
  sample = {};
  publisher_.loan();  // collects
  EXPECT_EQ(published(), 0U);
  Image kept;
  fill(kept, 5);
  publisher_.publish(kept);
  EXPECT_TRUE(all(*take(), 5));
  publisher_.loan();
  EXPECT_EQ(published(), 1U) << "the reader has released it, the object lives";
  kept.data.resize(2 * kBytes);  // moves to the heap
  EXPECT_EQ(published(), 0U);
  EXPECT_EQ(kept.data[kBytes - 1], 5);
}

TEST_F(PublishInPlaceTest, AnObjectOutlivesItsPublisher) {
  Image image;
  fill(image, 6);
  publisher_.publish(image);
  const auto sample = take();
  publisher_ = {};
  std::fill(image.data.begin(), image.data.end(), std::uint8_t{7});
  EXPECT_TRUE(all(*sample, 6));
  EXPECT_TRUE(all(image, 7));
}

TEST_F(PublishInPlaceTest, OtherThreadsMayReadBytesOfItsArraysWhileTheObjectIsPublished) {
  Image image;
  fill(image, 1);
  std::atomic<bool> stop{false}, reads{false}, wrong{false};
  std::thread reader([&, data = image.data.data()] {
    do {
      for (std::size_t i = 0; i < kBytes; i += 512) {
        if (static_cast<const volatile std::uint8_t*>(data)[i] != 1) wrong = true;
      }
      reads = true;
    } while (!stop);
  });
  while (!reads) std::this_thread::yield();
  publisher_.publish(image);
  reads = false;
  while (!reads) std::this_thread::yield();
  stop = true;
  reader.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(copies(), 0U);
}

TEST_F(PublishInPlaceTest, WithoutMemoryForItsBookkeepingAnObjectIsRefusedAndItsLoanIsAsItWas) {
  const auto pool = baton::memory::Pool::create({}, {}, [](std::uint32_t, int, std::uint64_t) {}).value();
  const baton::memory::Chunk chunk = pool->loan_growing(64).value();
  for (int i = 0; i < 100; ++i) baton::memory::content_allocate(chunk.message(), kBytes / 100, 64);
  {
    const baton::test::MissingMemory missing(1);
    const auto made = baton::memory::OwnCopy::make(chunk);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, baton::Errc::out_of_memory);
  }
  EXPECT_TRUE(baton::memory::OwnCopy::make(chunk).ok());
}

TEST_F(PublishInPlaceTest, MoreObjectsThanAProcessMayKeepAreCopied) {
  auto many = node_->advertise<Image>("many", 1, std::size_t{600} << 20);
  std::vector<Image> kept(baton::memory::OwnCopy::kMostAlive + 2);
  std::size_t handed_over = 0;
  for (Image& image : kept) {
    image.data.resize(baton::memory::OwnCopy::kLeastBytes);
    if (!many.allocate(image)) GTEST_SKIP() << "this machine has no memory for so many";
    const std::uint64_t before = many.counters().copied_messages;
    many.publish(image);
    handed_over += many.counters().copied_messages == before;
  }
  EXPECT_EQ(handed_over, baton::memory::OwnCopy::kMostAlive);
}

TEST_F(PublishInPlaceTest, SmallObjectsAreCopied) {
  Image image;
  image.data.resize(1000);
  ASSERT_TRUE(publisher_.allocate(image));
  std::fill(image.data.begin(), image.data.end(), std::uint8_t{1});
  publisher_.publish(image);
  image.data[0] = 2;
  EXPECT_EQ(copies(), 1U);
  EXPECT_EQ(take()->data[0], 1);
}

/// Publishes one object of `bytes` again and again, and drops what `publish` throws. The memory behind its publisher must not grow.
void expect_constant_memory(baton::Publisher<Image>& publisher, std::size_t bytes, bool published = true) {
  Image image;
  image.encoding = std::string(3000, 'x');
  image.data.resize(bytes);
  ASSERT_TRUE(publisher.allocate(image));
  const auto publish = [&] {
    try {
      publisher.publish(image);
      return true;
    } catch (const baton::Exception& exception) {
      EXPECT_EQ(exception.code(), baton::Errc::queue_full);
      return false;
    }
  };
  for (int i = 0; i < 20; ++i) ASSERT_EQ(publish(), published);  // until every slot has been used
  const std::size_t before = publisher.memory_account().backed_bytes;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(publish(), published);
  EXPECT_EQ(publisher.memory_account().backed_bytes, before);
  EXPECT_EQ(image.encoding.size(), 3000U);
  EXPECT_EQ(image.data.size(), bytes);
}

TEST_F(PublishInPlaceTest, ASmallObjectThatIsPublishedAgainAndAgainTakesNoMoreMemory) {
  auto publisher = node_->advertise<Image>("again", 1);
  expect_constant_memory(publisher, 10000);
}

TEST_F(PublishInPlaceTest, AnObjectThatIsPublishedAgainAndAgainUnderLockedMemoryTakesNoMoreMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's memory would be locked, too";
#endif
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  if (::geteuid() != 0 && limit.rlim_cur < std::size_t{256} << 20) GTEST_SKIP() << "this user may not lock so much";
  auto publisher = node_->advertise<Image>("again", 1);
  if (::mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "mlockall is refused";
  expect_constant_memory(publisher, baton::memory::OwnCopy::kLeastBytes);
  ::munlockall();
}

TEST_F(PublishInPlaceTest, AnObjectThatFindsAFullQueueAgainAndAgainTakesNoMoreMemory) {
  const baton::QoS keeps_all = baton::QoS(1).keep_all(4);
  auto publisher = node_->advertise<Image>("full", keeps_all);
  auto subscription = node_->subscribe<Image>("full", keeps_all);
  baton::test::await_matched(*node_, subscription);
  while (publisher.try_publish_copy(Image())) {
  }
  expect_constant_memory(publisher, baton::memory::OwnCopy::kLeastBytes, false);
  EXPECT_TRUE(take_from(subscription)->encoding.empty());
}

TEST(ReferenceHabit, CopiesMoreObjectsAfterEachOneThatWasUsedAgain) {
  ReferenceHabit habit;
  EXPECT_TRUE(habit.hands_over()) << "for a program that asked for shared memory";
  const auto copied = [&] {
    unsigned count = 0;
    for (; !habit.hands_over(); ++count) habit.copied_once();
    return count;
  };
  habit.copy_first();
  EXPECT_EQ(copied(), 1U);
  habit.ended(1000, 2);
  EXPECT_TRUE(habit.hands_over()) << "two pages are those of the message's fields";
  for (unsigned expected = 1; expected < 5000; expected *= 2) {
    habit.ended(1000, 900);
    EXPECT_EQ(copied(), std::min(expected, ReferenceHabit::kMostPatience));
  }
  for (int i = 0; i < 20; ++i) habit.ended(1000, 0);
  habit.used_again();
  EXPECT_EQ(copied(), 1U) << "objects that were left alone are trusted again";
}

}  // namespace
