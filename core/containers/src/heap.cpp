// SPDX-License-Identifier: Apache-2.0
#include "baton/containers/heap.hpp"
#include "baton/os/hot_path.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "baton/containers/containers.hpp"
#include "baton/containers/interpose.h"
#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/sparse_memory.hpp"
#include "registry.hpp"
#include "strangers.hpp"

// Of the library that this code is part of, if it contains the functions; else those that the program has loaded are found by name.
extern "C" [[gnu::weak]] int baton_heap_install_v1(uintptr_t, size_t, const struct baton_heap_owner*);

namespace baton::containers {
namespace {

// Written before the owner is installed.
bool (*g_neighbour)(void*) = nullptr;

// A page of the window whose addresses are freed as probes. Written before the owner is installed.
std::byte* g_probes = nullptr;
std::size_t g_probe_bytes = 0;
// The last probe that came back. Set and read by one thread, which holds the mutex of the probe: relaxed.
std::atomic<const void*> g_arrived{nullptr};

BATON_HOT bool is_probe(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(g_probes) < g_probe_bytes;
}

constexpr std::size_t kProbeUsable = 48;

BATON_HOT void freed(void* address) {
  if (is_probe(address)) {
    g_arrived.store(address, std::memory_order_relaxed);
    return;
  }
  if (Registry::instance().freed(address)) return;
  if (g_neighbour != nullptr && g_neighbour(address)) return;
  Registry::instance().count_unknown();
}

std::size_t usable(const void* address) {
  return is_probe(address) ? kProbeUsable : Registry::instance().usable(address);
}

constexpr baton_heap_owner kOwner{freed, usable};

struct State {
  bool installed = false;
  bool active = false;
  std::string reason;
};

// The functions by which a buffer may come back. In a C++ program all of them are defined.
constexpr const char* kNames[] = {"free",
                                  "realloc",
                                  "reallocarray",
                                  "malloc_usable_size",
                                  "_ZdlPv",
                                  "_ZdaPv",
                                  "_ZdlPvm",
                                  "_ZdaPvm",
                                  "_ZdlPvRKSt9nothrow_t",
                                  "_ZdaPvRKSt9nothrow_t",
                                  "_ZdlPvSt11align_val_t",
                                  "_ZdaPvSt11align_val_t",
                                  "_ZdlPvmSt11align_val_t",
                                  "_ZdaPvmSt11align_val_t",
                                  "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                  "_ZdaPvSt11align_val_tRKSt9nothrow_t",
                                  nullptr};

std::string file_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == '\0') return "the program";
  return info.dli_fname;
}

const void* object_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Looks up which library would get the calls, without calling. Empty, or the reason why not.
std::string look_up(const void* install) {
  for (const char* const* each = kNames; *each != nullptr; ++each) {
    const char* name = *each;
    const void* found = ::dlsym(RTLD_DEFAULT, name);
    if (found == nullptr || object_of(found) == object_of(install)) continue;
    const std::string file = file_of(found);
    if (file.find("libasan") != std::string::npos || file.find("libtsan") != std::string::npos)
      return std::string(name) + " is the sanitizer's (" + file +
             "): preload libbaton_heap.so before it and set ASAN_OPTIONS=verify_asan_link_order=0";
    return std::string(name) + " is answered by " + file + ", which the program finds before libbaton_heap.so: name " +
           "libbaton_heap.so first in LD_PRELOAD; a program with an allocator of its own cannot have this";
  }
  return {};
}

std::byte* fresh_probe() {
  // Each at another place, so that no allocator's last-freed check sees the same address twice.
  static std::size_t next = 0;
  next = (next + 64) % (g_probe_bytes / 2);
  return g_probes + g_probe_bytes / 4 + next;
}

template <class Free>
bool arrives(Free give) {
  std::byte* probe = fresh_probe();
  g_arrived.store(nullptr, std::memory_order_relaxed);
  void* volatile hidden = probe;  // hides the origin of the pointer from the compiler
  give(hidden);
  return g_arrived.load(std::memory_order_relaxed) == probe;
}

