// SPDX-License-Identifier: Apache-2.0
// Each allocation of a chunk fails once: nothing is thrown, and the chunk is as before.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "mcap_file.hpp"

namespace {

thread_local long t_left = -1;  // allocations before the one that fails; -1: none fails

void* allocate(std::size_t size) {
  if (t_left >= 0 && t_left-- == 0) throw std::bad_alloc();
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace baton::record {
namespace {

std::shared_ptr<const McapChannel> channel() {
  auto schema = std::make_shared<McapSchema>();
  schema->id = 1;
  schema->text = std::string(1000, 's');
  auto made = std::make_shared<McapChannel>();
  made->schema = schema;
  made->topic = "/a topic with a name that is not short";
  made->metadata["a name that is not short"] = std::string(100, 'q');
  return made;
}

/// Tries again with another allocation that fails, until none does. Returns how often it failed.
template <class Step>
int each_failure(Step&& step) {
  for (int failures = 0;; ++failures) {
    t_left = failures;
    const bool done = step();
    t_left = -1;
    if (done) return failures;
  }
}

TEST(OutOfMemory, AChunkIsAsBefore) {
  const std::shared_ptr<const McapChannel> its = channel();
  McapChunk chunk;
  std::set<const void*> known;
  EXPECT_GT(each_failure([&] {
              if (chunk.introduce(its, known)) return true;
              t_left = -1;
              EXPECT_TRUE(known.empty() && chunk.introduced().empty());
              EXPECT_EQ(chunk.records().size(), 0U);
              return false;
            }),
            2);
  EXPECT_EQ(known.size(), 2U);
  EXPECT_GT(chunk.records().size(), 1100U);
}

TEST(OutOfMemory, AChunkThatCannotBeCompressedIsAsBefore) {
  if (!compression_of("zstd")) GTEST_SKIP() << "built without zstd";
  McapChunk chunk;
  std::set<const void*> known;
  ASSERT_TRUE(chunk.introduce(channel(), known));
  const std::size_t before = chunk.bytes();
  EXPECT_GT(each_failure([&] {
              const bool done = static_cast<bool>(chunk.compress(Compression::kZstd, false));
              t_left = -1;
              EXPECT_TRUE(done || chunk.bytes() == before);
              return done;
            }),
            0);
  EXPECT_LT(chunk.bytes(), before);
}

}  // namespace
}  // namespace baton::record
