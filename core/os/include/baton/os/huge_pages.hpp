// SPDX-License-Identifier: Apache-2.0
// Huge pages for large private memory that other code allocated. The first touch of 2 MiB then costs one fault instead
// of 512, and copying the memory costs fewer TLB misses.
// Thread rules: a free function, from any thread.
#pragma once

#include <cstddef>

namespace baton::os {

/// Asks the kernel to back the whole huge pages inside [begin, begin + bytes) with huge pages, from their first touch
/// on (madvise(2), MADV_HUGEPAGE). Contents stay, also beside the range. False, and nothing was done, if no whole huge
/// page is inside or this kernel has no huge pages. The request stays with the addresses until they are unmapped. Does
/// not change errno.
bool ask_for_huge_pages(void* begin, std::size_t bytes) noexcept;

}  // namespace baton::os
