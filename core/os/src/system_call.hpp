// SPDX-License-Identifier: Apache-2.0
// A system call where it is, for the calls by which every message sleeps and wakes: syscall(2) of libc lies on a page of its own and is
// reached by two more of this library's, which a process that wakes up cold walks to (`baton perf touch`).
// Thread rules: none; errno is left alone.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace baton::os::detail {

#if defined(__x86_64__)

/// What the kernel returns: on failure a negative errno. Registers: syscall(2), "Architecture calling conventions".
inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "cc", "memory");
  return x0;
}

#else

inline long system_call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const int before = errno;
  long result = ::syscall(number, a, b, c, d, e, f);
  if (result < 0) result = -errno;
  errno = before;
  return result;
}

#endif

template <class T>
long word_of(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

}  // namespace baton::os::detail
