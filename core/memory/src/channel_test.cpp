// SPDX-License-Identifier: Apache-2.0
// Queue and release table together, on real threads (also under TSan) and against a reader that writes garbage.
#include "baton/memory/channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace baton::memory {
namespace {

using P = StdPlatform;

struct Link {
  Link(std::uint32_t depth, std::uint32_t held)
      : ring(RingLayout<P>::at(ring_memory, ring_capacity(depth))),
        segment(ConnectionLayout<P>::at(segment_memory, ConnectionLayout<P>::entries_for(depth, held))),
        writer(ring, segment, depth),
        reader(ring, segment) {}
  alignas(kCacheLineBytes) std::byte ring_memory[RingLayout<P>::bytes(64)] = {};
  alignas(kCacheLineBytes) std::byte segment_memory[ConnectionLayout<P>::bytes(128)] = {};
  RingLayout<P> ring;
  ConnectionLayout<P> segment;
  ChannelWriter<P> writer;
  ChannelReader<P> reader;
};

TEST(Channel, RefusesWhenTheReaderHoldsMoreThanItMay) {
  Link link(2, 1);
  int released = 0;
  const auto on_released = [&](std::uint64_t) { ++released; };
  std::vector<QueuedMessage> held;
  std::uint64_t sequence = 0;
  for (int i = 0; i < 3; ++i) {  // takes each at once and keeps it: one more than held + what the queue leaves free
    ASSERT_EQ(link.writer.push(100 + sequence, 0, sequence + 1, on_released), PushStatus::kPushed);
    ++sequence;
    QueuedMessage message{};
    ASSERT_EQ(link.reader.queue().take(&message), QueueStatus::kOk);
    held.push_back(message);
  }
  EXPECT_EQ(link.writer.push(200, 0, 4, on_released), PushStatus::kRefused);
  link.reader.releases().release(held[1].entry);
  EXPECT_EQ(link.writer.push(201, 0, 5, on_released), PushStatus::kPushed);
  EXPECT_EQ(released, 1);
  QueuedMessage message{};
  ASSERT_EQ(link.reader.queue().take(&message), QueueStatus::kOk);
  EXPECT_EQ(message.handle, 201U);
  link.writer.end(on_released);
  EXPECT_EQ(released, 4);
}

TEST(Channel, TheWriterSeesWhatIsHeldAndWhichMessageWaitsLongest) {
  Link link(4, 2);
  const auto ignore = [](std::uint64_t) {};
  std::uint64_t oldest = 0;
  EXPECT_FALSE(link.writer.oldest_unread(&oldest));
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(link.writer.push(100 + i, 0, i, ignore), PushStatus::kPushed);
  ASSERT_TRUE(link.writer.oldest_unread(&oldest));
  EXPECT_EQ(oldest, 101U);
  QueuedMessage first{}, second{};
  ASSERT_EQ(link.reader.queue().take(&first), QueueStatus::kOk);
  ASSERT_EQ(link.reader.queue().take(&second), QueueStatus::kOk);
  ASSERT_TRUE(link.writer.collect(ignore));
  EXPECT_EQ(link.writer.held(), 2U);
  link.reader.releases().release(first.entry);
  ASSERT_TRUE(link.writer.collect(ignore));
  EXPECT_EQ(link.writer.held(), 1U);
  ASSERT_TRUE(link.writer.oldest_unread(&oldest));
  EXPECT_EQ(oldest, 103U);
}

TEST(Channel, DepthPlusHeldEntriesAlwaysSuffice) {
  for (std::uint32_t depth = 1; depth <= 4; ++depth) {
    for (std::uint32_t held = 1; held <= 3; ++held) {
      Link link(depth, held);
      std::mt19937 random(depth * 7 + held);
      std::vector<QueuedMessage> mine;
      const auto on_released = [](std::uint64_t) {};
      for (std::uint64_t sequence = 1; sequence < 2000; ++sequence) {
        ASSERT_EQ(link.writer.push(sequence, 0, sequence, on_released), PushStatus::kPushed);
        QueuedMessage message{};
        if (mine.size() < held && random() % 2 != 0 && link.reader.queue().take(&message) == QueueStatus::kOk) {
          mine.push_back(message);
        }
        if (!mine.empty() && random() % 3 == 0) {
          link.reader.releases().release(mine.back().entry);
          mine.pop_back();
        }
      }
    }
  }
}

TEST(Channel, AfterItsEndAMessageIsNeitherEvictedNorReleasedOnceMore) {
  // The reader takes more than it may: the publisher ends the channel while it looks for memory, and goes on looking.
  Link link(2, 2);
  std::vector<std::uint64_t> released;
  const auto on_released = [&](std::uint64_t handle) { released.push_back(handle); };
  for (std::uint64_t i = 1; i <= 2; ++i) ASSERT_EQ(link.writer.push(i, 0, i, on_released), PushStatus::kPushed);
  link.segment.cursor->store(2);
  for (std::uint64_t i = 3; i <= 4; ++i) ASSERT_EQ(link.writer.push(i, 0, i, on_released), PushStatus::kPushed);
  ASSERT_TRUE(link.writer.collect(on_released));
  ASSERT_EQ(link.writer.held(), 2U);
  link.writer.end(on_released);
  std::sort(released.begin(), released.end());
  EXPECT_EQ(released, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(link.writer.corrupted());
  EXPECT_FALSE(link.writer.evict_oldest_if(3, on_released));
  EXPECT_FALSE(link.writer.end_unread(on_released));
  EXPECT_FALSE(link.writer.collect(on_released));
  EXPECT_EQ(link.writer.push(5, 0, 5, on_released), PushStatus::kCorrupted);
  EXPECT_TRUE(link.writer.full());
  link.writer.end(on_released);
  EXPECT_EQ(released.size(), 4U) << "each once";
  EXPECT_EQ(link.writer.outstanding(), 0U);
}

TEST(Channel, AnOrderlyEndKeepsWhatTheReaderHolds) {
  Link link(4, 2);
  std::vector<std::uint64_t> released;
  const auto on_released = [&](std::uint64_t handle) { released.push_back(handle); };
  for (std::uint64_t i = 1; i <= 3; ++i) link.writer.push(i, 0, i, on_released);
  QueuedMessage message{};
  link.reader.queue().take(&message);
  EXPECT_TRUE(link.writer.end_unread(on_released));
  EXPECT_EQ(released, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(link.writer.outstanding(), 1U);
  link.reader.releases().release(message.entry);
  EXPECT_TRUE(link.writer.collect(on_released));
  EXPECT_EQ(released.back(), 1U);
  EXPECT_EQ(link.writer.outstanding(), 0U);
}

TEST(Channel, GarbageInEverythingTheReaderMayWriteReleasesNothingTwice) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const auto depth = static_cast<std::uint32_t>(1 + random() % 4),
               held = static_cast<std::uint32_t>(1 + random() % 3);
    Link link(depth, held);
    std::vector<int> references;
    const auto on_released = [&](std::uint64_t handle) {
      ASSERT_LT(handle, references.size());
      --references[handle];
      ASSERT_EQ(references[handle], 0);
    };
    const std::size_t words = sizeof(link.segment_memory) / 8;
    for (int step = 0; step < 60; ++step) {
      switch (random() % 6) {
        case 0: {  // garbage, often near the truth
          auto* word = reinterpret_cast<std::atomic<std::uint64_t>*>(link.segment_memory) +
                       (random() % 2 ? 0 : random() % words);
          word->store(random() % 3 == 0 ? random() : word->load() + random() % 3 - 1);
          break;
        }
        case 1: {
          QueuedMessage message{};
          if (link.reader.queue().take(&message) == QueueStatus::kOk && link.reader.releases().valid(message.entry)) {
            link.reader.releases().release(message.entry + (random() % 4 == 0 ? 1U << kEntryBits : 0));
          }
          break;
        }
        case 2:
          link.writer.collect(on_released);
          break;
        case 3:
          link.writer.evict_oldest_if(random() % (references.size() + 1), on_released);
          break;
        default: {
          references.push_back(1);
          const PushStatus status = link.writer.push(references.size() - 1, 0, references.size(), on_released);
          if (status != PushStatus::kPushed) references.back() = 0;
        }
      }
    }
    link.writer.end(on_released);
    for (int count : references) ASSERT_EQ(count, 0) << "seed " << seed;
  }
}

/// A publisher thread reuses its chunks as they come back; reader threads check content while they hold it, and hand some
/// samples to yet another thread that gives them back. Under TSan a missing ordering shows as a race on the content.
TEST(Channel, SurvivesManyThreads) {
  constexpr std::uint32_t kDepth = 4, kHeld = 6;
  constexpr std::uint64_t kMessages = 30000;
  constexpr int kReaders = 3;
  Link link(kDepth, kHeld);
  struct Chunk {
    std::uint64_t content[4] = {};
    int references = 0;
  };
  std::vector<Chunk> chunks(kDepth + kHeld + 1);
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> taken{0}, holding{0}, bad{0};
  std::uint64_t evicted_or_released = 0;

  std::thread publisher([&] {
    const auto on_released = [&](std::uint64_t handle) {
      if (--chunks[handle].references != 0) ++bad;
      ++evicted_or_released;
    };
    for (std::uint64_t sequence = 1; sequence <= kMessages; ++sequence) {
      if (!link.writer.collect(on_released)) ++bad;
      std::size_t free = 0;
      while (free < chunks.size() && chunks[free].references != 0) ++free;
      if (free == chunks.size()) {
        ++bad;
        break;
      }
      for (std::uint64_t& word : chunks[free].content) word = sequence;
      chunks[free].references = 1;
      if (link.writer.push(free, static_cast<std::int64_t>(sequence), sequence, on_released) != PushStatus::kPushed)
        ++bad;
      if (sequence % 64 == 0) std::this_thread::yield();
    }
    done = true;
  });

  std::atomic<std::uint64_t> mailbox{0};  // a token on its way to the releasing thread
  std::vector<std::thread> readers;
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&, r] {
      std::uint64_t last = 0;
      for (;;) {
        const bool last_look = done;
        if (holding.fetch_add(1) >= kHeld) {  // the held limit is the reader's to keep
          holding.fetch_sub(1);
          std::this_thread::yield();
          continue;
        }
        QueuedMessage message{};
        const QueueStatus status = link.reader.queue().take(&message);
        if (status == QueueStatus::kCorrupted) ++bad;
        if (status != QueueStatus::kOk) {
          holding.fetch_sub(1);
          if (last_look && status == QueueStatus::kEmpty) break;
          std::this_thread::yield();
          continue;
        }
        ++taken;
        if (message.sequence <= last) ++bad;
        last = message.sequence;
        for (std::uint64_t word : chunks[message.handle].content) {
          if (word != message.sequence) ++bad;
        }
        std::uint64_t nobody = 0;
        if (r == 0 && mailbox.compare_exchange_strong(nobody, message.entry)) continue;  // another thread gives it back
        link.reader.releases().release(message.entry);
        holding.fetch_sub(1);
      }
    });
  }
  std::atomic<bool> stop{false};
  std::thread releaser([&] {
    for (;;) {
      const bool last_look = stop;
      const std::uint64_t token = mailbox.exchange(0);
      if (token != 0) {
        link.reader.releases().release(token);
        holding.fetch_sub(1);
      } else if (last_look) {
        break;
      }
      std::this_thread::yield();
    }
  });
  publisher.join();
  for (std::thread& reader : readers) reader.join();
  stop = true;
  releaser.join();
  const auto on_released = [&](std::uint64_t handle) {
    if (--chunks[handle].references != 0) ++bad;
    ++evicted_or_released;
  };
  EXPECT_TRUE(link.writer.collect(on_released));
  EXPECT_EQ(link.writer.outstanding(), 0U);
  EXPECT_EQ(evicted_or_released, kMessages) << "each pushed handle comes back exactly once";
  EXPECT_EQ(bad.load(), 0U);
  EXPECT_GT(taken.load(), 0U);
}

}  // namespace
}  // namespace baton::memory
