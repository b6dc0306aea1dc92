// SPDX-License-Identifier: Apache-2.0
// One publisher/subscription connection on simulated memory, with chunks whose content is race-checked, and the bookkeeping
// that every scenario shares. Labels of locations are what mutations name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "baton/memory/channel.hpp"
#include "model_platform.hpp"

namespace baton::model {

using memory::QueuedMessage;
using memory::QueueStatus;

/// Chunk `i` has handle i. Its payload is plain memory; the owner of references is the publisher process.
struct Chunks {
  explicit Chunks(int count) : references(static_cast<std::size_t>(count), 0) {
    for (int i = 0; i < count; ++i) payload.emplace_back("payload");
  }
  int find_free() const {
    for (std::size_t i = 0; i < references.size(); ++i) {
      if (references[i] == 0) return static_cast<int>(i);
    }
    return -1;
  }
  void release(std::uint64_t handle) {
    World& world = World::current();
    world.require(handle < references.size(), "a handle was released that never existed");
    world.require(references[handle] > 0, "a handle was released twice");
    --references[handle];
  }
  std::vector<Data<std::uint64_t>> payload;
  std::vector<int> references;
};

class Connection {
 public:
  Connection(std::uint32_t depth, std::uint32_t held, std::uint32_t capacity = 0)
      : ring_memory_(lines(Ring::bytes(capacity != 0 ? capacity : memory::ring_capacity(depth)))),
        segment_memory_(lines(Segment::bytes(depth + held))),
        ring_(Ring::at(ring_memory_.data(), capacity != 0 ? capacity : memory::ring_capacity(depth))),
        segment_(Segment::at(segment_memory_.data(), depth + held)) {
    new (ring_.head) Atomic<std::uint64_t>("head");
    new (segment_.cursor) Atomic<std::uint64_t>("cursor");
    new (segment_.sleeping) memory::WakeWord<ModelPlatform>("sleeping");
    for (std::uint32_t i = 0; i < ring_.capacity; ++i) {
      new (&ring_.slot_table[i])
          memory::RingSlot<ModelPlatform>{Atomic<std::uint64_t>("slot.handle"), Atomic<std::uint64_t>("slot.entry"),
                                          Atomic<std::int64_t>("slot.stamp"), Atomic<std::uint64_t>("slot.sequence")};
    }
    for (std::uint32_t i = 0; i < depth + held; ++i) new (&segment_.release_words[i]) Atomic<std::uint64_t>("word");
    writer = std::make_unique<memory::ChannelWriter<ModelPlatform>>(ring_, segment_, depth);
    reader = std::make_unique<memory::ChannelReader<ModelPlatform>>(ring_, segment_);
  }

  /// For finish(): how many messages the publisher has handed over.
  std::uint64_t published(const World& world) const {
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < ring_.capacity; ++i)
      most = std::max(most, memory::messages_up_to(world.latest(ring_.slot_table[i].entry.id())));
    return most;
  }
  Atomic<std::uint64_t>& cursor() { return *segment_.cursor; }
  memory::WakeWord<ModelPlatform>& sleeping() { return *segment_.sleeping; }
  Atomic<std::uint64_t>* words() { return segment_.release_words; }
  std::size_t capacity() const { return ring_.capacity; }

  /// Publisher: fills a free chunk with `sequence` and hands it over.
  memory::PushStatus publish(Chunks& chunks, std::uint64_t sequence) {
    World& world = World::current();
    const auto released = [&](std::uint64_t handle) { chunks.release(handle); };
    world.require(writer->collect(released), "an honest reader was called corrupted");
    const int chunk = chunks.find_free();
    world.require(chunk >= 0, "no free chunk although the pool covers depth + held + 1");
    const std::size_t index = static_cast<std::size_t>(chunk);
    chunks.payload[index].write(sequence);
    chunks.references[index] = 1;
    const memory::PushStatus status =
        writer->push(static_cast<std::uint64_t>(chunk), static_cast<std::int64_t>(sequence), sequence, released);
    world.require(status != memory::PushStatus::kCorrupted, "an honest reader was called corrupted");
    if (status != memory::PushStatus::kPushed) chunks.references[index] = 0;
    return status;
  }

  /// Subscriber: one attempt. True if `message` was taken; its content is checked.
  bool take(Chunks& chunks, QueuedMessage* message, QueueStatus* status = nullptr) {
    World& world = World::current();
    QueueStatus seen = reader->queue().peek(message);
    if (status != nullptr) *status = seen;
    world.require(seen != QueueStatus::kCorrupted, "an honest publisher was called corrupted");
    if (seen != QueueStatus::kOk || !reader->queue().try_take(*message)) {
      world.discard_reads();
      return false;
    }
    const auto& slot = ring_.slot_table[message->position & (ring_.capacity - 1)];
    const int reads[] = {slot.handle.id(), slot.entry.id(), slot.source_monotonic_ns.id(), slot.sequence.id()};
    world.confirm_reads(reads, 4);
    world.require(message->handle < chunks.references.size(), "torn or invented handle");
    world.require(message->sequence == static_cast<std::uint64_t>(message->source_monotonic_ns), "torn slot");
    world.require(reader->releases().valid(message->entry), "torn or invented entry");
    check_content(chunks, *message);
    return true;
  }

  /// Reads the payload again: it must still be this message's (a reuse while it is held would be a data race).
  static void check_content(const Chunks& chunks, const QueuedMessage& message) {
    World::current().require(chunks.payload[message.handle].read() == message.sequence,
                             "the chunk holds another message");
  }
  void release(const QueuedMessage& message) const { reader->releases().release(message.entry); }

  std::unique_ptr<memory::ChannelWriter<ModelPlatform>> writer;
  std::unique_ptr<memory::ChannelReader<ModelPlatform>> reader;

 private:
  using Ring = memory::RingLayout<ModelPlatform>;
  using Segment = memory::ConnectionLayout<ModelPlatform>;
  struct alignas(memory::kCacheLineBytes) Line {
    std::byte bytes[memory::kCacheLineBytes];
  };
  static constexpr std::size_t lines(std::size_t bytes) { return (bytes + sizeof(Line) - 1) / sizeof(Line); }

  // The words are never destroyed: they are numbers of the world.
  std::vector<Line> ring_memory_, segment_memory_;
  Ring ring_;
  Segment segment_;
};

}  // namespace baton::model
