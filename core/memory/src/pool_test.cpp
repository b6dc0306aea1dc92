// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/sparse_memory.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct PoolTest : ::testing::Test {
  std::unique_ptr<Pool> make(PoolOptions options, Evict evict = {}) {
    auto pool = Pool::create(options, std::move(evict), [this](std::uint32_t index, int fd, std::uint64_t size) {
      announced.push_back({index, fd, size});
    });
    EXPECT_TRUE(pool.ok()) << pool.error().message;
    return std::move(*pool);
  }
  struct Announced {
    std::uint32_t index;
    int fd;
    std::uint64_t size;
  };
  std::vector<Announced> announced;
};

PoolOptions small(Policy policy = Policy::kMediumEffort) {
  PoolOptions options;
  options.max_message_bytes = kMiB;
  options.memory_limit_bytes = 4 * kMiB;
  options.slot_count = 3;
  options.policy = policy;
  return options;
}

TEST_F(PoolTest, NoSegmentExistsBeforeTheFirstLoanAndItIsAnnouncedOnce) {
  auto pool = make(small());
  EXPECT_TRUE(announced.empty());
  EXPECT_EQ(pool->account().backed_bytes, 0u);
  Chunk a = *pool->loan_sized(100, 16), b = *pool->loan_growing(16);
  ASSERT_EQ(announced.size(), 1u);
  EXPECT_EQ(handle_segment(a.handle), 0u);
  pool->abandon(a);
  pool->abandon(b);
}

TEST_F(PoolTest, AHeaderSaysWhoPublishesAndNothingOfTheMessageBefore) {
  auto pool = make(small());
  const std::uint8_t id[16] = {7}, type_hash[8] = {8};
  pool->set_publisher(id, type_hash);
  const ChunkHeader* first = nullptr;
  for (const bool plain : {true, false, true, true}) {
    const Chunk chunk = *pool->loan_growing(16);
    if (first == nullptr) first = chunk.header;
    ASSERT_EQ(chunk.header, first) << "the same memory";
    EXPECT_EQ(chunk.header->magic, kChunkMagic);
    EXPECT_EQ(chunk.header->version, kChunkVersion);
    EXPECT_EQ(chunk.header->byte_order, kNativeByteOrder);
    EXPECT_EQ(chunk.header->skeleton_bytes, 16u);
    EXPECT_EQ(chunk.header->publisher_id[0], 7);
    EXPECT_EQ(chunk.header->type_hash[0], 8);
    EXPECT_EQ(chunk.header->selection, Selection::kInPlace);
    EXPECT_EQ(chunk.header->correlation_sequence, 0u);
    EXPECT_EQ(chunk.header->attachment[23], 0);
    if (!plain) {
      chunk.header->selection = Selection::kHigh;
      chunk.header->correlation_sequence = 9;
      chunk.header->attachment[23] = 9;
    }
    pool->publish(chunk, 1, plain);
    pool->release(chunk.handle);
  }
}

TEST_F(PoolTest, LoansMayEndInAnyOrder) {
  auto pool = make(small());
  const Chunk a = *pool->loan_growing(16), b = *pool->loan_growing(16), c = *pool->loan_growing(16);
  pool->publish(b);
  pool->publish(b);  // no loan any more
  EXPECT_EQ(pool->account().loaned_slots, 2u);
  EXPECT_EQ(pool->account().published_slots, 1u);
  pool->abandon(a);
  pool->abandon(a);
  pool->publish(c);
  EXPECT_EQ(pool->account().loaned_slots, 0u);
  EXPECT_EQ(pool->account().published_slots, 2u);
  pool->release(b.handle);
  pool->release(c.handle);
  EXPECT_EQ(pool->account().published_slots, 0u);
}

TEST_F(PoolTest, ReusesTheMostRecentlyFreedSlotFirst) {
  auto pool = make(small());
  for (bool growing : {false, true}) {
    auto loan = [&] { return growing ? *pool->loan_growing(16) : *pool->loan_sized(100, 16); };
    Chunk a = loan(), b = loan();
    const Handle first = a.handle, second = b.handle;
    pool->abandon(a);
    pool->abandon(b);
    EXPECT_EQ(loan().handle, second);
    EXPECT_EQ(loan().handle, first);
  }
}

