// SPDX-License-Identifier: Apache-2.0
// Counts what happens to arrays of 100,000 bytes and more in the whole process, its libraries included: copies, and
// allocations. roscpp's serialization of such a message is one of each. To be included in one source file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>

extern "C" {
void* __memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room);
void* __memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t room);
}

namespace payload {

inline std::atomic<unsigned> copies{0}, allocations{0};
inline void count(std::atomic<unsigned>& of, std::size_t bytes) {
  if (bytes >= 100'000) ++of;
}

/// To the standard output.
inline void say_counts() {
  std::cout << "counts " + std::to_string(copies) + " " + std::to_string(allocations) + "\n" << std::flush;
}

}  // namespace payload

extern "C" void* memcpy(void* to, const void* from, std::size_t bytes) {
  payload::count(payload::copies, bytes);
  return __memcpy_chk(to, from, bytes, bytes);
}
extern "C" void* memmove(void* to, const void* from, std::size_t bytes) {
  payload::count(payload::copies, bytes);
  return __memmove_chk(to, from, bytes, bytes);
}
void* operator new(std::size_t bytes) {
  payload::count(payload::allocations, bytes);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
