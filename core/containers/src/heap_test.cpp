// SPDX-License-Identifier: Apache-2.0
// Ordinary vectors in Baton's memory, in a program that is linked to libbaton_heap.so first.
#include "baton/containers/heap.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <thread>

#include "baton/containers/containers.hpp"
#include "baton/containers/loaned.hpp"
#include "baton/containers/received.hpp"
#include "baton/memory/arena.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/private_mapping.hpp"
#include "baton/os/real_time.hpp"
#include "endpoint_test_support.hpp"

namespace baton::containers {
namespace {

using namespace transport::test;
using baton::QoS;
using transport::Participant;
using transport::Reader;
using transport::TakenSample;
using transport::Writer;

constexpr std::size_t kBig = std::size_t{6} << 20;
constexpr std::size_t kPage = 4096;

memory::PoolOptions big_pool(std::uint32_t slots = 128) {
  memory::PoolOptions pool;
  pool.max_message_bytes = std::size_t{8} << 20;
  pool.memory_limit_bytes = std::size_t{256} << 20;
  pool.slot_count = slots;
  return pool;
}

/// `bytes` bytes, each of `value`.
void publish_bytes(Writer& writer, std::uint8_t value, std::size_t bytes = kBig) {
  const memory::Chunk chunk = writer.loan_sized(bytes).or_throw();
  memory::content_allocate(chunk.message(), bytes - number_type().skeleton_bytes, 1);
  std::memset(chunk.message(), value, bytes);
  writer.publish(chunk).or_throw();
}

/// Empties the vector and frees its buffer, which `= {}` keeps.
template <class T>
void drop(std::vector<T>& vector) {
  std::vector<T>().swap(vector);
}

/// The whole message as a vector.
template <class T = std::uint8_t>
std::vector<T> aliased(TakenSample sample) {
  Received received = Received::begin(sample).or_throw();
  std::vector<T> vector;
  const std::size_t count = received.size_bytes() / sizeof(T);
  void* buffer = received.alias(received.message(), count * sizeof(T), alignof(T));
  if (buffer == nullptr) throw std::runtime_error("not aliased");
  adopt(vector, buffer, count, count);
  return vector;
}

/// A publisher and a subscription of one process.
struct Pair {
  explicit Pair(const QoS& qos = QoS(4)) {
    if (!active()) throw std::runtime_error(reason());
    participant = domain.join();
    writer = make_writer(*participant, "t", qos, number_type(), big_pool());
    reader = make_reader(*participant, "t", qos);
    if (!matched(*writer, 1) || !matched(*reader, 1)) throw std::runtime_error("no match");
  }
  TestDomain domain;
  std::shared_ptr<Participant> participant;
  std::shared_ptr<Writer> writer;
  std::shared_ptr<Reader> reader;
  /// Slots that the publisher cannot use again, after it looked.
  std::size_t published() {
    writer->abandon(writer->loan_sized(8).or_throw());
    return writer->memory_account().published_slots;
  }
};

QoS last(std::uint32_t depth, std::uint32_t held = 0) {
  QoS qos(depth);
  if (held != 0) qos.held = held;
  return qos;
}

TEST(Heap, a_program_linked_to_it_first_is_seen_freeing) {
  EXPECT_TRUE(active()) << reason();
  EXPECT_NE(reason().find("libbaton_heap.so"), std::string::npos);
  EXPECT_TRUE(reaches([](void* p, void*) { std::free(p); }, nullptr));
  EXPECT_FALSE(reaches([](void*, void*) {}, nullptr));
}

TEST(Heap, a_library_that_binds_its_own_free_is_found_before_it_is_given_anything) {
  ASSERT_TRUE(active()) << reason();
  for (const std::string& stranger : strangers()) ADD_FAILURE() << stranger << " frees elsewhere";
  const auto load = [](int flags) {
    void* library = ::dlopen(BATON_HEAP_PLUG_IN, RTLD_NOW | RTLD_LOCAL | flags);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    const auto free_there = reinterpret_cast<void (*)(void*, void*)>(::dlsym(library, "plug_in_free"));
    const std::pair<bool, std::size_t> seen{reaches(free_there, nullptr), strangers().size()};
    ::dlclose(library);
    return seen;
  };
  EXPECT_EQ(load(0), std::make_pair(true, std::size_t{0}));
  EXPECT_EQ(load(RTLD_DEEPBIND), std::make_pair(false, std::size_t{1}));
}

TEST(Heap, a_taken_vector_lies_in_the_publishers_memory_and_gives_it_back_when_it_is_destroyed) {
  Pair pair;
  publish_bytes(*pair.writer, 7);
  const Counters before = counters();
  {
    const std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
    EXPECT_TRUE(memory::in_window(vector.data()));
    EXPECT_EQ(vector.size(), kBig);
    EXPECT_EQ(vector[0], 7);
    EXPECT_EQ(vector.back(), 7);
    EXPECT_EQ(counters().live_buffers, before.live_buffers + 1);
    EXPECT_EQ(counters().live_messages, before.live_messages + 1);
    EXPECT_EQ(pair.published(), 1U);
  }
  EXPECT_EQ(counters().live_buffers, before.live_buffers);
  EXPECT_EQ(counters().live_messages, before.live_messages);
  EXPECT_EQ(counters().freed, before.freed + 1);
  EXPECT_EQ(counters().unknown, before.unknown);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, what_the_program_writes_is_its_own_and_the_next_message_in_these_pages_is_whole) {
  for (const os::ChangeFinder finder :
       {os::ChangeFinder::kUnknown, os::ChangeFinder::kScan, os::ChangeFinder::kPagemap, os::ChangeFinder::kNone}) {
    Pair pair;
    os::force_change_finder(finder);
    const std::uint8_t* place = nullptr;
    bool again = false;
    for (std::uint8_t round = 1; round <= 8; ++round) {
      publish_bytes(*pair.writer, round);
      TakenSample sample = take_sample(*pair.reader);
      const auto* shared = static_cast<const std::uint8_t*>(sample.message());
      std::vector<std::uint8_t> vector = aliased(std::move(sample));
      again = again || vector.data() == place;
      place = vector.data();
      for (std::size_t i = 0; i < kBig; i += 64) ASSERT_EQ(vector[i], round) << "at " << i;
      const Counters before = counters();
      vector[0] = 200;
      vector[10 * kPage] = 201;
      vector[kBig - 1] = 202;
      EXPECT_EQ(shared[0], round);
      EXPECT_EQ(shared[10 * kPage], round);
      drop(vector);
      if (finder != os::ChangeFinder::kNone) {
        EXPECT_EQ(counters().discarded_pages, before.discarded_pages + 3);
      }
    }
    EXPECT_TRUE(again) << "no message ever lay where an earlier one was changed: this tests nothing";
  }
  os::force_change_finder(os::ChangeFinder::kUnknown);
}

TEST(Heap, a_vector_may_be_moved_out_grown_shrunk_and_copied) {
  Pair pair;
  publish_bytes(*pair.writer, 9);
  std::vector<std::uint8_t> first = aliased(take_sample(*pair.reader));
  const std::uint8_t* place = first.data();
  std::vector<std::uint8_t> moved = std::move(first);
  EXPECT_EQ(moved.data(), place);
  std::vector<std::uint8_t> copy = moved;
  EXPECT_FALSE(memory::in_window(copy.data()));
  EXPECT_EQ(pair.published(), 1U);
  moved.push_back(1);  // beyond the capacity: moves to the heap
  EXPECT_FALSE(memory::in_window(moved.data()));
  EXPECT_EQ(moved.size(), kBig + 1);
  EXPECT_EQ(moved[kBig - 1], 9);
  EXPECT_EQ(pair.published(), 0U);

  publish_bytes(*pair.writer, 10);
  std::vector<std::uint8_t> second = aliased(take_sample(*pair.reader));
  second.resize(100);
  EXPECT_TRUE(memory::in_window(second.data()));
  second.shrink_to_fit();
  EXPECT_FALSE(memory::in_window(second.data()));
  EXPECT_EQ(second, std::vector<std::uint8_t>(100, 10));
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, C_code_may_realloc_and_free_a_buffer) {
  Pair pair;
  const auto buffer_of = [&](std::uint8_t value) {
    publish_bytes(*pair.writer, value);
    TakenSample sample = take_sample(*pair.reader);
    Received received = Received::begin(sample).or_throw();
    return received.alias(received.message(), kBig, 1);
  };
  void* buffer = buffer_of(1);
  EXPECT_EQ(::malloc_usable_size(buffer), kBig);
  auto* grown = static_cast<std::uint8_t*>(std::realloc(buffer, kBig + 1));
  EXPECT_FALSE(memory::in_window(grown));
  EXPECT_EQ(grown[kBig - 1], 1);
  std::free(grown);
  auto* shrunk = static_cast<std::uint8_t*>(::reallocarray(buffer_of(2), 10, 10));
  EXPECT_FALSE(memory::in_window(shrunk));
  EXPECT_EQ(shrunk[99], 2);
  std::free(shrunk);
  buffer = buffer_of(3);
  volatile std::size_t huge = ~std::size_t{0} / 2;
  const auto too_much = [&](void* volatile p) { return ::reallocarray(p, huge, 3); };
  EXPECT_EQ(too_much(buffer), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 77;
  std::free(buffer);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(pair.published(), 0U);
  EXPECT_EQ(std::realloc(buffer_of(4), 0), nullptr);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, several_arrays_of_one_message_keep_it_until_the_last_is_freed) {
  Pair pair;
  publish_bytes(*pair.writer, 5);
  std::vector<float> floats;
  std::vector<std::uint8_t> bytes;
  {
    TakenSample sample = take_sample(*pair.reader);
    Received received = Received::begin(sample).or_throw();
    EXPECT_FALSE(sample);
    adopt(floats, received.alias(received.message(), 4096, alignof(float)), 1024, 1024);
    EXPECT_EQ(received.alias(received.message(), 8, 1), nullptr) << "there is a buffer already";
    EXPECT_EQ(received.alias(received.message() + 4097, 8, alignof(float)), nullptr) << "misaligned";
    EXPECT_EQ(received.alias(received.message() + kBig - 7, 8, 1), nullptr) << "ends behind the message";
    EXPECT_EQ(received.alias(received.message() - 1, 8, 1), nullptr);
    EXPECT_EQ(received.alias(&sample, 8, 1), nullptr);
    adopt(bytes, received.alias(received.message() + 4096, 1000, 1), 1000, 1000);
  }
  EXPECT_EQ(pair.published(), 1U);
  drop(floats);
  EXPECT_EQ(pair.published(), 1U);
  EXPECT_EQ(bytes[999], 5);
  drop(bytes);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, two_subscriptions_of_one_process_change_the_same_message_independently) {
  Pair pair;
  const auto other = make_reader(*pair.participant, "t", QoS(4));
  ASSERT_TRUE(matched(*other, 1) && matched(*pair.writer, 2));
  publish_bytes(*pair.writer, 3);
  std::vector<std::uint8_t> a = aliased(take_sample(*pair.reader));
  std::vector<std::uint8_t> b = aliased(take_sample(*other));
  EXPECT_NE(a.data(), b.data());
  a[0] = 1;
  b[0] = 2;
  EXPECT_EQ(a[0], 1);
  EXPECT_EQ(b[0], 2);
  drop(a);
  EXPECT_EQ(b[0], 2);
  EXPECT_EQ(pair.published(), 1U);
  drop(b);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, a_message_that_shares_its_page_is_to_be_copied) {
  Pair pair;
  publish_bytes(*pair.writer, 3, 1900);
  TakenSample sample = take_sample(*pair.reader);
  EXPECT_EQ(Received::begin(sample).error().code, Errc::unsupported);
  EXPECT_TRUE(sample) << "still the caller's";
  publish_bytes(*pair.writer, 4, 2000);
  EXPECT_EQ(aliased(take_sample(*pair.reader))[1999], 4);
}

TEST(Heap, buffers_are_freed_by_eight_threads_while_messages_come) {
  Pair pair(last(8, 32));
  constexpr int kRounds = 100;
  const Counters before = counters();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::vector<std::uint8_t>> held;
    for (int i = 0; i < 8; ++i) {
      publish_bytes(*pair.writer, static_cast<std::uint8_t>(round + i), 20000);
      held.push_back(aliased(take_sample(*pair.reader)));
      held.back()[static_cast<std::size_t>(round)] = 1;
    }
    std::vector<std::thread> threads;
    for (auto& vector : held) threads.emplace_back([mine = std::move(vector)]() mutable { drop(mine); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(counters().freed, before.freed + 8 * kRounds);
  EXPECT_EQ(counters().unknown, before.unknown);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, whatever_threads_write_and_free_meanwhile_every_message_arrives_as_it_was_published) {
  Pair pair(last(8, 32));
  constexpr std::size_t kMessages = 3000, kThreads = 4;
  std::atomic<std::size_t> wrong{0}, freed{0};
  struct Worker {
    std::mutex mutex;
    std::vector<std::vector<std::uint8_t>> work;
    bool done = false;
  } workers[kThreads];
  std::vector<std::thread> threads;
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      for (bool done = false; !done;) {
        std::vector<std::vector<std::uint8_t>> mine;
        {
          const std::lock_guard<std::mutex> lock(worker.mutex);
          mine.swap(worker.work);
          done = worker.done;
        }
        for (std::vector<std::uint8_t>& vector : mine) {
          const std::uint8_t value = vector[0];
          for (std::size_t at = 0; at < vector.size(); at += 512) wrong += vector[at] != value;
          for (std::size_t at = value % 5U * kPage; at < vector.size(); at += 3 * kPage) vector[at] = 250;
          drop(vector);
          ++freed;
        }
        std::this_thread::yield();
      }
    });
  }
  for (std::size_t i = 0; i < kMessages; ++i) {
    while (i >= freed + 24) std::this_thread::yield();
    publish_bytes(*pair.writer, static_cast<std::uint8_t>(i % 200), i % 7 == 0 ? 300000 : 20000);
    std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
    Worker& worker = workers[i % kThreads];
    const std::lock_guard<std::mutex> lock(worker.mutex);
    worker.work.push_back(std::move(vector));
  }
  for (Worker& worker : workers) {
    const std::lock_guard<std::mutex> lock(worker.mutex);
    worker.done = true;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(freed, kMessages);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, vectors_outlive_subscription_participant_and_a_killed_publisher) {
  ASSERT_TRUE(active());
  TestDomain domain;
  Child publisher([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t", QoS(4), number_type(), big_pool());
    BATON_CHECK(matched(*writer, 1));
    publish_bytes(*writer, 66);
    self.say();
    self.hear();
  });
  std::vector<std::uint8_t> vector;
  {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    ASSERT_EQ(publisher.hear(), '.');
    vector = aliased(take_sample(*reader));
    publisher.kill();
    EXPECT_EQ(publisher.wait(), -SIGKILL);
    EXPECT_TRUE(matched(*reader, 0));
    vector[kPage] = 1;
  }
  EXPECT_EQ(vector[0], 66);
  EXPECT_EQ(vector[kPage], 1);
  EXPECT_EQ(vector[kBig - 1], 66);
  vector.resize(kBig + 1);
  EXPECT_EQ(vector[kBig - 1], 66);
  EXPECT_EQ(counters().live_messages, 0U);
}

TEST(Heap, a_process_that_locks_its_memory_is_told_to_copy) {
  ASSERT_TRUE(active());
  Child child([](Child&) {
    if (!os::lock_memory().ok()) ::_exit(3);
    Pair pair;
    publish_bytes(*pair.writer, 6);
    TakenSample sample = take_sample(*pair.reader);
    const Result<Received> received = Received::begin(sample);
    BATON_CHECK(!received.ok() && received.error().code == Errc::unsupported);
    BATON_CHECK(sample && received.error().message.find("locks its memory") != std::string::npos);
  });
  const int status = child.wait();
  if (status == 3) GTEST_SKIP() << "this process may not lock its memory";
  EXPECT_EQ(status, 0);
}

TEST(Heap, messages_are_whole_although_the_program_locks_its_memory_meanwhile) {
  ASSERT_TRUE(active());
  Child child([](Child&) {
    Pair pair;
    const auto take = [&](std::uint8_t value) {
      publish_bytes(*pair.writer, value);
      std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
      for (std::size_t at = 0; at < kBig; at += kPage) BATON_CHECK(vector[at] == value);
      return vector;
    };
    std::vector<std::vector<std::uint8_t>> held;
    for (std::uint8_t i = 1; i <= 4; ++i) held.push_back(take(i));
    held.resize(1);
    if (::mlockall(MCL_CURRENT) != 0) ::_exit(3);  // copies every page of the private mapping: of messages to come, too
    for (std::uint8_t i = 5; i <= 20; ++i) {
      if (held.size() == 4) held.erase(held.begin());
      held.push_back(take(i));
    }
    BATON_CHECK(::munlockall() == 0);
    for (std::uint8_t i = 21; i <= 40; ++i) {
      held.erase(held.begin());
      held.push_back(take(i));
    }
  });
  const int status = child.wait();
  if (status == 3) GTEST_SKIP() << "this process may not lock its memory";
  EXPECT_EQ(status, 0);
}

TEST(Heap, the_publisher_in_another_process_gets_its_memory_back) {
  ASSERT_TRUE(active());
  TestDomain domain;
  Child publisher([&](Child& self) {
    const auto participant = domain.join();
    // One message may be held: one that is never given back would end this.
    const auto writer = make_writer(*participant, "t", last(1, 1), number_type(), big_pool());
    BATON_CHECK(matched(*writer, 1));
    for (std::uint8_t i = 1; i <= 50; ++i) {
      BATON_CHECK(self.hear() == '.');
      publish_bytes(*writer, i);
    }
    BATON_CHECK(self.hear() == '.');
    writer->abandon(writer->loan_sized(8).or_throw());
    BATON_CHECK(writer->memory_account().published_slots == 0);
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", last(1, 1));
  ASSERT_TRUE(matched(*reader, 1));
  for (std::uint8_t i = 1; i <= 50; ++i) {
    publisher.say();
    std::vector<std::uint8_t> vector = aliased(take_sample(*reader));
    ASSERT_EQ(vector[kBig / 2], i);
    vector[kBig / 2] = 0;
  }
  publisher.say();
  EXPECT_EQ(publisher.wait(), 0);
}

TEST(Heap, a_forked_child_may_free_what_it_inherited_and_takes_nothing_from_its_parent) {
  Pair pair;
  publish_bytes(*pair.writer, 8);
  std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
  vector[0] = 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(250);
    bool good = vector[0] == 1 && vector[kPage] == 8;
    vector[0] = 2;
    drop(vector);
    good = good && counters().live_buffers == 0;
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(vector[0], 1);
  EXPECT_EQ(vector[kPage], 8);
  EXPECT_EQ(pair.published(), 1U);
  drop(vector);
  EXPECT_EQ(pair.published(), 0U);
}

TEST(Heap, a_child_forked_while_other_threads_free_may_free_too) {
  Pair pair;
  std::atomic<bool> done{false};
  publish_bytes(*pair.writer, 8);
  std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
  std::thread busy([&] {
    while (!done) static_cast<void>(counters());
  });
  int failed = 0;
  for (int i = 0; i < 300 && failed == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(250);
      drop(vector);
      ::_exit(counters().live_buffers == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    failed = status;
  }
  done = true;
  busy.join();
  EXPECT_EQ(failed, 0);
}

/// struct { u32 length; i32 offset; } and contents behind it, as a message of one uint8[] is.
struct Skeleton {
  std::uint32_t length;
  std::int32_t offset;
};

/// What a program does with a native message; then as the RMW would publish it. Returns the number of copies.
template <class Fill>
int fill_and_publish(Pair& pair, std::size_t capacity, Fill fill) {
  Loaned loan = Loaned::begin(pair.writer, pair.writer->loan_growing().or_throw()).or_throw();
  std::vector<std::uint8_t> native;
  adopt(native, loan.buffer(capacity, 64).or_throw(), 0, capacity);
  fill(native);
  const auto publish = [&](const memory::Chunk& chunk, const std::uint8_t* content, std::size_t size) {
    auto* skeleton = static_cast<Skeleton*>(chunk.message());
    skeleton->length = static_cast<std::uint32_t>(size);
    skeleton->offset = static_cast<std::int32_t>(content - reinterpret_cast<const std::uint8_t*>(&skeleton->offset));
    pair.writer->publish(chunk).or_throw();
  };
  const std::size_t size = native.size();
  const bool in_place = size != 0 && loan.reclaim(native.data(), size);
  if (in_place && loan.outstanding() == 0) {
    const std::uint8_t* content = forget(native);
    publish(loan.detach(), content, size);
    return 0;
  }
  const memory::Chunk fresh = pair.writer->loan_growing().or_throw();
  auto* content = static_cast<std::uint8_t*>(memory::content_allocate(fresh.message(), size + 1, 64));
  std::memcpy(content, native.data(), size);
  publish(fresh, content, size);
  return 1;
}

std::vector<std::uint8_t> taken_array(Pair& pair) {
  TakenSample sample = take_sample(*pair.reader);
  Received received = Received::begin(sample).or_throw();
  const auto* skeleton = reinterpret_cast<const Skeleton*>(received.message());
  std::vector<std::uint8_t> vector;
  const std::byte* content = reinterpret_cast<const std::byte*>(&skeleton->offset) + skeleton->offset;
  if (skeleton->length != 0)
    adopt(vector, received.alias(content, skeleton->length, 1), skeleton->length, skeleton->length);
  return vector;
}

TEST(Heap, an_array_filled_within_a_loans_capacity_is_never_copied) {
  Pair pair;
  EXPECT_EQ(fill_and_publish(pair, kBig, [](auto& data) { data.assign(kBig, 4); }), 0);
  EXPECT_EQ(taken_array(pair), std::vector<std::uint8_t>(kBig, 4));
  EXPECT_EQ(fill_and_publish(pair, kBig,
                             [](auto& data) {
                               for (int i = 0; i < 100000; ++i) data.push_back(static_cast<std::uint8_t>(i));
                             }),
            0);
  const std::vector<std::uint8_t> vector = taken_array(pair);
  ASSERT_EQ(vector.size(), 100000U);
  EXPECT_EQ(vector[99999], static_cast<std::uint8_t>(99999));
}

TEST(Heap, an_array_that_outgrows_its_loan_or_is_replaced_is_copied_once) {
  Pair pair;
  EXPECT_EQ(fill_and_publish(pair, 1000, [](auto& data) { data.assign(5000, 4); }), 1);
  EXPECT_EQ(taken_array(pair), std::vector<std::uint8_t>(5000, 4));
  EXPECT_EQ(fill_and_publish(pair, 1000, [](auto& data) { data = std::vector<std::uint8_t>(5000, 5); }), 1);
  EXPECT_EQ(taken_array(pair), std::vector<std::uint8_t>(5000, 5));
  EXPECT_EQ(counters().live_messages, 0U);
}

TEST(Heap, a_buffer_that_the_program_moved_away_stays_its_own_and_readers_never_see_it_change) {
  Pair pair;
  std::vector<std::uint8_t> kept;
  EXPECT_EQ(fill_and_publish(pair, kBig,
                             [&](auto& data) {
                               data.assign(5000, 4);
                               kept = std::move(data);
                               data.assign(3000, 6);
                             }),
            1);
  EXPECT_EQ(counters().live_messages, 1U);
  kept.assign(6000, 9);
  EXPECT_TRUE(memory::in_window(kept.data()));
  EXPECT_EQ(taken_array(pair), std::vector<std::uint8_t>(3000, 6));
  EXPECT_EQ(pair.writer->memory_account().loaned_slots, 1U);
  drop(kept);
  EXPECT_EQ(pair.writer->memory_account().loaned_slots, 0U);
  EXPECT_EQ(counters().live_messages, 0U);
}

TEST(Heap, a_taken_vector_costs_no_page_of_memory_until_it_is_written) {
  Pair pair;
  const auto private_kb = [] {
    std::ifstream file("/proc/self/status");
    std::string word;
    while (file >> word)
      if (word == "RssAnon:") break;
    long kb = 0;
    file >> kb;
    return kb;
  };
  publish_bytes(*pair.writer, 1);
  std::vector<std::uint8_t> vector = aliased(take_sample(*pair.reader));
  const long before = private_kb();
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : vector) sum += byte;
  EXPECT_EQ(sum, kBig);
  EXPECT_LT(private_kb() - before, 1024) << "reading copied";
  for (std::size_t i = 0; i < kBig; i += kPage) vector[i] = 2;
  EXPECT_GT(private_kb() - before, 5 * 1024) << "writing did not copy";
  drop(vector);
  EXPECT_LT(private_kb() - before, 1024) << "the changed pages were not given back";
}

}  // namespace
}  // namespace baton::containers
