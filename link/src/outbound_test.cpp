// SPDX-License-Identifier: Apache-2.0
// What leaves a host, with a line that keeps all that is written.
#include "outbound.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "endpoint_test_support.hpp"

namespace baton::link {
namespace {

constexpr std::size_t kHeld = 4;

/// Keeps everything, as if no host said what it has got.
class Line final : public Outlet {
 public:
  Result<void> write(std::shared_ptr<const Outgoing> chunk) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    chunks_.push_back(std::move(chunk));
    return {};
  }
  std::size_t matched() const override { return 1; }
  std::vector<std::shared_ptr<const Outgoing>> chunks() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return chunks_;
  }
  void acknowledge_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    chunks_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Outgoing>> chunks_;
};

class OutboundOf : public ::testing::Test {
 protected:
  /// With messages of `bytes`.
  void open(std::size_t bytes) {
    bytes_ = bytes;
    participant_ = domain_.join();
    transport::TypeInfo type;
    type.name = "a/Bytes";
    type.skeleton_bytes = static_cast<std::uint32_t>(bytes);
    transport::Participant::WriterOptions writing;
    writing.topic = "/bytes";
    writing.type = type;
    writing.qos.depth = 1000;
    writer_ = *participant_->create_writer(writing);
    transport::Participant::ReaderOptions reading;
    reading.topic = "/bytes";
    reading.type = type;
    reading.qos.depth = 1000;
    reading.qos.held = kHeld;
    auto reader = *participant_->create_reader(reading);
    while (writer_->matched() == 0 || reader->matched() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(outbound_.start());
    ASSERT_TRUE(outbound_.add("channel", "/bytes", std::move(reader), line_, {writer_->gid()}, kHeld));
  }

  void publish(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Result<memory::Chunk> chunk = writer_->loan_sized(bytes_);
      ASSERT_TRUE(chunk) << chunk.error().message;
      std::memset(chunk->message(), static_cast<int>(i), bytes_);
      ASSERT_TRUE(writer_->publish(*chunk, {}));
    }
  }
  std::vector<std::shared_ptr<const Outgoing>> wait_for(std::size_t count) const {
    for (int i = 0; i < 20'000 && line_->chunks().size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return line_->chunks();
  }

  std::size_t bytes_ = 0;
  transport::test::TestDomain domain_;
  std::shared_ptr<transport::Participant> participant_;
  std::shared_ptr<transport::Writer> writer_;
  std::shared_ptr<Line> line_ = std::make_shared<Line>();
  Outbound outbound_{std::make_shared<Saying>([](const transport::Diagnostic&) {})};
};

TEST_F(OutboundOf, ABurstOfSmallMessagesDoesNotWaitForTheFarEnd) {
  open(64);
  publish(100);
  const auto chunks = wait_for(100);
  ASSERT_EQ(chunks.size(), 100U);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    memory::ChunkHeader header;
    std::memcpy(&header, chunks[i]->bytes, sizeof header);
    EXPECT_EQ(header.sequence, i + 1);
    EXPECT_EQ(static_cast<std::size_t>(chunks[i]->bytes[sizeof header]), i);
    EXPECT_EQ(chunks[i]->size_bytes, sizeof header + 64);
  }
}

TEST_F(OutboundOf, BigMessagesAreNeverCopiedAndWaitForTheFarEnd) {
  open(100'000);
  publish(10);
  ASSERT_EQ(wait_for(kHeld).size(), kHeld);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a further one would come now
  EXPECT_EQ(line_->chunks().size(), kHeld);
  line_->acknowledge_all();
  EXPECT_EQ(wait_for(kHeld).size(), kHeld);
}

TEST_F(OutboundOf, CopiesAreBoundedInBytes) {
  open(32 << 10);
  publish(1000);  // 32 MB
  wait_for(500);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::size_t bytes = 0;
  for (const auto& chunk : line_->chunks()) bytes += chunk->size_bytes;
  EXPECT_GT(bytes, std::size_t{15} << 20);
  EXPECT_LT(bytes, std::size_t{17} << 20);
}

}  // namespace
}  // namespace baton::link
