// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "baton/memory/arena.hpp"
#include "baton/ros1/recompiled/message.hpp"
#include "endpoints.hpp"

namespace baton::ros1::recompiled {
namespace {

struct Places {
  std::mutex mutex;
  std::unordered_map<const void*, Place> known;
};

Places& places() {
  static Places& one = *new Places;  // messages with static storage may end later
  return one;
}

}  // namespace

void* allocate(const MessageClass& message, std::size_t bytes) {
  if (bytes == message.type.size) {
    if (const auto core = publisher_of(message)) {
      const Result<memory::Chunk> chunk = core->loan(message.type);
      if (chunk.ok()) {
        Places& all = places();
        const std::lock_guard<std::mutex> lock(all.mutex);
        all.known[chunk->message()] = {*chunk, core->writer()};
        return chunk->message();
      }
    }
  }
  return ::operator new(bytes);
}

void release(void* message) noexcept {
  if (!memory::in_window(message)) return ::operator delete(message);
  Place place;
  {
    Places& all = places();
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.known.find(message);
    if (found == all.known.end()) return;
    place = std::move(found->second);
    all.known.erase(found);
  }
  if (place.published) {
    place.writer->drop(place.chunk);
  } else {
    place.writer->abandon(place.chunk);
  }
}

std::optional<Place> begin_publish(const void* message, const std::shared_ptr<transport::Writer>& writer) {
  if (!memory::in_window(message)) return std::nullopt;
  Places& all = places();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.known.find(message);
  if (found == all.known.end() || found->second.published || found->second.writer != writer) return std::nullopt;
  found->second.published = true;
  return found->second;
}

void cancel_publish(const void* message) {
  Places& all = places();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.known.find(message);
  if (found != all.known.end()) found->second.published = false;
}

}  // namespace baton::ros1::recompiled
