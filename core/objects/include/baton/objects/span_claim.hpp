// SPDX-License-Identifier: Apache-2.0
// Claims of small objects in a span that another process may give back (core/objects/src/allocations.cpp): the steps on the
// words that both processes use, so that tests/model explores them.
//
//   a process that will claim objects in span S     a process that gives S back (under a lock)
//   P1 published[1] = its span before   (release)   T1 mark S as closing       (relaxed)
//   P2 published[0] = S                 (release)   T2 fence                   (seq_cst)
//   P3 fence                            (seq_cst)   T3 published[0], then [1]  (acquire): S is there -> unmark, stop
//   P4 S is marked, or not what it was  (acquire)   T4 an object in S is not free -> unmark, stop
//      -> no claim                                  T5 S is something else
//   - One of P3 and T2 is first in the order of fences: T3 sees P2, or P4 sees T1.
//   - A span stays published while newer ones come: it moves to [1] before its place is taken, and T3 reads against
//     that.
//   - If T3 does not see S, it read a later value: so the last claim in S, and its use, happened before.
// Thread rules: one claimer at a time per array.
#pragma once

#include <atomic>
#include <cstdint>

namespace baton::objects::detail {

/// P1 to P3; P4 is the caller's.
template <class Platform, class Word>
void publish_span(Word (&published)[2], std::uint32_t before, std::uint32_t span) noexcept {
  published[1].store(before, std::memory_order_release);  // pairs with claims_in()
  published[0].store(span, std::memory_order_release);    // pairs with claims_in()
  Platform::fence_seq_cst();                              // pairs with the fence in close_span()
}
/// T1 and T2. The mark is not set.
template <class Platform, class Word>
void close_span(Word& word, std::uint32_t mark) noexcept {
  word.fetch_add(mark, std::memory_order_relaxed);  // ordered by the fence
  Platform::fence_seq_cst();                        // pairs with the fence in publish_span()
}
/// T3.
template <class Word>
bool claims_in(const Word (&published)[2], std::uint32_t span) noexcept {
  // acquire: pairs with publish_span()
  return published[0].load(std::memory_order_acquire) == span || published[1].load(std::memory_order_acquire) == span;
}

}  // namespace baton::objects::detail
