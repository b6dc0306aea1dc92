// SPDX-License-Identifier: Apache-2.0
// A connection whose other side writes any value to any place that it may write. The input is {u8 depth, u8 held} and
// then a sequence of steps of one opcode byte and its operands (see kSteps); seeds lie in seeds/connection, replayed by
// connection_replay_test.cpp.
//
// Checked besides what the sanitizers check: every handle that the publisher pushed comes back exactly once by the end
// of the connection, whatever the subscriber wrote. The subscriber never writes outside its connection segment and
// never reads outside the ring, whatever the publisher wrote.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "baton/memory/channel.hpp"

namespace {

using namespace baton::memory;
using P = StdPlatform;

void require(bool ok) {
  if (!ok) std::abort();
}

struct Input {
  const std::uint8_t* data;
  std::size_t size;
  bool empty() const { return size == 0; }
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::size_t n = bytes < size ? bytes : size;
    std::memcpy(&value, data, n);
    data += n;
    size -= n;
    return value;
  }
};

/// Heap blocks of exactly the right size, so that the address sanitizer sees the first byte beyond.
struct Block {
  explicit Block(std::size_t bytes)
      : size(bytes), memory(static_cast<std::byte*>(std::aligned_alloc(64, round(bytes)))) {
    std::memset(memory, 0, round(bytes));
  }
  ~Block() { std::free(memory); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  static std::size_t round(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  std::uint64_t* word(std::uint64_t index) { return reinterpret_cast<std::uint64_t*>(memory) + index % (size / 8); }
  std::size_t size;
  std::byte* memory;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{data, size};
  const auto depth = static_cast<std::uint32_t>(1 + input.take(1) % 9);
  const auto held = static_cast<std::uint32_t>(1 + input.take(1) % 5);
  const std::uint32_t capacity = ring_capacity(depth);
  const std::uint32_t entries = ConnectionLayout<P>::entries_for(depth, held);
  Block ring(RingLayout<P>::bytes(capacity)), segment(ConnectionLayout<P>::bytes(entries));
  const auto ring_view = RingLayout<P>::at(ring.memory, capacity);
  const auto segment_view = ConnectionLayout<P>::at(segment.memory, entries);
  ChannelWriter<P> writer(ring_view, segment_view, depth);
  ChannelReader<P> reader(ring_view, segment_view);

  std::vector<int> references;
  const auto on_released = [&](std::uint64_t handle) {
    require(handle < references.size() && references[handle] == 1);
    references[handle] = 0;
  };
  std::vector<std::uint64_t> held_tokens;
  while (!input.empty() && references.size() < 5000) {
    switch (input.take(1) % 11) {
      case 0:
      case 1: {  // push
        references.push_back(1);
        if (writer.push(references.size() - 1, 7, references.size(), on_released) != PushStatus::kPushed)
          references.back() = 0;
        break;
      }
      case 2: {  // take
        QueuedMessage message{};
        if (reader.queue().take(&message) == QueueStatus::kOk && reader.releases().valid(message.entry)) {
          held_tokens.push_back(message.entry);
        }
        break;
      }
      case 3:  // give back
        if (!held_tokens.empty()) {
          const std::size_t i = input.take(1) % held_tokens.size();
          reader.releases().release(held_tokens[i]);
          held_tokens.erase(held_tokens.begin() + static_cast<std::ptrdiff_t>(i));
        }
        break;
      case 4:
        writer.collect(on_released);
        break;
      case 5:
        writer.evict_oldest_if(input.take(1), on_released);
        break;
      case 6: {  // the subscriber writes any value to a word of its segment
        const std::uint64_t index = input.take(1);
        *segment.word(index) = input.take(8);
        break;
      }
      case 7: {  // ... or a value near a valid one
        std::uint64_t* const word = segment.word(input.take(1) % 4 == 0 ? 0 : input.take(1));
        *word += static_cast<std::uint64_t>(static_cast<std::int8_t>(input.take(1)));
        break;
      }
      case 8: {  // the publisher writes any value to a word of the ring
        const std::uint64_t index = input.take(1);
        *ring.word(index) = input.take(8);
        break;
      }
      case 9:
        writer.end_unread(on_released);
        break;
      default:
        require(reader.queue().size() <= capacity);
        (void)reader.queue().ready();
        require(writer.outstanding() <= entries);
    }
  }
  writer.end(on_released);
  require(writer.outstanding() == 0);
  for (int count : references) require(count == 0);
  return 0;
}
