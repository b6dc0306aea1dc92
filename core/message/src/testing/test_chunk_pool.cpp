// SPDX-License-Identifier: Apache-2.0
// Test chunks that are loans of the memory room's pool.
#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"
#include "testing/test_chunk.hpp"

namespace baton::message::testing {

struct TestChunk::State {
  std::unique_ptr<memory::Pool> pool;
  memory::Chunk chunk;
};

TestChunk::TestChunk(std::size_t skeleton_bytes, std::size_t max_bytes) : state_(new State) {
  memory::PoolOptions options;
  options.max_message_bytes = max_bytes;
  options.memory_limit_bytes = std::size_t{256} << 20;
  options.slot_count = 2;
  state_->pool = memory::Pool::create(
                     options, [](memory::Handle) { return false; }, [](std::uint32_t, int, std::uint64_t) {})
                     .or_throw();
  state_->chunk = state_->pool->loan_growing(skeleton_bytes).or_throw();
  message_ = static_cast<std::byte*>(state_->chunk.message());
}
TestChunk::~TestChunk() { state_->pool->abandon(state_->chunk); }
std::size_t TestChunk::used_bytes() const noexcept {
  // The pool tells the size only at publish; a block of one byte begins at the end of the used part.
  try {
    void* probe = memory::content_allocate(message_, 1, 1);
    const auto used = static_cast<std::size_t>(static_cast<std::byte*>(probe) - message_);
    memory::content_free(message_, probe);
    return used;
  } catch (...) {
    return state_->chunk.capacity_bytes;  // full
  }
}
void TestChunk::publish() noexcept { state_->pool->publish(state_->chunk); }
int TestChunk::blocks() const noexcept { return -1; }
bool TestChunk::is_fake() noexcept { return false; }
void fail_allocations(int) noexcept {}

}  // namespace baton::message::testing