TEST_F(PoolTest, SmallMessagesArePackedAndUnsizedOnesHavePagesOfTheirOwn) {
  auto pool = make(small());
  Chunk a = *pool->loan_sized(100, 16), b = *pool->loan_sized(100, 16);
  EXPECT_EQ(reinterpret_cast<std::byte*>(b.header) - reinterpret_cast<std::byte*>(a.header), 256);
  Chunk c = *pool->loan_growing(16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.header) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.message()) % 64, 0u);
}

TEST_F(PoolTest, AMessageStaysWhileReferencedAndItsSlotIsReusedAfterTheLastRelease) {
  auto pool = make(small());
  Chunk chunk = *pool->loan_sized(100, 100);
  pool->publish(chunk);
  EXPECT_EQ(chunk.header->size_bytes, 100u);
  pool->add_reference(chunk.handle);
  pool->release(chunk.handle);
  EXPECT_EQ(pool->account().published_slots, 1u);
  pool->release(chunk.handle);
  EXPECT_EQ(pool->account().published_slots, 0u);
  EXPECT_EQ(pool->loan_sized(100, 100)->handle, chunk.handle);
}

TEST_F(PoolTest, AMessageHasAsManyReferencesAsItIsPublishedWith) {
  auto pool = make(small());
  for (bool growing : {false, true}) {
    const Chunk chunk = growing ? *pool->loan_growing(100) : *pool->loan_sized(100, 100);
    pool->publish(chunk, 3);
    for (int released = 0; released < 2; ++released) pool->release(chunk.handle);
    EXPECT_EQ(pool->account().published_slots, 1u);
    pool->release(chunk.handle);
    EXPECT_EQ(pool->account().published_slots, 0u);
  }
}

