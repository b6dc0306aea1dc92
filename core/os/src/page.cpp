// SPDX-License-Identifier: Apache-2.0
#include "baton/os/page.hpp"

#include <unistd.h>

#include <atomic>

namespace baton::os {

std::size_t page_bytes() noexcept {
  // Constant-initialized: a child forked while another thread initialises a static object would wait for it for ever.
  static std::atomic<std::size_t> known{0};
  std::size_t bytes = known.load(std::memory_order_relaxed);  // orders nothing
  if (bytes == 0) {
    bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    known.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

}  // namespace baton::os
