// SPDX-License-Identifier: Apache-2.0
#include "baton/os/huge_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

namespace baton::os {

bool ask_for_huge_pages(void* begin, std::size_t bytes) noexcept {
  // The size on x86-64, and on arm64 with pages of 4 KiB. Where huge pages are larger, the kernel uses them only if
  // they fit.
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + kHugePage - 1) & ~(kHugePage - 1);
  const std::uintptr_t end = (address + bytes) & ~(kHugePage - 1);
  if (first >= end) return false;
  const int kept = errno;
  const bool heard = ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE) == 0;
  errno = kept;  // EINVAL: a kernel without transparent huge pages
  return heard;
}

}  // namespace baton::os
