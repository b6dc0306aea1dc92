// SPDX-License-Identifier: Apache-2.0
// What the headers of the codecs promise about costs, by counting allocations and bytes, never time.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "baton/message/cdr_codec.hpp"
#include "baton/message/partial.hpp"
#include "baton/message/ros1_codec.hpp"
#include "testing/build.hpp"

namespace {
std::atomic<std::size_t> g_allocations{0};
}

void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace baton::message {
namespace {

using testing::define;

constexpr const char* kType =
    "message t/A\nt/Header header\nuint8[] data\nt/Field[] fields\nmessage t/Header\nuint32 seq\nstring frame_id\n"
    "message t/Field\nstring name\nfloat64[3] value\nbool[] flags\n";

FlatBuffer message_of(const Type& type, std::size_t payload) {
  FlatBuffer buffer;
  FlatBuilder builder(buffer);
  builder.begin(type).or_throw();
  builder.add_string(4, "a frame", 7).or_throw();
  builder.add_zeroed_sequence(12, payload, {1, 1}).or_throw();
  const std::size_t fields = builder.add_zeroed_sequence(20, 3, element_layout(type.fields[2])).or_throw();
  for (std::size_t i = 0; i < 3; ++i) builder.add_string(fields + i * type.fields[2].type->size, "field", 5).or_throw();
  return buffer;
}

template <class Codec>
std::size_t allocations_of_a_round_trip(const Codec& codec, Bytes message, FlatBuffer& decoded,
                                        std::vector<std::byte>& wire) {
  FlatBuilder builder(decoded);
  const std::size_t before = g_allocations.load();
  const auto size = codec.encoded_size(message);
  const auto written = codec.encode(message, {wire.data(), wire.size()});
  const bool read = codec.decode({wire.data(), *written}, builder).ok();
  const std::size_t after = g_allocations.load();
  EXPECT_TRUE(read && *size == *written);
  return after - before;
}

TEST(CodecCosts, AnEncoderAndADecoderThatHaveWarmedUpAllocateNothing) {
  const Definition type = define(kType);
  const FlatBuffer message = message_of(type.type(), 100000);
  FlatBuffer decoded;
  std::vector<std::byte> wire(200000);
  const Ros1Codec ros1 = Ros1Codec::compile(type.type()).or_throw();
  const CdrCodec cdr = CdrCodec::compile(type.type()).or_throw();
  allocations_of_a_round_trip(ros1, message.bytes(), decoded, wire);
  EXPECT_EQ(allocations_of_a_round_trip(ros1, message.bytes(), decoded, wire), 0U);
  EXPECT_EQ(allocations_of_a_round_trip(cdr, message.bytes(), decoded, wire), 0U);
}

TEST(CodecCosts, TheControlPartDoesNotGrowWithThePayload) {
  const Definition type = define(kType);
  const PartialSerializer partial = PartialSerializer::compile(type.type()).or_throw();
  const FlatBuffer small = message_of(type.type(), 10);
  const FlatBuffer big = message_of(type.type(), 10'000'000);
  EXPECT_EQ(partial.control_size(small.bytes()).or_throw(), partial.control_size(big.bytes()).or_throw());
}

}  // namespace
}  // namespace baton::message