TEST_F(PoolTest, ContentsFollowEachOtherAndTheLastOneGrowsInPlace) {
  auto pool = make(small());
  Chunk chunk = *pool->loan_growing(24);
  auto* message = static_cast<std::byte*>(chunk.message());
  void* text = content_allocate(message, 8, 4);
  void* data = content_allocate(message, 300, 1);
  EXPECT_EQ(text, message + 24);
  EXPECT_EQ(data, message + 32);
  EXPECT_FALSE(content_resize_in_place(message, text, 12));
  EXPECT_TRUE(content_resize_in_place(message, data, 500'000));
  std::memset(data, 7, 500'000);
  content_free(message, text);
  EXPECT_EQ(content_allocate(message, 8, 4), text) << "a gap that fits is used again";
  pool->publish(chunk);
  EXPECT_EQ(chunk.header->size_bytes, 32u + 500'000u);
}

TEST_F(PoolTest, AContentWithoutBytesHasAnAddressWithMemoryBehindIt) {
  auto pool = make(small());
  Chunk chunk = *pool->loan_growing(16);
  const auto* begin = reinterpret_cast<const std::byte*>(chunk.header);
  // Up to the end of the page that the header begins: the next byte has no memory yet.
  content_allocate(chunk.message(), os::page_bytes() - sizeof(ChunkHeader) - 16, 1);
  const auto* empty = static_cast<const std::byte*>(content_allocate(chunk.message(), 0, 1));
  EXPECT_EQ(empty - begin, static_cast<std::ptrdiff_t>(os::page_bytes()));
  unsigned char in_memory = 0;
  ASSERT_EQ(::mincore(const_cast<std::byte*>(empty), os::page_bytes(), &in_memory), 0);
  EXPECT_EQ(in_memory & 1, 1);
  pool->abandon(chunk);
}

TEST_F(PoolTest, AContentBeyondTheSlotIsRefusedAndTheMessageStaysUsable) {
  auto pool = make(small());
  Chunk chunk = *pool->loan_growing(16);
  try {
    content_allocate(chunk.message(), 2 * kMiB, 1);
    FAIL();
  } catch (const Exception& e) {
    EXPECT_EQ(e.code(), Errc::message_too_large);
    EXPECT_NE(std::string(e.what()).find("max_message_bytes"), std::string::npos);
  }
  EXPECT_NE(content_allocate(chunk.message(), 1000, 1), nullptr);
}

TEST_F(PoolTest, TheErrorOfAFullPoolAdvisesWhatThisProgramCanGiveUp) {
  struct Case {
    std::size_t published, loaned;
    const char* way_out;
  };
  for (const Case& c : {Case{0, 4, "; publish or end loans, or raise "}, Case{4, 0, "; release samples, or raise "},
                        Case{2, 2, "; release samples, publish or end loans, or raise "}}) {
    PoolOptions options = small();
    options.slot_count = 4;
    options.memory_limit_bytes = 4 * kMiB;
    auto pool = make(options);
    for (std::size_t i = 0; i < c.published + c.loaned; ++i) {
      const Chunk chunk = *pool->loan_sized(1'000'000, 16);
      if (i < c.published) pool->publish(chunk);
    }
    const Result<Chunk> next = pool->loan_sized(1'000'000, 16);
    ASSERT_FALSE(next.ok());
    EXPECT_NE(next.error().message.find(c.way_out), std::string::npos) << next.error().message;
  }
}

TEST_F(PoolTest, ATooLargeMessageAndItsLimitAreInOneUnit) {
  struct Case {
    std::size_t bytes;
    const char* said;
  };
  const auto pool = make(small());
  for (const Case& c :
       {Case{5 * kMiB, "a message of 5 MiB exceeds max_message_bytes of 1 MiB; raise max_message_bytes"},
        Case{kMiB + 1, "a message of 1048577 bytes exceeds max_message_bytes of 1048576 bytes; raise"}})
    EXPECT_EQ(pool->loan_sized(c.bytes, 16).error().message.find(c.said), 0U)
        << pool->loan_sized(c.bytes, 16).error().message;
}

TEST_F(PoolTest, GrowthBeyondTheMemoryLimitIsRefusedByName) {
  PoolOptions options = small();
  options.memory_limit_bytes = kMiB / 2;
  auto pool = make(options);
  Chunk chunk = *pool->loan_growing(16);
  try {
    content_allocate(chunk.message(), kMiB * 3 / 4, 1);
    FAIL();
  } catch (const Exception& e) {
    EXPECT_EQ(e.code(), Errc::limit_reached);
    EXPECT_NE(std::string(e.what()).find("memory_limit_bytes"), std::string::npos);
  }
  EXPECT_LE(pool->account().backed_bytes, options.memory_limit_bytes);
}

TEST_F(PoolTest, ALoanEndsWithItsPublication) {
  auto pool = make(small());
  Chunk chunk = *pool->loan_growing(16);
  void* const first = content_allocate(chunk.message(), 8, 1);
  void* const second = content_allocate(chunk.message(), 8, 1);
  EXPECT_TRUE(content_free(chunk.message(), first));
  pool->publish(chunk);
  EXPECT_THROW(content_allocate(chunk.message(), 8, 1), Exception);
  EXPECT_FALSE(content_free(chunk.message(), second));
  pool->abandon(chunk);  // too late: nothing happens
  EXPECT_EQ(pool->account().published_slots, 1u);
}

// TZC III-E as a table. Three slots: the oldest is unread (evictable) or being read, as `reading` says.
struct PolicyCase {
  Policy policy;
  std::uint32_t attempts;
  std::vector<bool> reading;  // per published message, oldest first
  int expected;               // which one is taken, -1: refused
};

class PolicyTest : public PoolTest, public ::testing::WithParamInterface<PolicyCase> {};

TEST_P(PolicyTest, TakesWhatThePolicyAllowsAndNeverAMessageBeingRead) {
  const PolicyCase& c = GetParam();
  std::vector<Handle> handles;
  Pool* pool_pointer = nullptr;
  PoolOptions options = small(c.policy);
  options.attempts = c.attempts;
  auto pool = make(options, [&](Handle oldest) {
    const auto index = static_cast<std::size_t>(std::find(handles.begin(), handles.end(), oldest) - handles.begin());
    if (c.reading[index]) return false;
    pool_pointer->release(oldest);
    return true;
  });
  pool_pointer = pool.get();
  for (std::size_t i = 0; i < c.reading.size(); ++i) {
    Chunk chunk = *pool->loan_growing(16);
    handles.push_back(chunk.handle);
    pool->publish(chunk);
  }
  Result<Chunk> next = pool->loan_growing(16);
  if (c.expected < 0) {
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.error().code, Errc::limit_reached);
  } else {
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_EQ(next->handle, handles[static_cast<std::size_t>(c.expected)]);
  }
}

INSTANTIATE_TEST_SUITE_P(TzcIIIE, PolicyTest,
                         ::testing::Values(PolicyCase{Policy::kBestEffort, 0, {false, false, false}, 0},
                                           PolicyCase{Policy::kBestEffort, 0, {true, true, false}, 2},
                                           PolicyCase{Policy::kBestEffort, 0, {true, true, true}, -1},
                                           PolicyCase{Policy::kMediumEffort, 1, {false, false, false}, 0},
                                           PolicyCase{Policy::kMediumEffort, 1, {true, false, false}, -1},
                                           PolicyCase{Policy::kMediumEffort, 2, {true, false, false}, 1},
                                           PolicyCase{Policy::kMediumEffort, 3, {true, true, true}, -1},
                                           PolicyCase{Policy::kWorstEffort, 0, {false, false, false}, 0},
                                           PolicyCase{Policy::kWorstEffort, 0, {false, true, true}, 0},
                                           PolicyCase{Policy::kWorstEffort, 0, {true, false, false}, -1},
                                           PolicyCase{Policy::kWorstEffort, 0, {true, true, true}, -1},
                                           PolicyCase{Policy::kNone, 0, {false, false, false}, -1}));

TEST_F(PoolTest, MediumEffortWithoutAttemptsIsRefused) {
  PoolOptions options = small();
  options.attempts = 0;
  auto pool = Pool::create(options, {}, {});
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.error().code, Errc::invalid_argument);
}

TEST_F(PoolTest, ReleasedMessagesAreCollectedBeforeFreshMemoryIsTaken) {
  auto pool = make(small());
  std::vector<Handle> released;
  pool->set_collect([&] {
    for (Handle handle : released) pool->release(handle);
    released.clear();
  });
  Chunk first = *pool->loan_growing(16);
  pool->publish(first);
  released.push_back(first.handle);
  EXPECT_EQ(pool->loan_growing(16)->handle, first.handle);
}

TEST_F(PoolTest, ARetiredSegmentIsUnmappedWithItsLastMessage) {
  auto pool = make(small());
  Chunk old = *pool->loan_growing(16);
  pool->publish(old);
  std::vector<std::uint32_t> retired;
  pool->retire_segment([&](std::uint32_t index) { retired.push_back(index); });
  Chunk fresh = *pool->loan_growing(16);
  EXPECT_EQ(handle_segment(fresh.handle), 1u);
  EXPECT_EQ(pool->account().segments, 2u);
  EXPECT_TRUE(retired.empty());
  pool->release(old.handle);
  EXPECT_EQ(retired, std::vector<std::uint32_t>{0});
  EXPECT_EQ(pool->account().segments, 1u);
  EXPECT_EQ(Window::find(old.header), nullptr);
}

TEST_F(PoolTest, SegmentsAreAddedOnlyForMessagesThatAreAlive) {
  PoolOptions options = small();
  options.slot_count = 4096;
  options.memory_limit_bytes = 64 * kMiB;
  auto pool = make(options);
  std::vector<Handle> alive;
  const auto publish = [&] {
    Result<Chunk> chunk = pool->loan_growing(16);
    if (!chunk.ok()) return false;
    pool->publish(*chunk);
    alive.push_back(chunk->handle);
    return true;
  };
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(publish());
    if (alive.size() == 16) {
      pool->release(alive.front());
      alive.erase(alive.begin());
    }
  }
  EXPECT_EQ(announced.size(), 1u) << "16 alive need one segment, however many there were";
  const auto grow_to = [&](std::size_t count) {
    while (alive.size() < count) ASSERT_TRUE(publish());
  };
  grow_to(17);
  EXPECT_EQ(announced.size(), 2u);
  grow_to(64);
  EXPECT_EQ(announced.size(), 2u);
  grow_to(65);
  EXPECT_EQ(announced.size(), 3u);
  grow_to(257);
  EXPECT_EQ(announced.size(), 4u);
  grow_to(4096);
  EXPECT_EQ(announced.size(), 5u);
  EXPECT_EQ(pool->account().published_slots, 4096u);
  EXPECT_FALSE(publish()) << "as many as PoolOptions::slot_count";
  // Whatever segment a slot is of, the one that came back last is lent first.
  for (const std::size_t i : {4000u, 3u, 100u, 20u}) pool->release(alive[i]);
  for (const std::size_t i : {20u, 100u, 3u, 4000u}) EXPECT_EQ(pool->loan_growing(16)->handle, alive[i]);
}

TEST_F(PoolTest, NoSegmentIsAddedForWhichThereWouldBeNoMemory) {
  PoolOptions options = small(Policy::kNone);
  options.slot_count = 4096;
  options.memory_limit_bytes = 16 * kMiB;
  auto pool = make(options);
  for (int i = 0; i < 16; ++i) {
    Chunk chunk = *pool->loan_growing(16);
    content_allocate(chunk.message(), 1'000'000, 1);
    pool->publish(chunk);
  }
  EXPECT_EQ(pool->loan_sized(1'000'000, 16).error().code, Errc::limit_reached);
  EXPECT_EQ(announced.size(), 1u);
}

TEST_F(PoolTest, SmallMessagesMayUseTheWholeMemoryLimit) {
  PoolOptions options = small(Policy::kNone);
  options.slot_count = 1;
  options.memory_limit_bytes = 512 * kMiB;  // twice the first segment's packed area
  auto pool = make(options);
  std::size_t count = 0;
  for (Result<Chunk> chunk = pool->loan_sized(60'000, 16); chunk.ok(); chunk = pool->loan_sized(60'000, 16)) ++count;
  EXPECT_GE(count, 512u * kMiB / (64 << 10) - 2);
  EXPECT_LE(announced.size(), 3u);
}

TEST_F(PoolTest, AllSegmentsAreRetiredTogetherAndEachGoesWithItsLastMessage) {
  PoolOptions options = small();
  options.slot_count = 64;
  auto pool = make(options);
  std::vector<Handle> alive;
  for (int i = 0; i < 20; ++i) {
    Chunk chunk = *pool->loan_growing(16);
    pool->publish(chunk);
    alive.push_back(chunk.handle);
  }
  std::vector<std::uint32_t> retired;
  pool->retire_segment([&](std::uint32_t index) { retired.push_back(index); });
  EXPECT_EQ(handle_segment(pool->loan_growing(16)->handle), 2u);
  for (const Handle handle : alive) {
    if (handle_segment(handle) == 1) pool->release(handle);
  }
  EXPECT_EQ(retired, std::vector<std::uint32_t>{1});
  for (const Handle handle : alive) {
    if (handle_segment(handle) == 0) pool->release(handle);
  }
  EXPECT_EQ(retired, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(pool->account().segments, 1u);
}

TEST_F(PoolTest, MemoryStrandedInFreeSlotsIsHadAgainByANewSegment) {
  PoolOptions options = small();
  options.memory_limit_bytes = 3 * kMiB / 2;
  auto pool = make(options);
  std::vector<std::uint32_t> retired;
  pool->set_retired([&](std::uint32_t index) { retired.push_back(index); });
  Chunk chunks[3];
  for (Chunk& chunk : chunks) {
    chunk = *pool->loan_growing(16);
    content_allocate(chunk.message(), 400 << 10, 1);
  }
  for (Chunk& chunk : chunks) pool->abandon(chunk);
  Chunk big = *pool->loan_growing(16);
  EXPECT_THROW(content_allocate(big.message(), 900 << 10, 1), Exception);
  pool->abandon(big);
  big = *pool->loan_growing(16);  // it knows by now what is wanted
  EXPECT_EQ(retired, std::vector<std::uint32_t>{0});
  EXPECT_NE(content_allocate(big.message(), 900 << 10, 1), nullptr);
  EXPECT_LE(pool->account().backed_bytes, options.memory_limit_bytes);
  ASSERT_EQ(announced.size(), 2u);
}

TEST_F(PoolTest, AMessageOfAnotherSizeClassThatIsOlderGivesWayFirst) {
  // Queues give way only at their oldest end, whatever the class of the slot that is short.
  PoolOptions options = small(Policy::kBestEffort);
  options.memory_limit_bytes = 2 * (64 << 10);
  std::vector<Handle> queue;
  Pool* pool_pointer = nullptr;
  auto pool = make(options, [&](Handle oldest) {
    if (queue.empty() || queue.front() != oldest) return false;
    queue.erase(queue.begin());
    pool_pointer->release(oldest);
    return true;
  });
  pool_pointer = pool.get();
  const auto publish = [&](std::size_t bytes) {
    Result<Chunk> chunk = pool->loan_sized(bytes, 16);
    ASSERT_TRUE(chunk.ok()) << chunk.error().message;
    pool->publish(*chunk);
    queue.push_back(chunk->handle);
  };
  publish(100);     // a run of 256-byte slots
  publish(60'000);  // a run of one slot
  publish(60'001);  // takes the place of the second, after the first gave way
  EXPECT_EQ(queue.size(), 1u);
}

TEST_F(PoolTest, ThereIsRoomForAsManyMessagesAsTheCapacitySays) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}, std::size_t{60000}, std::size_t{100000}}) {
    PoolOptions options = small(Policy::kNone);
    options.slot_count = 20;
    options.max_message_bytes = std::size_t{1} << 20;
    options.memory_limit_bytes = std::size_t{1} << 20;
    const auto owned = make(options);
    Pool& pool = *owned;
    std::uint64_t alive = 0;
    while (pool.loan_sized(bytes, 8).ok()) ++alive;
    EXPECT_GE(alive, Pool::capacity(options, bytes)) << bytes;
    EXPECT_LE(alive, 2 * Pool::capacity(options, bytes) + 1) << bytes;
  }
  EXPECT_EQ(Pool::capacity(PoolOptions(), 0), kDefaultSlots);
}

