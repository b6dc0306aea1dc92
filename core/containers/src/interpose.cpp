// SPDX-License-Identifier: Apache-2.0
// libbaton_heap.so: free() and its relatives, which handle one address range that is not the allocator's. LD_PRELOAD it
// or link it first. It replaces no allocator: every other call goes to the next definition in the program's search
// order. Of the allocating functions only realloc is interposed, because its old block may be Baton's.
//
// Thread rules: any thread, from the first instruction of the process on (constructors of other libraries run before
// ours).
// Invariants: (1) an address outside the range costs one subtraction and one compare; (2) errno is not changed; (3) no
// function of this file allocates for itself, so it may be called from inside the allocator; (4) the library names
// libstdc++ as needed, so that the operator new and the operator delete which a program finds after this library come
// from the same library.
//
// With libstdc++, the next `free` is also the end of the allocator's own `operator delete`. An allocator with operators
// of its own (jemalloc, tcmalloc) frees in those, so they are interposed, too.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "baton/containers/interpose.h"
#include "baton/os/hot_path.hpp"

#define BATON_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// An address far from every mapping, with size 0: whichever of the two words a thread sees first, no address is inside.
// A thread that got an address of the range from another thread sees both words. So they are relaxed.
constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << (8 * sizeof(std::uintptr_t) - 1);
struct alignas(16) Range {
  std::uintptr_t base = kNowhere;
  std::size_t size = 0;
};
Range g_range;
const baton_heap_owner* g_owner = nullptr;  // release in install, acquire in owner()

inline bool ours(const void* p) noexcept {
  return baton::unlikely(reinterpret_cast<std::uintptr_t>(p) - __atomic_load_n(&g_range.base, __ATOMIC_RELAXED) <
                         __atomic_load_n(&g_range.size, __ATOMIC_RELAXED));
}

const baton_heap_owner& owner() noexcept { return *__atomic_load_n(&g_owner, __ATOMIC_ACQUIRE); }

BATON_COLD void freed(void* p) noexcept {
  const int saved = errno;
  owner().freed(p);
  errno = saved;
}

__thread bool t_resolving __attribute__((tls_model("initial-exec"))) = false;

// The next definition of `name`. dlsym(3) may free the text of an earlier error: such a call finds t_resolving set.
template <class Function>
Function next(const char* name) noexcept {
  t_resolving = true;
  void* found = ::dlsym(RTLD_NEXT, name);
  t_resolving = false;
  return reinterpret_cast<Function>(found);
}

// One pointer per interposed function, at first to a function that looks up the real one. All stores write the same
// value: relaxed. Before main, pointer##_early looks up what nobody has called: dlsym(3) ends the error that dlerror(3) has to
// tell, and dlerror itself calls realloc, when it would go on with a freed record.
#define BATON_NEXT(result, pointer, name, parameters, arguments, fallback) \
  result pointer##_first parameters noexcept;                              \
  result(*pointer) parameters = &pointer##_first;                          \
  __attribute__((constructor, cold)) void pointer##_early() noexcept {     \
    if (auto found = next<result(*) parameters>(name); found != nullptr)   \
      __atomic_store_n(&pointer, found, __ATOMIC_RELAXED);                 \
  }                                                                        \
  BATON_COLD result pointer##_first parameters noexcept {                  \
    if (t_resolving) return fallback;                                      \
    auto found = next<result(*) parameters>(name);                         \
    if (found == nullptr) return fallback;                                 \
    __atomic_store_n(&pointer, found, __ATOMIC_RELAXED);                   \
    return found arguments;                                                \
  }
#define BATON_CALL(pointer) (__atomic_load_n(&pointer, __ATOMIC_RELAXED))

// If memory is freed while free is being looked up, it is a text of dlerror(3), and is lost.
BATON_NEXT(void, real_free, "free", (void* p), (p), static_cast<void>(p))

BATON_COLD void* out_of_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}

BATON_NEXT(void*, real_realloc, "realloc", (void* p, std::size_t n), (p, n), ((void)p, (void)n, out_of_memory()))
BATON_NEXT(std::size_t, real_usable, "malloc_usable_size", (void* p), (p), ((void)p, 0))

// A block of ours grows or shrinks: moves it out of the range.
BATON_COLD void* move_out(void* p, std::size_t bytes) noexcept {
  if (bytes == 0) {  // as in glibc: realloc(p, 0) frees
    freed(p);
    return nullptr;
  }
  void* moved = std::malloc(bytes);  // the malloc of this program
  if (moved == nullptr) return nullptr;
  const std::size_t usable = owner().usable(p);
  std::memcpy(moved, p, usable < bytes ? usable : bytes);
  freed(p);
  return moved;
}

}  // namespace

