// SPDX-License-Identifier: Apache-2.0
// Runs a codec fuzzer's seeds, and cheap mutations of them, in the ordinary tests: one program a fuzzer (BATON_FUZZ_SEEDS).
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "seeds_test_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST(CodecFuzzer, SurvivesItsSeedsAndTheirMutations) {
  std::mt19937 random(20260101);
  std::size_t seeds = 0;
  for (const auto& [name, seed] : baton::test::fuzz_seeds(BATON_FUZZ_SEEDS)) {
    SCOPED_TRACE(name);
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    ++seeds;
    // Mutations behind the definition: those of the definition seldom parse.
    const std::size_t begin = 2 + (seed[0] | seed[1] << 8U);
    for (int i = 0; i < 300 && seed.size() > begin; ++i) {
      std::vector<std::uint8_t> mutated = seed;
      for (std::size_t changes = random() % 4; changes != 0; --changes) {
        mutated[begin + random() % (mutated.size() - begin)] =
            static_cast<std::uint8_t>(random() % 3 == 0 ? 255 : random());
      }
      if (random() % 2 == 0) mutated.resize(begin + random() % (mutated.size() - begin + 1));
      LLVMFuzzerTestOneInput(mutated.data(), mutated.size());
    }
  }
  EXPECT_GE(seeds, 10U);
}
