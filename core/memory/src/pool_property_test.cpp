// SPDX-License-Identifier: Apache-2.0
// Random sequences of everything a publisher and its readers do, against a plain model: no chunk is given out twice, no message
// that somebody holds changes, no limit is passed, and what is refused is refused for a reason.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr std::size_t kKiB = 1024;

struct Content {
  std::byte* at;
  std::size_t bytes;
  int fill;
};

struct Loan {
  Chunk chunk;
  std::size_t known_bytes = 0;  // of a sized loan
  std::vector<Content> contents;
};

struct Message {
  Chunk chunk;
  std::vector<Content> contents;
  std::uint32_t size_bytes = 0;
  std::uint32_t unread = 0, read = 0;  // references in queues, and of samples being read
};

// A pool with a model beside it.
struct Model {
  PoolOptions options;
  std::unique_ptr<Pool> pool;
  std::vector<Loan> loans;
  std::map<Handle, Message> messages;
  std::vector<Handle> queue;               // unread, oldest first
  std::vector<Handle> returned;            // released by readers, not collected
  std::map<std::uint32_t, bool> segments;  // index -> retired and gone
  int next_fill = 1;

  Model() {
    options.policy = *rc::gen::element(Policy::kBestEffort, Policy::kMediumEffort, Policy::kWorstEffort);
    options.attempts = *rc::gen::inRange(1u, 4u);
    options.slot_count = *rc::gen::element(1u, 2u, 3u, 5u, 17u, 100u);
    options.max_message_bytes = 256 * kKiB;
    options.memory_limit_bytes = *rc::gen::inRange<std::size_t>(1, 12) * 128 * kKiB;
    options.prefault = options.memory_limit_bytes >= options.max_message_bytes && *rc::gen::arbitrary<bool>();
    pool = std::move(*Pool::create(
        options, [this](Handle oldest) { return evict(oldest); },
        [this](std::uint32_t index, int, std::uint64_t) {
          RC_ASSERT(segments.emplace(index, false).second);  // an index is never used again
        }));
    pool->set_collect([this] { collect(); });
    pool->set_retired([this](std::uint32_t index) { gone(index); });
  }

  void gone(std::uint32_t index) {
    RC_ASSERT(segments.count(index) == 1 && !segments[index]);
    segments[index] = true;
    for (const auto& [handle, message] : messages) RC_ASSERT(handle_segment(handle) != index);
  }

  void forget(Handle handle, std::uint32_t Message::*kind) {
    auto it = messages.find(handle);
    RC_ASSERT(it != messages.end() && it->second.*kind > 0);
    check(it->second);
    if (--(it->second.*kind) == 0 && it->second.unread + it->second.read == 0) messages.erase(it);
    pool->release(handle);
  }
  bool evict(Handle oldest) {
    RC_ASSERT(messages.count(oldest) == 1);
    if (queue.empty() || queue.front() != oldest) return false;
    queue.erase(queue.begin());
    forget(oldest, &Message::unread);
    return true;
  }
  void collect() {
    std::vector<Handle> now;
    now.swap(returned);
    for (Handle handle : now) forget(handle, &Message::read);
  }

  static void fill(const Content& content) { std::memset(content.at, content.fill, content.bytes); }
  static void check(const Content& content) {
    for (std::size_t i = 0; i < content.bytes; ++i) RC_ASSERT(static_cast<int>(content.at[i]) == content.fill);
  }
  static void check(const Message& message) {
    RC_ASSERT(message.chunk.header->magic == kChunkMagic && message.chunk.header->size_bytes == message.size_bytes);
    for (const Content& content : message.contents) check(content);
  }

