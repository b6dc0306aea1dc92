// SPDX-License-Identifier: Apache-2.0
#include "baton/os/clock.hpp"

#include <dlfcn.h>

#include <atomic>

#include "baton/os/hot_memory.hpp"

namespace baton::os {
namespace {

using Reading = int (*)(clockid_t, timespec*);

// relaxed: a pointer to code that was there before this library, with no data behind it. Null while libraries are being loaded.
BATON_HOT_BSS std::atomic<Reading> g_vdso{nullptr};

/// The function `name` of a library that is loaded; null if there is none.
Reading function_of(const char* library, const char* name) {
  void* const handle = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = ::dlsym(handle, name);
  ::dlclose(handle);  // it stays: libc needs both
  return reinterpret_cast<Reading>(found);
}

/// When the library is loaded: dlopen(3) allocates, and a real-time loop may read the clock first.
[[maybe_unused]] const bool g_looked = [] {
#if defined(__x86_64__)
  constexpr const char* kName = "__vdso_clock_gettime";
#else
  constexpr const char* kName = "__kernel_clock_gettime";
#endif
  // What a call of this library reaches, wherever it is defined.
  const bool is_libcs = &::clock_gettime == function_of("libc.so.6", "clock_gettime");
  if (is_libcs) g_vdso.store(function_of("linux-vdso.so.1", kName), std::memory_order_relaxed);
  (void)::dlerror();  // the program does not find an error that is not its own
  return is_libcs;
}();

}  // namespace

namespace {

std::int64_t ns_of(const timespec& time) noexcept { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

/// By the system call, or by the function that another library has put before libc's.
[[gnu::cold, gnu::noinline]] std::int64_t read_by_call(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return ns_of(now);
}

}  // namespace

// The vDSO makes the system call itself for a clock that it cannot read, and returns what the call returns.
[[gnu::hot]] std::int64_t clock_ns(clockid_t id) noexcept {
  const Reading vdso = g_vdso.load(std::memory_order_relaxed);
  timespec now;
  return vdso != nullptr && vdso(id, &now) == 0 ? ns_of(now) : read_by_call(id);
}

[[gnu::hot]] Times read_both_clocks() noexcept {
  const Reading vdso = g_vdso.load(std::memory_order_relaxed);
  timespec monotonic, realtime;
  if (vdso == nullptr || vdso(CLOCK_MONOTONIC, &monotonic) != 0 || vdso(CLOCK_REALTIME, &realtime) != 0)
    return {read_by_call(CLOCK_MONOTONIC), read_by_call(CLOCK_REALTIME)};
  return {ns_of(monotonic), ns_of(realtime)};
}

}  // namespace baton::os
