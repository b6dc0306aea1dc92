// SPDX-License-Identifier: Apache-2.0
#include "spans.hpp"

#include <string>

#include "baton/os/crash_point.hpp"

namespace baton::objects::detail {

Error no_room(std::size_t bytes, std::size_t limit) {
  return {Errc::limit_reached, "the shared heap of " + std::to_string(limit) + " bytes has no room for " +
                                   std::to_string(bytes) + " more; free objects, or make it with a higher limit_bytes"};
}

std::uint32_t Spans::run_of(std::uint32_t first) const noexcept {
  std::uint32_t end = first + 1;
  while (end < words_.count && load(end) == span_word(SpanKind::kRest, first)) ++end;
  return end - first;
}

Result<void> Spans::back(std::uint32_t end) {
  const std::uint32_t from = words_.backed.load(std::memory_order_relaxed);  // under lock()
  if (end <= from) return {};
  Result<void> backed = mapping_.back(std::size_t{from} * kSpanBytes, (end - from) * kSpanBytes);
  if (backed) words_.backed.store(end, std::memory_order_relaxed);
  return backed;
}

std::optional<Result<std::uint32_t>> Spans::take(std::uint32_t count) {
  std::uint32_t found = 0;
  for (std::uint32_t at = words_.first; at < words_.count; ++at) {
    if (kind_of(load(at)) != SpanKind::kFree) {
      found = 0;
    } else if (++found == count) {
      const std::uint32_t first = at + 1 - count;
      if (Result<void> backed = back(at + 1); !backed) return Result<std::uint32_t>(backed.error());
      table_[first].store(span_word(SpanKind::kPending, mapping_.me()), std::memory_order_release);  // [W]
      BATON_CRASH_POINT("shared.heap.run_begun");
      for (std::uint32_t i = first + 1; i <= at; ++i)
        table_[i].store(span_word(SpanKind::kRest, first), std::memory_order_release);  // [W]
      BATON_CRASH_POINT("shared.heap.run_taken");
      return Result<std::uint32_t>(first);
    }
  }
  return std::nullopt;
}

void Spans::free(std::uint32_t first) noexcept {
  // Backwards, so that after a death the rest of the run is still found from its first span.
  for (std::uint32_t span = first + run_of(first); --span > first;)
    table_[span].store(span_word(SpanKind::kFree, 0), std::memory_order_release);  // [W]
  BATON_CRASH_POINT("shared.heap.run_half_freed");
  table_[first].store(span_word(SpanKind::kFree, 0), std::memory_order_release);  // [W]
}

}  // namespace baton::objects::detail
