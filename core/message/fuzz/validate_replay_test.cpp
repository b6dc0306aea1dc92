// SPDX-License-Identifier: Apache-2.0
// Runs the validator fuzzer's seeds, and cheap mutations of them, in the ordinary tests.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "seeds_test_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST(ValidateFuzzer, SurvivesItsSeedsAndTheirMutations) {
  std::mt19937 random(20260101);
  std::size_t seeds = 0;
  for (const auto& [name, seed] : baton::test::fuzz_seeds(BATON_FUZZ_SEEDS)) {
    SCOPED_TRACE(name);
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    ++seeds;
    for (int i = 0; i < 1000; ++i) {
      std::vector<std::uint8_t> mutated = seed;
      for (std::size_t changes = random() % 3; changes != 0; --changes) {
        // Whole words: lengths and offsets.
        const std::size_t words = (mutated.size() - 1) / 4;
        if (words == 0) break;
        const auto word = static_cast<std::uint32_t>(random() % 2 == 0 ? random() % 64 - 16 : random());
        std::memcpy(&mutated[1 + random() % words * 4], &word, 4);
      }
      if (random() % 4 == 0) mutated.resize(1 + random() % mutated.size());
      if (random() % 16 == 0) mutated[0] = static_cast<std::uint8_t>(random());
      LLVMFuzzerTestOneInput(mutated.data(), mutated.size());
    }
  }
  EXPECT_GE(seeds, 30U);
}