TEST_F(PoolTest, AMessageAboveTwoGiBIsRefused) {
  PoolOptions options = small();
  options.max_message_bytes = kMaxMessageBytes + 1;
  EXPECT_EQ(Pool::create(options, {}, {}).error().code, Errc::message_too_large);
  EXPECT_EQ(make(small())->loan_sized(kMaxMessageBytes + 1, 16).error().code, Errc::message_too_large);
}

TEST_F(PoolTest, AGrowingLoanOfAnExpectedSizeHasRoomForItAndTakesMemoryAsItGrows) {
  auto pool = make(small());
  const Chunk chunk = *pool->loan_growing(16, kMiB);
  EXPECT_LT(pool->account().backed_bytes, kMiB / 4);
  void* const content = content_allocate(chunk.message(), 1000, 1);
  EXPECT_LT(pool->account().backed_bytes, kMiB / 4);
  EXPECT_TRUE(content_resize_in_place(chunk.message(), content, kMiB - 16));
  EXPECT_EQ(content, static_cast<std::byte*>(chunk.message()) + 16);
  pool->publish(chunk);
  EXPECT_EQ(chunk.header->size_bytes, kMiB);
  EXPECT_EQ(pool->loan_growing(16, kMiB + 1).error().code, Errc::message_too_large);
}

