// SPDX-License-Identifier: Apache-2.0
// An ordinary program, to be started with and without LD_PRELOAD: says whether aliasing is on and, if so, does to received vectors
// whatever programs do. Ends with status 0 and "done" if every buffer came back.
//
// Variants: BATON_TEST_OWN_FREE (an allocator of its own, which aborts at addresses that it does not know, as real ones do),
// BATON_TEST_OWN_DELETE (its own operator new and delete).
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#include "baton/containers/containers.hpp"
#include "baton/containers/heap.hpp"
#include "baton/containers/received.hpp"
#include "baton/memory/arena.hpp"
#include "baton/memory/window.hpp"
#include "endpoint_test_support.hpp"

#if defined(BATON_TEST_OWN_FREE) || defined(BATON_TEST_OWN_DELETE)
namespace {

struct alignas(16) BlockHead {
  std::size_t bytes;
  std::size_t magic;
};
constexpr std::size_t kMagic = 0x0717a110c;
alignas(4096) char g_arena[std::size_t{64} << 20];
std::size_t g_used = 0;

void* own_allocate(std::size_t bytes, std::size_t alignment = 16) {
  std::size_t at = __atomic_load_n(&g_used, __ATOMIC_RELAXED), place;
  do {
    place = (at + sizeof(BlockHead) + alignment - 1) / alignment * alignment;
    if (place + bytes > sizeof g_arena) return nullptr;
  } while (!__atomic_compare_exchange_n(&g_used, &at, place + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  auto* head = reinterpret_cast<BlockHead*>(g_arena + place) - 1;
  head->bytes = bytes;
  head->magic = kMagic;
  return g_arena + place;
}

void own_free(void* p) {
  if (p == nullptr) return;
  if (p < g_arena || p >= g_arena + sizeof g_arena || (static_cast<BlockHead*>(p) - 1)->magic != kMagic) std::abort();
}

}  // namespace
#endif

#ifdef BATON_TEST_OWN_FREE
extern "C" {
void* malloc(std::size_t bytes) { return own_allocate(bytes); }
void free(void* p) { own_free(p); }
void* calloc(std::size_t count, std::size_t bytes) { return own_allocate(count * bytes); }
void* realloc(void* p, std::size_t bytes) {
  own_free(p);
  void* moved = own_allocate(bytes);
  if (p != nullptr && moved != nullptr) {
    const std::size_t had = (static_cast<BlockHead*>(p) - 1)->bytes;
    std::memcpy(moved, p, had < bytes ? had : bytes);
  }
  return moved;
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return own_allocate(bytes, alignment); }
void* memalign(std::size_t alignment, std::size_t bytes) { return own_allocate(bytes, alignment); }
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) {
  *p = own_allocate(bytes, alignment);
  return *p != nullptr ? 0 : 12;
}
std::size_t malloc_usable_size(void* p) { return p != nullptr ? (static_cast<BlockHead*>(p) - 1)->bytes : 0; }
}
#endif

#ifdef BATON_TEST_OWN_DELETE
void* operator new(std::size_t bytes) {
  void* p = own_allocate(bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { own_free(p); }
void operator delete(void* p, std::size_t) noexcept { own_free(p); }
#endif

namespace baton::containers {
namespace {

using namespace transport::test;

constexpr std::size_t kBytes = std::size_t{1} << 20;

std::vector<std::uint8_t> g_to_the_end;               // freed when the program's static objects go
thread_local std::vector<std::uint8_t> t_to_the_end;  // freed when its thread goes

std::vector<std::uint8_t> take(transport::Reader& reader) {
  transport::TakenSample sample = take_sample(reader);
  Received received = Received::begin(sample).or_throw();
  std::vector<std::uint8_t> vector;
  adopt(vector, received.alias(received.message(), kBytes, 1), kBytes, kBytes);
  return vector;
}

void use() {
  TestDomain domain;
  const auto participant = domain.join();
  memory::PoolOptions pool;
  pool.max_message_bytes = 2 * kBytes;
  const auto writer = make_writer(*participant, "t", QoS(8), number_type(), pool);
  const auto reader = make_reader(*participant, "t", QoS(8));
  if (!matched(*writer, 1) || !matched(*reader, 1)) throw std::runtime_error("no match");
  const auto publish = [&](std::uint8_t value) {
    const memory::Chunk chunk = writer->loan_sized(kBytes).or_throw();
    memory::content_allocate(chunk.message(), kBytes - 8, 1);
    std::memset(chunk.message(), value, kBytes);
    writer->publish(chunk).or_throw();
  };
  const auto expect = [](bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
  };
  for (std::uint8_t round = 0; round < 20; ++round) {
    publish(round);
    std::vector<std::uint8_t> first = take(*reader);
    publish(round);
    std::vector<std::uint8_t> second = take(*reader);
    publish(round);
    auto third = std::make_shared<std::vector<std::uint8_t>>(take(*reader));
    publish(round);
    std::vector<std::uint8_t> fourth = take(*reader);
    for (const auto* each : {&first, &second, third.get(), &fourth})
      expect(memory::in_window(each->data()) && each->at(kBytes - 1) == round, "content");
    std::thread([&] { (t_to_the_end = std::move(first))[0] = 1; }).join();
    second.push_back(7);
    expect(!memory::in_window(second.data()) && second[kBytes - 1] == round && second[kBytes] == 7, "grown");
    (*third)[5000] = 99;
    third.reset();
    void* moved = std::realloc(forget(fourth), kBytes * 2);
    expect(static_cast<std::uint8_t*>(moved)[kBytes - 1] == round, "realloc");
    std::free(moved);
  }
  publish(1);
  g_to_the_end = take(*reader);
  publish(1);
  t_to_the_end = take(*reader);
  const Counters now = counters();
  expect(now.live_buffers == 2 && now.live_messages == 2 && now.unknown == 0 && now.freed == 80,
         "every buffer comes back once");
}

}  // namespace
}  // namespace baton::containers

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--dlopen") == 0 && ::dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  const bool active = baton::containers::active();
  std::printf("%s: %s\n", active ? "active" : "inactive", baton::containers::reason().c_str());
  try {
    if (active) baton::containers::use();
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
  std::printf("done\n");
  return 0;
}