  void loan() {
    const std::size_t bytes = *rc::gen::element<std::size_t>(16, 100, 900, 5'000, 40'000, 70'000, 200'000, 300'000);
    const bool sized = *rc::gen::arbitrary<bool>();
    Result<Chunk> chunk = sized ? pool->loan_sized(bytes, 16) : pool->loan_growing(16);
    if (!chunk.ok()) {
      RC_ASSERT(chunk.error().code ==
                (sized && bytes > options.max_message_bytes ? Errc::message_too_large : Errc::limit_reached));
      return;
    }
    for (const Loan& other : loans) RC_ASSERT(other.chunk.handle != chunk->handle);
    RC_ASSERT(messages.count(chunk->handle) == 0);
    RC_ASSERT(chunk->capacity_bytes >= (sized ? bytes : 16));
    RC_ASSERT(reinterpret_cast<std::uintptr_t>(chunk->header) % 64 == 0);
    RC_ASSERT(Window::find(chunk->header) != nullptr);
    loans.push_back({*chunk, sized ? bytes : 0, {}});
  }

  void content(Loan& loan) {
    const void* owner = loan.chunk.message();
    if (!loan.contents.empty() && *rc::gen::arbitrary<bool>()) {
      const auto i = *rc::gen::inRange<std::size_t>(0, loan.contents.size());
      Content& content = loan.contents[i];
      check(content);
      if (*rc::gen::arbitrary<bool>()) {
        content_free(owner, content.at);
        loan.contents.erase(loan.contents.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
      const std::size_t bytes = *rc::gen::inRange<std::size_t>(1, 60'000);
      try {
        if (!content_resize_in_place(owner, content.at, bytes)) return;
      } catch (const Exception& e) {
        RC_ASSERT(e.code() == Errc::limit_reached);
        return;
      }
      content.bytes = bytes;
      fill(content);
      return;
    }
    const std::size_t bytes = *rc::gen::element<std::size_t>(1, 7, 100, 3'000, 50'000);
    const std::size_t alignment = std::size_t{1} << *rc::gen::inRange(0, 7);
    try {
      auto* at = static_cast<std::byte*>(content_allocate(owner, bytes, alignment));
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(at) % alignment == 0);
      RC_ASSERT(at >= static_cast<std::byte*>(loan.chunk.message()) + 16);
      RC_ASSERT(at + bytes <= static_cast<std::byte*>(loan.chunk.message()) + loan.chunk.capacity_bytes);
      for (const Content& other : loan.contents) RC_ASSERT(at + bytes <= other.at || other.at + other.bytes <= at);
      loan.contents.push_back({at, bytes, next_fill++ % 127 + 1});
      fill(loan.contents.back());
    } catch (const Exception& e) {
      RC_ASSERT(e.code() == Errc::limit_reached || e.code() == Errc::message_too_large);
    }
  }

  void publish(std::size_t i) {
    Loan loan = std::move(loans[i]);
    loans.erase(loans.begin() + static_cast<std::ptrdiff_t>(i));
    pool->publish(loan.chunk);
    Message message{loan.chunk, loan.contents, loan.chunk.header->size_bytes, 0, 0};
    std::size_t end = 16;
    for (const Content& content : loan.contents)
      end = std::max(
          end, static_cast<std::size_t>(content.at - static_cast<std::byte*>(loan.chunk.message())) + content.bytes);
    RC_ASSERT(message.size_bytes == end);
    // One queue; the publisher's own reference goes.
    pool->add_reference(loan.chunk.handle);
    message.unread = 1;
    messages.emplace(loan.chunk.handle, message);
    queue.push_back(loan.chunk.handle);
    pool->release(loan.chunk.handle);
  }

  void take() {
    const Handle handle = queue.front();
    queue.erase(queue.begin());
    Message& message = messages.at(handle);
    --message.unread;
    ++message.read;
  }
  std::vector<Handle> being_read() const {
    std::vector<Handle> handles;
    for (const auto& [handle, message] : messages)
      for (std::uint32_t i = 0; i < message.read; ++i) handles.push_back(handle);
    for (Handle handle : returned) handles.erase(std::find(handles.begin(), handles.end(), handle));
    return handles;
  }

  void step() {
    switch (*rc::gen::weightedElement<int>({{4, 0}, {8, 1}, {4, 2}, {4, 3}, {3, 4}, {1, 5}, {1, 6}, {1, 7}, {1, 8}})) {
      case 0:
        return loan();
      case 1:
        if (!loans.empty()) content(loans[*rc::gen::inRange<std::size_t>(0, loans.size())]);
        return;
      case 2:
        if (!loans.empty()) publish(*rc::gen::inRange<std::size_t>(0, loans.size()));
        return;
      case 3:
        if (!queue.empty()) take();
        return;
      case 4: {
        const std::vector<Handle> reading = being_read();
        if (!reading.empty()) returned.push_back(reading[*rc::gen::inRange<std::size_t>(0, reading.size())]);
        return;
      }
      case 5:
        if (!loans.empty()) {
          const auto i = *rc::gen::inRange<std::size_t>(0, loans.size());
          pool->abandon(loans[i].chunk);
          loans.erase(loans.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return;
      case 6:
        return collect();
      case 8:
        if (loans.size() < 30)  // more than the first segment has slots
          for (int i = 0; i < 20; ++i) loan();
        return;
      default:
        pool->retire_segment([this](std::uint32_t index) { gone(index); });
    }
  }

  void check_all() {
    for (const auto& [handle, message] : messages) check(message);
    for (const Loan& loan : loans)
      for (const Content& content : loan.contents) check(content);
    const Pool::Account account = pool->account();
    RC_ASSERT(account.backed_bytes <= options.memory_limit_bytes);
    RC_ASSERT(account.loaned_slots == loans.size());
    RC_ASSERT(account.published_slots == messages.size());
  }

  // Everything is given back: nothing may be left over.
  void end() {
    while (!queue.empty()) take();
    returned.clear();
    for (Handle handle : being_read()) returned.push_back(handle);
    collect();
    for (const Loan& loan : loans) pool->abandon(loan.chunk);
    loans.clear();
    check_all();
    pool->retire_segment([this](std::uint32_t index) { gone(index); });
    RC_ASSERT(pool->account().segments == 0u);
    RC_ASSERT(pool->account().backed_bytes == 0u);
    for (const auto& [index, is_gone] : segments) RC_ASSERT(is_gone);
  }
};

}  // namespace

TEST(PoolProperty, RandomUseKeepsEveryInvariant) {
  EXPECT_TRUE(rc::check([] {
    Model run;
    const int steps = *rc::gen::inRange(0, 150);
    for (int i = 0; i < steps; ++i) {
      run.step();
      if (i % 8 == 0) run.check_all();
    }
    run.check_all();
    run.end();
  }));
}
