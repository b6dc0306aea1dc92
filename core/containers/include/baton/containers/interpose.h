/* SPDX-License-Identifier: Apache-2.0
 * The contract between libbaton_heap.so, which recognises addresses, and the library that owns them (heap.hpp). In C,
 * and found by dlsym(3), so that neither library needs the other. A change of meaning changes the function's name. */
#ifndef BATON_HEAP_INTERPOSE_H
#define BATON_HEAP_INTERPOSE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called for addresses in the range only, by any thread, also while the program holds other locks. Must not throw. */
struct baton_heap_owner {
  /* free, cfree, realloc, operator delete in every form: the buffer that begins at `address` has no user any more. */
  void (*freed)(void* address);
  /* Bytes that may be used at `address`; 0 if no buffer begins there. */
  size_t (*usable)(const void* address);
};

/* From now on `owner` owns [base, base + size), for the rest of the process; `owner` must stay valid. Returns 0, or -1
 * if there is an owner already. */
int baton_heap_install_v1(uintptr_t base, size_t size, const struct baton_heap_owner* owner);

#ifdef __cplusplus
}
#endif
#endif
