// SPDX-License-Identifier: Apache-2.0
#include "baton/memory/account.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "account_internal.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/fork_listener.hpp"
#include "baton/os/lock.hpp"
#include "parse_size.hpp"

namespace baton::memory {
namespace {

// A sum that orders nothing else: relaxed.
std::atomic<std::size_t> g_backed{0};
using Watch = std::function<Result<void>(std::ptrdiff_t)>;

// A forked child starts with no watches: they report to objects of the parent, whose locks may stay locked for ever in
// the child. Never destroyed: publishers may be static objects.
struct Watches final : os::ForkListener {
  os::Mutex mutex;
  std::vector<std::weak_ptr<const Watch>> list BATON_GUARDED_BY(mutex);

  Watches() { start_listening(); }
  void before_fork() override BATON_ACQUIRES(mutex) { mutex.lock(); }
  void after_fork_in_parent() override BATON_RELEASES(mutex) { mutex.unlock(); }
  void after_fork_in_child() override BATON_RELEASES(mutex) {
    list.clear();
    mutex.unlock();
  }
};

Watches& watches() {
  static auto* const instance = new Watches;
  return *instance;
}

[[maybe_unused]] const Watches& g_made_early = watches();  // for the same reason as the window's lock

/// Allocates nothing for up to kMostWatches watches, since it also runs when memory is given back.
Result<void> tell(std::ptrdiff_t bytes) {
  constexpr std::size_t kMostWatches = 16;
  std::array<std::shared_ptr<const Watch>, kMostWatches> first;  // called without the lock: a watch may end meanwhile
  std::vector<std::shared_ptr<const Watch>> more;
  std::size_t count = 0;
  {
    const os::Lock lock(watches().mutex);
    for (const auto& weak : watches().list) {
      auto watch = weak.lock();
      if (!watch) continue;
      if (count < kMostWatches) {
        first[count] = std::move(watch);
      } else {
        more.push_back(std::move(watch));
      }
      ++count;
    }
  }
  const auto call = [&](std::size_t i, std::ptrdiff_t change) {
    return (i < kMostWatches ? *first[i] : *more[i - kMostWatches])(change);
  };
  for (std::size_t i = 0; i < count; ++i) {
    Result<void> allowed = call(i, bytes);
    if (allowed.ok() || bytes < 0) continue;
    while (i > 0) (void)call(--i, -bytes);  // undo in the watches that have agreed, since they have counted the growth
    return allowed;
  }
  return {};
}

}  // namespace

std::size_t process_backed_bytes() noexcept { return g_backed.load(std::memory_order_relaxed); }

Result<std::size_t> limit_from_environment(const char* name) {
  const char* text = os::environment(name);
  if (!text) return SIZE_MAX;
  const std::optional<std::size_t> limit = parse_size(text);
  if (!limit)
    return Error{Errc::invalid_argument,
                 std::string(name) + "='" + text + "': give a number of bytes, with K, M, G or T behind it"};
  return *limit;
}

const Result<std::size_t>& process_limit() {
  // Not a static with an initializer: in a child forked while another thread runs the initializer, it would never be
  // ready.
  static std::atomic<const Result<std::size_t>*> known{nullptr};
  const Result<std::size_t>* limit = known.load(std::memory_order_acquire);
  if (limit == nullptr) {
    auto read = std::make_unique<Result<std::size_t>>(limit_from_environment("BATON_PROCESS_MEMORY_LIMIT"));
    // acq_rel: pairs with the acquire above. If two threads compete, the first one's value is kept until the process
    // ends.
    if (known.compare_exchange_strong(limit, read.get(), std::memory_order_acq_rel)) limit = read.release();
  }
  return *limit;
}

std::size_t process_limit_bytes() noexcept { return process_limit().ok() ? *process_limit() : SIZE_MAX; }

std::shared_ptr<void> watch_account(std::function<Result<void>(std::ptrdiff_t)> watch) {
  auto token = std::make_shared<const Watch>(std::move(watch));
  const os::Lock lock(watches().mutex);
  auto& list = watches().list;
  list.erase(std::remove_if(list.begin(), list.end(), [](const auto& weak) { return weak.expired(); }), list.end());
  list.push_back(token);
  return std::const_pointer_cast<Watch>(token);
}

Result<void> account_grow(std::size_t bytes) {
  const std::size_t now = g_backed.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  Result<void> allowed;
  if (now > process_limit_bytes()) {
    allowed = Error{Errc::limit_reached,
                    "this process's message memory would reach " + std::to_string(now) +
                        " bytes, beyond BATON_PROCESS_MEMORY_LIMIT=" + std::to_string(process_limit_bytes()) +
                        "; raise it or lower the publishers' limits"};
  } else {
    allowed = tell(static_cast<std::ptrdiff_t>(bytes));
  }
  if (!allowed.ok()) g_backed.fetch_sub(bytes, std::memory_order_relaxed);
  return allowed;
}

void account_shrink(std::size_t bytes) noexcept {
  g_backed.fetch_sub(bytes, std::memory_order_relaxed);
  try {
    (void)tell(-static_cast<std::ptrdiff_t>(bytes));
  } catch (const std::bad_alloc&) {
    // The next change reports the sum.
  }
}

}  // namespace baton::memory
