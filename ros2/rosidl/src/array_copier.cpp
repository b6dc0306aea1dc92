// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <vector>

#include "baton/os/hot_path.hpp"
#include "baton/os/huge_pages.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "rcutils/allocator.h"
#include "rosidl_runtime_c/primitives_sequence.h"

namespace baton::rosidl {
namespace {

constexpr std::size_t kLargeArrayBytes = std::size_t{2} << 20;  // a huge page: a smaller array contains none

std::atomic<bool> g_huge_pages{true};  // a switch that orders nothing: relaxed

/// For an array that was just allocated and not touched yet.
void prepare_large(void* array, std::size_t bytes) noexcept {
  if (g_huge_pages.load(std::memory_order_relaxed)) os::ask_for_huge_pages(array, bytes);
}

template <class Scalar>
BATON_HOT void assign_vector(void* native, const std::byte* content, std::size_t count) {
  auto& vector = *static_cast<std::vector<Scalar>*>(native);
  if (count > vector.capacity() && count * sizeof(Scalar) >= kLargeArrayBytes) {
    out_of_line([&] {
      vector = {};
      vector.reserve(count);
      prepare_large(vector.data(), count * sizeof(Scalar));
    });
  }
  const auto* begin = reinterpret_cast<const Scalar*>(content);
  vector.assign(begin, begin + count);
}

BATON_HOT_SELDOM bool assign_sequence(void* native, const std::byte* content, std::size_t count,
                                      std::size_t element_bytes) {
  auto& sequence = *static_cast<rosidl_runtime_c__uint8__Sequence*>(native);  // all are {pointer, size, capacity}
  if (sequence.capacity < count) {
    // rosidl's sequences use this allocator, whichever allocator made the message.
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    void* grown = allocator.allocate(count * element_bytes, allocator.state);
    if (grown == nullptr) return false;
    allocator.deallocate(sequence.data, allocator.state);
    sequence.data = static_cast<std::uint8_t*>(grown);
    sequence.capacity = count;
    if (count * element_bytes >= kLargeArrayBytes) prepare_large(grown, count * element_bytes);
  }
  std::memcpy(sequence.data, content, count * element_bytes);
  sequence.size = count;
  return true;
}

}  // namespace

void ArrayCopier::use_huge_pages(bool wanted) noexcept { g_huge_pages.store(wanted, std::memory_order_relaxed); }

BATON_HOT bool ArrayCopier::take(void* native, bool c, const std::byte* content, std::size_t count,
                                 std::size_t element_bytes) {
  copied_bytes_ += count * element_bytes;
  if (c) return assign_sequence(native, content, count, element_bytes);
  // A vector of scalars is the same for all scalars of one size.
  switch (element_bytes) {
    case 1:
      assign_vector<std::uint8_t>(native, content, count);
      break;
    case 2:
      assign_vector<std::uint16_t>(native, content, count);
      break;
    case 4:
      assign_vector<std::uint32_t>(native, content, count);
      break;
    default:
      assign_vector<std::uint64_t>(native, content, count);
      break;
  }
  return true;
}

}  // namespace baton::rosidl
