// SPDX-License-Identifier: Apache-2.0
#include "baton/os/clock.hpp"
#include "baton/os/hot_path.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>

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

/// time_namespaces(7): "monotonic <seconds> <nanoseconds>", for the children of this process. They are in its own namespace, unless
/// it has called unshare(2) and no exec(2) since: then nothing says its own offset.
std::int64_t offset_of_namespace() noexcept {
  struct stat own {
  }, of_children{};
  if (::stat("/proc/self/ns/time", &own) != 0 || ::stat("/proc/self/ns/time_for_children", &of_children) != 0 ||
      own.st_ino != of_children.st_ino)
    return 0;
  std::FILE* const file = std::fopen("/proc/self/timens_offsets", "re");
  if (file == nullptr) return 0;
  long long seconds = 0, nanoseconds = 0;
  const bool found = std::fscanf(file, "monotonic %lld %lld", &seconds, &nanoseconds) == 2;
  std::fclose(file);
  return found ? seconds * 1'000'000'000 + nanoseconds : 0;
}

// Written once, while libraries are being loaded.
BATON_HOT_BSS std::int64_t g_time_namespace_ns = 0;
[[maybe_unused]] const bool g_asked = [] {
  g_time_namespace_ns = offset_of_namespace();
  return true;
}();

}  // namespace

std::int64_t time_namespace_ns() noexcept { return g_time_namespace_ns; }

namespace {

std::int64_t ns_of(const timespec& time) noexcept { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

/// By the system call, or by the function that another library has put before libc's.
BATON_COLD std::int64_t read_by_call(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return ns_of(now);
}

}  // namespace

// The vDSO makes the system call itself for a clock that it cannot read, and returns what the call returns.
std::int64_t clock_ns(clockid_t id) noexcept {
  const Reading vdso = g_vdso.load(std::memory_order_relaxed);
  timespec now;
  return vdso != nullptr && vdso(id, &now) == 0 ? ns_of(now) : read_by_call(id);
}

Times read_both_clocks() noexcept {
  const Reading vdso = g_vdso.load(std::memory_order_relaxed);
  timespec monotonic, realtime;
  if (vdso == nullptr || vdso(CLOCK_MONOTONIC, &monotonic) != 0 || vdso(CLOCK_REALTIME, &realtime) != 0)
    return {of_machine(read_by_call(CLOCK_MONOTONIC)), read_by_call(CLOCK_REALTIME)};
  return {of_machine(ns_of(monotonic)), ns_of(realtime)};
}

}  // namespace baton::os
