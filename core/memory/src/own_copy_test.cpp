// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/own_copy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "baton/memory/arena.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr std::size_t kBytes = std::size_t{2} << 20;

class OwnCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    PoolOptions options;
    pool_ = Pool::create(options, {}, [this](std::uint32_t, int fd, std::uint64_t) { fd_ = fd; }).value();
    loan();
    Result<std::unique_ptr<OwnCopy>> probe = OwnCopy::make(chunk_);
    if (!probe) GTEST_SKIP() << probe.error().message;
    ASSERT_TRUE((*probe)->end());
  }
  void loan() {
    chunk_ = pool_->loan_growing(64).value();
    data_ = static_cast<unsigned char*>(content_allocate(chunk_.message(), kBytes, 64));
    std::memset(data_, 1, kBytes);
  }
  /// What readers see of the content.
  unsigned char shown(std::size_t at) const {
    const auto place = data_ + at - reinterpret_cast<unsigned char*>(chunk_.header);
    unsigned char read = 0;
    const auto offset = static_cast<std::uint64_t>(chunk_.handle & 0xffffffffffff) + static_cast<std::uint64_t>(place);
    EXPECT_EQ(::pread(fd_, &read, 1, static_cast<off_t>(offset)), 1);
    return read;
  }

  std::unique_ptr<Pool> pool_;
  int fd_ = -1;
  Chunk chunk_;
  unsigned char* data_ = nullptr;
};

TEST_F(OwnCopyTest, IsWhatTheProgramWritesAndReadersSeeWhatIsWrittenThroughTheSharedChunk) {
  auto copy = OwnCopy::make(chunk_).value();
  copy->shared().header->sequence = 77;
  pool_->publish(copy->shared());
  data_[5] = 2;
  EXPECT_EQ(shown(5), 1);
  EXPECT_EQ(chunk_.header->sequence, 77U) << "the pool's own view of a page that the program has not written";
  const std::optional<OwnCopy::End> end = copy->end();
  ASSERT_TRUE(end);
  EXPECT_GE(end->pages, kBytes / 4096);
  EXPECT_EQ(end->changed, 1U);
  EXPECT_EQ(data_[5], 1) << "the slot has the message again";
  EXPECT_FALSE(copy->end()) << "only once";
  pool_->release(chunk_.handle);
  loan();
  data_[5] = 3;
  EXPECT_EQ(shown(5), 3) << "the next message in this slot is shared";
}

TEST_F(OwnCopyTest, GrowsAsALoanAfterThePublicationAndTheMessageDoesNot) {
  auto copy = OwnCopy::make(chunk_).value();
  pool_->publish(copy->shared());
  EXPECT_THROW(content_allocate(chunk_.message(), 100, 1), Exception) << "a published message is read-only";
  copy->let_grow();
  EXPECT_EQ(content_capacity(chunk_.message(), data_), kBytes);
  ASSERT_TRUE(content_resize_in_place(chunk_.message(), data_, 2 * kBytes));
  std::memset(data_, 9, 2 * kBytes);
  EXPECT_EQ(shown(7), 1);
  EXPECT_EQ(copy->shared().header->size_bytes, kBytes + 64);
  auto* const more = static_cast<unsigned char*>(content_allocate(chunk_.message(), 100, 1));
  more[0] = 1;
  EXPECT_TRUE(content_free(chunk_.message(), more));
  ASSERT_TRUE(copy->end());
  EXPECT_THROW(content_allocate(chunk_.message(), 100, 1), Exception);
  pool_->release(chunk_.handle);
  EXPECT_EQ(pool_->account().loaned_slots + pool_->account().published_slots, 0U);
}

TEST_F(OwnCopyTest, TheChunkHeaderIsThatOfThePublicationAlsoWhereTheProgramHadWrittenItsPage) {
  auto copy = OwnCopy::make(chunk_).value();
  auto* const first = static_cast<volatile unsigned char*>(chunk_.message());
  *first = *first;  // the page is the program's from now on
  copy->shared().header->sequence = 77;
  pool_->publish(copy->shared());
  copy->let_grow();
  const ChunkHeader* const header = pool_->header_of(chunk_.handle);
  EXPECT_EQ(header->sequence, 77U) << "how old the message is, for the publisher";
  EXPECT_EQ(header->size_bytes, kBytes + 64);
  const std::optional<OwnCopy::End> end = copy->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->changed, 1U);
}

TEST_F(OwnCopyTest, RefusesWhatIsCopiedFasterAndWhatIsNoLoan) {
  const Chunk small = pool_->loan_sized(1000, 64).value();
  EXPECT_EQ(OwnCopy::make(small).error().code, Errc::unsupported);
  const Chunk empty = pool_->loan_growing(64).value();
  EXPECT_EQ(OwnCopy::make(empty).error().code, Errc::unsupported);
  pool_->publish(chunk_);
  EXPECT_EQ(OwnCopy::make(chunk_).error().code, Errc::invalid_argument);
  ChunkHeader elsewhere{};
  EXPECT_EQ(OwnCopy::make(Chunk{&elsewhere, 0, 0}).error().code, Errc::invalid_argument);
}

}  // namespace
