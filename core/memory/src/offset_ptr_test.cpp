// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/offset_ptr.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "baton/os/shared_memory.hpp"

using namespace baton;
using baton::memory::OffsetPtr;

namespace {

struct Node {
  int value = 0;
  OffsetPtr<Node> next;
};

}  // namespace

TEST(OffsetPtr, ZeroBytesAreNull) {
  alignas(8) std::array<std::byte, 8> bytes{};
  const auto* pointer = reinterpret_cast<const OffsetPtr<int>*>(bytes.data());
  EXPECT_FALSE(*pointer);
  EXPECT_EQ(pointer->get(), nullptr);
  EXPECT_EQ(OffsetPtr<int>(nullptr).get(), nullptr);
}

TEST(OffsetPtr, ACopyElsewherePointsToTheSameObject) {
  std::array<int, 3> values{1, 2, 3};
  std::array<OffsetPtr<int>, 2> pointers{&values[2], &values[0]};
  std::swap(pointers[0], pointers[1]);
  EXPECT_EQ(*pointers[0], 1);
  EXPECT_EQ(*pointers[1], 3);
  OffsetPtr<const int> constant = pointers[0];
  EXPECT_EQ(constant.get(), values.data());
  pointers[0] = pointers[1];
  EXPECT_EQ(pointers[0], pointers[1]);
  pointers[0] = nullptr;
  EXPECT_NE(pointers[0], pointers[1]);
}

TEST(OffsetPtr, AListReadsTheSameThroughTwoMappingsOfItsSegment) {
  auto segment = os::create_segment("list", 4096, os::Writers::kOnlyCreator);
  ASSERT_TRUE(segment.ok()) << segment.error().message;
  auto* nodes = reinterpret_cast<Node*>(segment->mapping.base());
  for (int i = 0; i < 3; ++i) nodes[i].value = i;
  nodes[0].next = &nodes[2];
  nodes[2].next = &nodes[1];
  auto elsewhere = os::map_segment(segment->fd, 4096, os::Writers::kOnlyCreator);
  ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message;
  ASSERT_NE(elsewhere->base(), segment->mapping.base());
  const auto* first = reinterpret_cast<const Node*>(elsewhere->base());
  EXPECT_EQ(first->next->value, 2);
  EXPECT_EQ(first->next->next->value, 1);
  EXPECT_FALSE(first->next->next->next);
}

TEST(OffsetPtr, ADistanceThatLeavesItsSegmentIsNoPointer) {
  alignas(8) std::array<std::byte, 64> segment{};
  auto* pointer = new (segment.data() + 16) OffsetPtr<std::uint32_t>();
  const auto inside = [&](std::int64_t distance, std::size_t bytes) {
    std::memcpy(segment.data() + 16, &distance, sizeof distance);
    return pointer->points_into(segment.data(), segment.size(), bytes);
  };
  EXPECT_EQ(inside(0, 4), nullptr);
  EXPECT_EQ(static_cast<void*>(inside(-16, 64)), segment.data());
  EXPECT_EQ(inside(-16, 65), nullptr);
  EXPECT_NE(inside(44, 4), nullptr);
  EXPECT_EQ(inside(45, 4), nullptr) << "beyond the end, and misaligned";
  EXPECT_EQ(inside(42, 2), nullptr) << "misaligned";
  EXPECT_EQ(inside(48, 0), nullptr);
  EXPECT_EQ(inside(-17, 4), nullptr);
  for (std::int64_t extreme : {INT64_MIN, INT64_MAX, std::int64_t{1} << 47, -(std::int64_t{1} << 47)})
    EXPECT_EQ(inside(extreme, 4), nullptr);
}
