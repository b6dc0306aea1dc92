// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <new>
#include <unordered_map>
#include <utility>

#include "baton/memory/arena.hpp"
#include "baton/os/lock.hpp"
#include "baton/ros1/recompiled/message.hpp"
#include "endpoints.hpp"

namespace baton::ros1::recompiled {
namespace {

struct Places {
  os::Mutex mutex;
  std::unordered_map<const void*, Place> known BATON_GUARDED_BY(mutex);
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
        const os::Lock lock(all.mutex);
        all.known[chunk->message()] = {*chunk, core};
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
    const os::Lock lock(all.mutex);
    const auto found = all.known.find(message);
    if (found == all.known.end()) return;
    place = std::move(found->second);
    all.known.erase(found);
  }
  if (!place.published) {
    place.core->writer()->abandon(place.chunk);
    if (place.copies == 1) place.core->habit().copied_once();
    return;
  }
  if (place.own_copy) {
    const auto end = place.own_copy->end();
    if (!end) return;
    place.core->habit().ended(end->pages, end->changed);
  }
  place.core->writer()->drop(place.chunk);
}

std::optional<Place> begin_publish(const void* message, const std::shared_ptr<baton::detail::PublisherCore>& core,
                                   Form form) {
  if (!memory::in_window(message)) return std::nullopt;
  Places& all = places();
  const os::Lock lock(all.mutex);
  const auto found = all.known.find(message);
  if (found == all.known.end() || found->second.core != core) return std::nullopt;
  Place& place = found->second;
  if (place.published) {
    if (place.own_copy) core->habit().used_again();
    return std::nullopt;
  }
  if (form == Form::kReference && !core->habit().hands_over()) {
    ++place.copies;
    return std::nullopt;
  }
  place.published = true;
  return place;
}

void leave_to_program(const void* message, std::unique_ptr<memory::OwnCopy> own_copy) {
  Places& all = places();
  const os::Lock lock(all.mutex);
  own_copy->let_grow();
  all.known.at(message).own_copy = std::move(own_copy);
}

void cancel_publish(const void* message) {
  Places& all = places();
  const os::Lock lock(all.mutex);
  const auto found = all.known.find(message);
  if (found != all.known.end()) found->second.published = false;
}

}  // namespace baton::ros1::recompiled
