// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/window_share.hpp"

#include "baton/memory/window.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "parse_size.hpp"

namespace baton::memory {
namespace {

// Guards all shares. A forked child does not need it: it maps and frees nothing of its parent's.
os::Mutex g_mutex;
std::size_t g_used BATON_GUARDED_BY(g_mutex) = 0, g_areas BATON_GUARDED_BY(g_mutex) = 0;

std::size_t granules(std::size_t bytes) {
  const std::size_t granule = Window::instance().value()->granule();
  return (bytes / granule + (bytes % granule != 0)) * granule;
}

/// How much of the window the owner of `used` may have now.
std::size_t allowed(std::size_t used) BATON_REQUIRES(g_mutex) {
  const std::size_t half = Window::instance().value()->size() / 2, others = g_used - used;
  return others < half ? (half - others) / WindowShare::kParts : 0;
}

/// How many memory areas the owner of `areas` may have now.
std::size_t allowed_areas(std::size_t areas) BATON_REQUIRES(g_mutex) {
  const std::size_t half = os::most_memory_areas() / 2, others = g_areas - areas;
  return others < half ? (half - others) / WindowShare::kParts : 0;
}

Error out_of_areas(std::size_t areas, std::size_t most) {
  return {Errc::out_of_memory, "a process's messages would take " + std::to_string(areas) +
                                   " memory areas of this process, and may take " + std::to_string(most) +
                                   " now; make fewer publishers there, or raise vm.max_map_count (sysctl), which is " +
                                   std::to_string(os::most_memory_areas())};
}

Error exhausted(std::size_t bytes, std::size_t used, std::size_t most) {
  return {Errc::window_exhausted,
          "a process's messages would take " + format_size(used + bytes) + " of this process's window of " +
              format_size(Window::instance().value()->size()) + ", and may take " + format_size(most) +
              " now; raise BATON_WINDOW here, or lower max_message_bytes or slot_count there"};
}

}  // namespace

Result<void> WindowShare::take(std::size_t bytes) {
  const std::size_t more = granules(bytes);
  const os::Lock lock(g_mutex);
  const std::size_t most = allowed(used_) / 8 * 7;
  if (used_ > most || more > most - used_) return exhausted(more, used_, most);
  if (const std::size_t most_areas = allowed_areas(areas_) / 8 * 7; areas_ + kAreasEach > most_areas)
    return out_of_areas(areas_ + kAreasEach, most_areas);
  areas_ += kAreasEach;
  g_areas += kAreasEach;
  used_ += more;
  g_used += more;
  return {};
}

void WindowShare::give_back(std::size_t bytes) noexcept {
  const std::size_t less = granules(bytes);
  const os::Lock lock(g_mutex);
  used_ -= less;
  g_used -= less;
  areas_ -= kAreasEach;
  g_areas -= kAreasEach;
}

Result<void> WindowShare::take_copy(std::size_t bytes) {
  const std::size_t more = granules(bytes);
  const os::Lock lock(g_mutex);
  if (bytes > kMostCopiedBytes - copied_)
    return Error{Errc::limit_reached,
                 "copies of a process's messages, for which there is no room in the window otherwise, would "
                 "take more than " +
                     format_size(kMostCopiedBytes) + "; release samples, or raise BATON_WINDOW"};
  const std::size_t most = allowed(used_);
  if (used_ > most || more > most - used_) return exhausted(more, used_, most);
  if (const std::size_t most_areas = allowed_areas(areas_); areas_ + kAreasEach > most_areas)
    return out_of_areas(areas_ + kAreasEach, most_areas);
  areas_ += kAreasEach;
  g_areas += kAreasEach;
  copied_ += bytes;
  used_ += more;
  g_used += more;
  return {};
}

void WindowShare::give_back_copy(std::size_t bytes) noexcept {
  const std::size_t less = granules(bytes);
  const os::Lock lock(g_mutex);
  copied_ -= bytes;
  used_ -= less;
  g_used -= less;
  areas_ -= kAreasEach;
  g_areas -= kAreasEach;
}

std::size_t WindowShare::used_bytes() const noexcept {
  const os::Lock lock(g_mutex);
  return used_;
}

}  // namespace baton::memory