TEST_F(PoolTest, AnOldMessageMakesRoomForAGrowingLoanOfAnExpectedSize) {
  PoolOptions options = small();
  options.memory_limit_bytes = 2 * kMiB;
  std::vector<Chunk> unread;
  Pool* self = nullptr;
  const auto pool = make(options, [&](Handle oldest) {
    const auto at =
        std::find_if(unread.begin(), unread.end(), [&](const Chunk& each) { return each.handle == oldest; });
    if (at == unread.end()) return false;
    unread.erase(at);
    self->release(oldest);
    return true;
  });
  self = pool.get();
  for (int i = 0; i < 5; ++i) {
    const Result<Chunk> chunk = pool->loan_growing(16, kMiB - 4096);
    ASSERT_TRUE(chunk.ok()) << i << ": " << chunk.error().message;
    content_allocate(chunk->message(), kMiB - 8192, 1);
    pool->publish(*chunk);
    unread.push_back(*chunk);
  }
  EXPECT_LT(unread.size(), 3u);
}

TEST_F(PoolTest, RaisedLimitsTakeLargerMessagesAndOlderOnesStay) {
  for (const bool used : {false, true}) {
    const auto pool = make(small());
    Chunk old{};
    if (used) {
      old = *pool->loan_sized(kMiB, 16);
      std::memset(old.message(), 7, kMiB);
    }
    EXPECT_EQ(pool->loan_sized(8 * kMiB, 16).error().code, Errc::message_too_large);
    std::vector<std::uint32_t> retired;
    pool->raise_limits(8 * kMiB, 32 * kMiB, [&](std::uint32_t index) { retired.push_back(index); });
    EXPECT_EQ(pool->account().limit_bytes, 32 * kMiB);
    const Chunk large = *pool->loan_sized(8 * kMiB, 16);
    std::memset(large.message(), 1, 8 * kMiB);
    pool->raise_limits(kMiB, kMiB, [](std::uint32_t) { ADD_FAILURE() << "lower numbers change nothing"; });
    EXPECT_EQ(pool->account().limit_bytes, 32 * kMiB);
    if (used) {
      EXPECT_EQ(static_cast<unsigned char*>(old.message())[kMiB - 1], 7);
      EXPECT_TRUE(retired.empty());
      pool->abandon(old);
      EXPECT_EQ(retired, std::vector<std::uint32_t>{0});
    }
    pool->abandon(large);
  }
}

