// SPDX-License-Identifier: Apache-2.0
// Publish and subscribe as in LOT, made of shared objects only: a pusher, a queue per subscriber, a thread that pulls; and the newest
// value of something. One program, as many processes as you like:
//   lot_roles pull COUNT              subscribes, pulls COUNT frames, prints how long they were under way
//   lot_roles push COUNT PULLERS      waits for PULLERS subscribers, then pushes COUNT frames to all
// The processes need the same BATON_RUNTIME_DIR and may otherwise live in different namespaces.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "baton/objects/latest.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_ptr.hpp"

namespace lot {

namespace bs = baton::objects;

struct Frame {
  std::uint64_t number = 0;
  std::int64_t pushed_ns = 0;
  unsigned char pixels[64 * 1024] = {};
};
using Frames = bs::queue<bs::shared_ptr<const Frame>, 16>;

/// Each subscriber owns its queue, in private memory: if it dies, the queue ends and its place is free again.
struct Topic {
  bs::mutex lock;  // protects places
  bs::stored<bs::weak_ptr<Frames>> places[8];
  struct Status {
    std::uint64_t pushed;
  };
  bs::Latest<Status> status;  // of the process that pushed last
};

}  // namespace lot

template <>
struct baton::objects::declared_shareable<lot::Topic> : baton::objects::recoverable {};

namespace lot {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<bs::shared_ptr<Frames>> subscribers(Topic& topic) {
  const std::lock_guard<bs::mutex> lock(topic.lock);
  if (topic.lock.owner_died()) topic.lock.consistent();  // each place is whole in itself
  std::vector<bs::shared_ptr<Frames>> out;
  for (const bs::stored<bs::weak_ptr<Frames>>& place : topic.places) {
    if (bs::shared_ptr<Frames> queue = place.lock()) out.push_back(std::move(queue));
  }
  return out;
}

bs::shared_ptr<Frames> subscribe(bs::Heap& heap, Topic& topic) {
  const std::lock_guard<bs::mutex> lock(topic.lock);
  if (topic.lock.owner_died()) topic.lock.consistent();
  for (bs::stored<bs::weak_ptr<Frames>>& place : topic.places) {
    if (!place.expired()) continue;
    bs::shared_ptr<Frames> queue = bs::make_shared<Frames>(heap);
    place = queue;
    return queue;
  }
  throw std::runtime_error("the topic has no place left");
}

int push(bs::Heap& heap, Topic& topic, std::uint64_t count, std::size_t pullers) {
  while (subscribers(topic).size() < pullers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (std::uint64_t i = 1; i <= count; ++i) {
    bs::shared_ptr<Frame> frame = bs::make_shared<Frame>(heap);
    frame->number = i;
    std::memset(frame->pixels, static_cast<int>(i), sizeof frame->pixels);
    frame->pushed_ns = now_ns();
    const bs::shared_ptr<const Frame> finished = std::move(frame);
    for (const bs::shared_ptr<Frames>& queue : subscribers(topic)) {
      // A subscriber that died or is stopped loses frames and blocks nobody for longer.
      if (!queue->push_for(finished, std::chrono::seconds(1)))
        std::printf("frame %llu lost\n", static_cast<unsigned long long>(i));
    }
    topic.status.write({i});
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  std::printf("pushed %llu\n", static_cast<unsigned long long>(count));
  return 0;
}

int pull(bs::Heap& heap, Topic& topic, std::uint64_t count) {
  const bs::shared_ptr<Frames> queue = subscribe(heap, topic);
  std::vector<double> microseconds;
  bool whole = true;
  // LOT's pulling thread, which calls the subscriber back.
  std::thread puller([&] {
    while (microseconds.size() < count) {
      std::optional<bs::shared_ptr<const Frame>> frame = queue->pop_for(std::chrono::seconds(20));
      if (!frame) return;
      microseconds.push_back(static_cast<double>(now_ns() - (*frame)->pushed_ns) / 1000);
      const unsigned char expected = static_cast<unsigned char>((*frame)->number);
      for (unsigned char pixel : (*frame)->pixels) whole = whole && pixel == expected;
    }
  });
  puller.join();
  if (microseconds.size() < count || !whole) {
    std::printf("FAILED: %zu of %llu frames%s\n", microseconds.size(), static_cast<unsigned long long>(count),
                whole ? "" : ", torn");
    return 1;
  }
  std::sort(microseconds.begin(), microseconds.end());
  std::printf("pulled %zu: median %.1f us, 99 %% %.1f us; the last pusher had pushed %llu\n", microseconds.size(),
              microseconds[microseconds.size() / 2], microseconds[microseconds.size() * 99 / 100],
              static_cast<unsigned long long>(topic.status.read().value_or(Topic::Status{0}).pushed));
  return 0;
}

}  // namespace lot

int main(int argc, char** argv) {
  namespace bs = baton::objects;
  try {
    bs::HeapOptions options;
    options.name = "lot-example";
    options.limit_bytes = 256U << 20;
    options.timeout = std::chrono::seconds(60);  // six processes may open it at once
    bs::Heap heap = bs::Heap::open(options).or_throw();
    const bs::shared_ptr<lot::Topic> topic = bs::find_or_make<lot::Topic>(heap, "frames");
    if (argc == 4 && std::strcmp(argv[1], "push") == 0) {
      return lot::push(heap, *topic, std::strtoull(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    }
    if (argc == 3 && std::strcmp(argv[1], "pull") == 0)
      return lot::pull(heap, *topic, std::strtoull(argv[2], nullptr, 10));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  std::fprintf(stderr, "usage: lot_roles pull COUNT | push COUNT PULLERS\n");
  return 2;
}
