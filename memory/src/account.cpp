// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/account.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "account_internal.hpp"
#include "parse_size.hpp"

namespace baton::memory {
namespace {

// A sum that orders nothing else: relaxed.
std::atomic<std::size_t> g_backed{0};
std::mutex g_check_mutex;
std::shared_ptr<const std::function<Result<void>(std::size_t)>> g_check;  // under g_check_mutex

}  // namespace

std::size_t process_backed_bytes() noexcept { return g_backed.load(std::memory_order_relaxed); }

std::size_t process_limit_bytes() noexcept {
  static const std::size_t limit = [] {
    const char* text = std::getenv("BATON_PROCESS_MEMORY_LIMIT");
    return text ? parse_size(text).value_or(SIZE_MAX) : SIZE_MAX;
  }();
  return limit;
}

void set_growth_check(std::function<Result<void>(std::size_t)> check) {
  auto shared = check ? std::make_shared<const std::function<Result<void>(std::size_t)>>(std::move(check)) : nullptr;
  std::lock_guard<std::mutex> lock(g_check_mutex);
  g_check = std::move(shared);
}

Result<void> account_grow(std::size_t bytes) {
  const std::size_t now = g_backed.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  Result<void> allowed;
  if (now > process_limit_bytes()) {
    allowed = Error{Errc::limit_reached, "this process's message memory would reach " + std::to_string(now) +
                                             " bytes, beyond BATON_PROCESS_MEMORY_LIMIT=" +
                                             std::to_string(process_limit_bytes()) + "; raise it or lower the publishers' limits"};
  } else {
    std::shared_ptr<const std::function<Result<void>(std::size_t)>> check;
    {
      std::lock_guard<std::mutex> lock(g_check_mutex);
      check = g_check;
    }
    if (check) allowed = (*check)(bytes);
  }
  if (!allowed.ok()) account_shrink(bytes);
  return allowed;
}

void account_shrink(std::size_t bytes) noexcept { g_backed.fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace baton::memory