TEST_F(PoolTest, RaisedLimitsTakeAddressesForTheMessagesThatTheyPayFor) {
  PoolOptions options = small();
  options.slot_count = 4096;
  const auto pool = make(options);
  pool->raise_limits(64 * kMiB, 256 * kMiB, {});
  const Chunk large = *pool->loan_growing(16);
  EXPECT_GE(pool->account().address_bytes, 4 * 64 * kMiB);
  EXPECT_LT(pool->account().address_bytes, 5 * 64 * kMiB);
  pool->abandon(large);
}

TEST_F(PoolTest, ATopicWhoseMessagesGrowByteByByteMakesFewSegments) {
  const auto pool = make(small());
  std::size_t retired = 0;
  const auto carry = [&](std::size_t bytes) {
    pool->raise_limits(bytes, 4 * bytes, [&](std::uint32_t) { ++retired; });
    const Result<Chunk> chunk = pool->loan_sized(bytes, 16);
    ASSERT_TRUE(chunk.ok()) << bytes << ": " << chunk.error().message;
    EXPECT_EQ(pool->loan_sized(bytes + 1, 16).error().code, Errc::message_too_large) << "no more than it was raised to";
    pool->abandon(*chunk);
  };
  std::size_t bytes = kMiB;
  while (bytes < kMiB + 1000) carry(++bytes);
  EXPECT_LE(announced.size(), 2u);
  while (bytes < 8 * kMiB) carry(bytes += std::size_t{64} << 10);
  EXPECT_LE(announced.size(), 7u) << "1 MiB times 1.5 five times is nearly 8 MiB";
  EXPECT_GE(retired + 1, announced.size()) << "each former segment is given back";
}

