// SPDX-License-Identifier: Apache-2.0
// Huge pages for large private memory that somebody else allocated. Touched for the first time, 2 MiB cost one fault instead of 512,
// and a copy of it fewer misses of the TLB.
// Thread rules: a free function, from any thread.
#pragma once

#include <cstddef>

namespace baton::os {

/// Asks the kernel to back the whole huge pages inside [begin, begin + bytes) with such, from their first touch on (madvise(2),
/// MADV_HUGEPAGE). Contents stay, and so does what lies beside the range in the same huge page. False: no whole one is inside, or
/// this kernel has none; nothing was done. The wish stays with the addresses until they are unmapped. Does not touch errno.
bool ask_for_huge_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace baton::os