/// Frees a probe through every function that C++ code may be compiled to call.
std::string try_out() {
  constexpr std::align_val_t kAligned{64};
  const char* failed = nullptr;
  const auto check = [&](const char* name, bool arrived) {
    if (!arrived && failed == nullptr) failed = name;
  };
  check("free", arrives([](void* p) { std::free(p); }));
  check("operator delete", arrives([](void* p) { ::operator delete(p); }));
  check("operator delete[]", arrives([](void* p) { ::operator delete[](p); }));
  check("operator delete, nothrow", arrives([](void* p) { ::operator delete(p, std::nothrow); }));
  check("operator delete[], nothrow", arrives([](void* p) { ::operator delete[](p, std::nothrow); }));
  check("operator delete, aligned", arrives([=](void* p) { ::operator delete(p, kAligned); }));
  check("operator delete[], aligned", arrives([=](void* p) { ::operator delete[](p, kAligned); }));
  check("operator delete, aligned, nothrow", arrives([=](void* p) { ::operator delete(p, kAligned, std::nothrow); }));
  check("operator delete[], aligned, nothrow",
        arrives([=](void* p) { ::operator delete[](p, kAligned, std::nothrow); }));
#ifdef __cpp_sized_deallocation  // clang defines it only with a flag
  check("operator delete with a size", arrives([](void* p) { ::operator delete (p, std::size_t{8}); }));
  check("operator delete[] with a size", arrives([](void* p) { ::operator delete[](p, std::size_t{8}); }));
  check("operator delete, aligned with a size",
        arrives([=](void* p) { ::operator delete (p, std::size_t{8}, kAligned); }));
  check("operator delete[], aligned with a size",
        arrives([=](void* p) { ::operator delete[](p, std::size_t{8}, kAligned); }));
#endif
  check("realloc", arrives([](void* p) { std::free(std::realloc(p, 128)); }));
  std::size_t bytes = 0;
  void* volatile hidden = fresh_probe();
  bytes = ::malloc_usable_size(hidden);
  check("malloc_usable_size", bytes == kProbeUsable);
  return failed == nullptr ? std::string()
                           : std::string("a probe given to ") + failed + " did not reach libbaton_heap.so";
}

const void* install_function() {
  if (&baton_heap_install_v1 != nullptr) return reinterpret_cast<const void*>(&baton_heap_install_v1);
  return ::dlsym(RTLD_DEFAULT, "baton_heap_install_v1");
}

State decide() {
  State state;
  const char* wish = os::environment("BATON_HEAP");
  const bool off = wish != nullptr && std::strcmp(wish, "0") == 0;
  if (off) state.reason = "switched off by BATON_HEAP=0";
  if (off && g_neighbour == nullptr) return state;
  const void* found = install_function();
  if (found == nullptr) {
    state.reason =
        os::ignores_environment()
            ? "libbaton_heap.so is not loaded: the system ignores LD_PRELOAD for a program with capabilities or "
              "set-user-ID"
            : "libbaton_heap.so is not loaded: add it, with its path, to LD_PRELOAD, or link it first";
    return state;
  }
  Result<memory::Window*> window = memory::Window::instance();
  if (!window) {
    state.reason = window.error().message;
    return state;
  }
  g_probe_bytes = os::page_bytes();
  Result<std::byte*> probes = (*window)->allocate(g_probe_bytes);
  if (!probes || !os::map_private_sparse(g_probe_bytes, *probes).ok()) {
    state.reason = "no room in the window for a probe";
    return state;
  }
  g_probes = *probes;
  const auto install = reinterpret_cast<decltype(&baton_heap_install_v1)>(const_cast<void*>(found));
  Registry::instance();
  if (install(memory::g_window_range.base, memory::g_window_range.size, &kOwner) != 0) {
    state.reason = "another copy of Baton in this process uses libbaton_heap.so already";
    return state;
  }
  state.installed = true;
  if (off) return state;
  if (!layout_is_known()) {
    state.reason = "this standard library's std::vector is not three pointers";
    return state;
  }
  if (state.reason = look_up(found); !state.reason.empty()) return state;
  if (state.reason = try_out(); !state.reason.empty()) return state;
  state.active = true;
  state.reason = "every way to free is seen by " + file_of(found);
  return state;
}

os::Mutex& probe_mutex() {
  static auto* const mutex = new os::Mutex;
  return *mutex;
}

const State& state() {
  static const auto* const made = new State(decide());
  return *made;
}

}  // namespace

BATON_HOT bool active() { return state().active; }

bool active_beside(bool (*freed)(void* address)) {
  g_neighbour = freed;
  return state().installed;
}

const std::string& reason() { return state().reason; }

std::vector<std::string> strangers() {
  if (!active()) return {};
  return objects_bound_elsewhere(kNames, object_of(install_function()));
}

bool reaches(void (*deallocate)(void* buffer, void* state), void* state_of_it) {
  if (!active()) return false;
  const std::string file = file_of(reinterpret_cast<const void*>(deallocate));
  for (const std::string& stranger : strangers())
    if (stranger == file) return false;
  const os::Lock lock(probe_mutex());
  return arrives([=](void* p) { deallocate(p, state_of_it); });
}

Counters counters() { return Registry::instance().counters(); }

void baton_heap_counters(Counters* sums) { *sums = Registry::instance().counters(); }

}  // namespace baton::containers