TEST_F(PoolTest, PrefaultedSlotsAreBackedAtCreation) {
  PoolOptions options = small();
  options.prefault = true;
  auto pool = make(options);
  ASSERT_EQ(announced.size(), 1u);
  const std::size_t backed = pool->account().backed_bytes;
  EXPECT_GT(backed, 3 * kMiB - 1);
  Chunk chunk = *pool->loan_growing(16);
  content_allocate(chunk.message(), kMiB - 1000, 1);
  EXPECT_EQ(pool->account().backed_bytes, backed);
}

TEST_F(PoolTest, PrefaultOfSlotsBeyondTheLimitIsRefused) {
  PoolOptions options = small();
  options.prefault = true;
  options.max_message_bytes = 2 * options.memory_limit_bytes;
  EXPECT_EQ(Pool::create(options, {}, {}).error().code, Errc::invalid_argument);
}

// What the thread rules promise; TSan looks at it.
TEST_F(PoolTest, LoansGrowOnTheirOwnThreadsWhileThePoolWorksOn) {
  PoolOptions options = small();
  options.slot_count = 16;
  options.memory_limit_bytes = 64 * kMiB;
  auto pool = make(options);
  std::mutex mutex;  // the transport's
  const auto work = [&](unsigned seed) {
    for (unsigned i = 0; i < 200; ++i) {
      const bool growing = (i + seed) % 3 != 0;
      std::unique_lock<std::mutex> lock(mutex);
      Chunk chunk = growing ? *pool->loan_growing(16) : *pool->loan_sized(3000, 16);
      lock.unlock();
      void* a = content_allocate(chunk.message(), 1000, 8);
      void* b = content_allocate(chunk.message(), 1000, 64);
      std::memset(a, 1, 1000);
      if (growing && content_resize_in_place(chunk.message(), b, 1000 * (i + seed)))
        std::memset(b, 2, 1000 * (i + seed));
      content_free(chunk.message(), a);
      lock.lock();
      pool->publish(chunk);
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      pool->release(chunk.handle);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->account().loaned_slots + pool->account().published_slots, 0u);
}

}  // namespace
