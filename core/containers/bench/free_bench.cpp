// SPDX-License-Identifier: Apache-2.0
// Allocates and frees, and does nothing else. ros2/heap/bench/count_free.sh counts with it the cost that
// libbaton_heap.so adds to a free of ordinary memory.
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  const bool operators = argc > 1 && std::strcmp(argv[1], "delete") == 0;
  const long rounds = argc > 2 ? std::atol(argv[2]) : 1000000;
  void* volatile block = nullptr;
  for (long i = 0; i < rounds; ++i) {
    if (operators) {
      block = ::operator new(64);
      ::operator delete (block, std::size_t{64});
    } else {
      block = std::malloc(64);
      std::free(block);
    }
  }
  return 0;
}
