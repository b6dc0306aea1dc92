// SPDX-License-Identifier: Apache-2.0
#include "baton/node/real_time.hpp"

#include "baton/memory/arena.hpp"
#include "baton/os/real_time.hpp"

namespace baton::real_time {

void lock_memory() {
  // MCL_CURRENT would back every sparse segment that is mapped already as a whole.
  if (memory::g_window_range.size != 0)
    throw Exception(
        {Errc::already_exists, "lock_memory() after the first node or publisher of this process; call it before"});
  os::lock_memory().or_throw();
}

void run_fifo(int priority, std::size_t stack_bytes) {
  os::run_fifo(priority).or_throw();
  os::touch_stack(stack_bytes);
}

PublisherOptions pool(std::size_t max_message_bytes, std::uint32_t messages) {
  PublisherOptions options;
  options.max_message_bytes = max_message_bytes;
  options.slot_count = messages;
  // A slot also has the chunk's header, and consists of whole runs of 64 KiB.
  constexpr std::size_t kRunBytes = std::size_t{64} << 10;
  const std::size_t slot_bytes =
      (max_message_bytes + sizeof(memory::ChunkHeader) + kRunBytes - 1) / kRunBytes * kRunBytes;
  options.memory_limit_bytes = slot_bytes * messages;
  options.prefault = true;
  return options;
}

}  // namespace baton::real_time
