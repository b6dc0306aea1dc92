// SPDX-License-Identifier: Apache-2.0
// A program without Baton that asks for a library which is not there, as pluginlib does. Its first realloc is the one inside dlerror(3),
// and what it says is dlerror's text. Ends with status 0 if memory of the size of dlerror's own record is still sound.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main() {
  constexpr std::size_t kRecord = 24;  // malloc(24) is what dlopen keeps an error in
  void* const waiting = std::malloc(kRecord);
  if (::dlopen("/nowhere/libnothing.so", RTLD_NOW) != nullptr) return 2;
  std::free(waiting);  // the allocator's list is not empty, so a broken link in it is followed
  const char* const text = ::dlerror();
  std::puts(text != nullptr ? text : "no text");
  void* blocks[8];
  for (void*& block : blocks) {
    block = std::malloc(kRecord);
    std::memset(block, 0xff, kRecord);
  }
  for (void* const block : blocks) std::free(block);
  std::puts("done");
}