BATON_EXPORT int baton_heap_install_v1(std::uintptr_t base, std::size_t size, const baton_heap_owner* new_owner) {
  const baton_heap_owner* none = nullptr;
  // release: pairs with the acquire in owner().
  if (!__atomic_compare_exchange_n(&g_owner, &none, new_owner, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return -1;
  __atomic_store_n(&g_range.base, base, __ATOMIC_RELAXED);
  __atomic_store_n(&g_range.size, size, __ATOMIC_RELEASE);  // pairs with no load: see Range
  return 0;
}

BATON_EXPORT void free(void* p) {
  if (ours(p)) return freed(p);
  BATON_CALL(real_free)(p);
}

// For programs older than glibc 2.26.
BATON_EXPORT void cfree(void* p) {
  if (ours(p)) return freed(p);
  BATON_CALL(real_free)(p);
}

// C23. The size is not needed: free finds it.
BATON_EXPORT void free_sized(void* p, std::size_t) {
  if (ours(p)) return freed(p);
  BATON_CALL(real_free)(p);
}
BATON_EXPORT void free_aligned_sized(void* p, std::size_t, std::size_t) {
  if (ours(p)) return freed(p);
  BATON_CALL(real_free)(p);
}

BATON_EXPORT void* realloc(void* p, std::size_t bytes) {
  if (ours(p)) return move_out(p, bytes);
  return BATON_CALL(real_realloc)(p, bytes);
}

BATON_EXPORT void* reallocarray(void* p, std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return out_of_memory();
  if (ours(p)) return move_out(p, total);
  return BATON_CALL(real_realloc)(p, total);
}

BATON_EXPORT std::size_t malloc_usable_size(void* p) {
  if (ours(p)) return owner().usable(p);
  return BATON_CALL(real_usable)(p);
}

// The twelve forms of operator delete, by their names in the Itanium C++ ABI on 64 and 32 bits (size_t is m or j).
#if __SIZEOF_SIZE_T__ == 8
#define BATON_SIZE_CODE "m"
#else
#define BATON_SIZE_CODE "j"
#endif
#define BATON_DELETE(pointer, name, parameters, arguments)                                       \
  namespace {                                                                                    \
  BATON_NEXT(void, pointer, name, parameters, arguments, BATON_CALL(real_free)(p))               \
  }                                                                                              \
  __attribute__((visibility("default"))) void operator BATON_FORM(pointer) parameters noexcept { \
    if (ours(p)) return freed(p);                                                                \
    BATON_CALL(pointer) arguments;                                                               \
  }
#define BATON_FORM(pointer) BATON_FORM_##pointer
#define BATON_FORM_real_delete delete
#define BATON_FORM_real_delete_array delete[]
#define BATON_FORM_real_delete_sized delete
#define BATON_FORM_real_delete_array_sized delete[]
#define BATON_FORM_real_delete_nothrow delete
#define BATON_FORM_real_delete_array_nothrow delete[]
#define BATON_FORM_real_delete_aligned delete
#define BATON_FORM_real_delete_array_aligned delete[]
#define BATON_FORM_real_delete_sized_aligned delete
#define BATON_FORM_real_delete_array_sized_aligned delete[]
#define BATON_FORM_real_delete_aligned_nothrow delete
#define BATON_FORM_real_delete_array_aligned_nothrow delete[]

BATON_DELETE(real_delete, "_ZdlPv", (void* p), (p))
BATON_DELETE(real_delete_array, "_ZdaPv", (void* p), (p))
BATON_DELETE(real_delete_sized, "_ZdlPv" BATON_SIZE_CODE, (void* p, std::size_t n), (p, n))
BATON_DELETE(real_delete_array_sized, "_ZdaPv" BATON_SIZE_CODE, (void* p, std::size_t n), (p, n))
BATON_DELETE(real_delete_nothrow, "_ZdlPvRKSt9nothrow_t", (void* p, const std::nothrow_t& t), (p, t))
BATON_DELETE(real_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", (void* p, const std::nothrow_t& t), (p, t))
BATON_DELETE(real_delete_aligned, "_ZdlPvSt11align_val_t", (void* p, std::align_val_t a), (p, a))
BATON_DELETE(real_delete_array_aligned, "_ZdaPvSt11align_val_t", (void* p, std::align_val_t a), (p, a))
BATON_DELETE(real_delete_sized_aligned, "_ZdlPv" BATON_SIZE_CODE "St11align_val_t",
             (void* p, std::size_t n, std::align_val_t a), (p, n, a))
BATON_DELETE(real_delete_array_sized_aligned, "_ZdaPv" BATON_SIZE_CODE "St11align_val_t",
             (void* p, std::size_t n, std::align_val_t a), (p, n, a))
BATON_DELETE(real_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
             (void* p, std::align_val_t a, const std::nothrow_t& t), (p, a, t))
BATON_DELETE(real_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
             (void* p, std::align_val_t a, const std::nothrow_t& t), (p, a, t))
