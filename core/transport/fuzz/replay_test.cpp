// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's seeds, and cheap mutations of them, in the ordinary tests; of this room, and of link/.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "seeds_test_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

TEST(Fuzzer, SurvivesItsSeedsAndTheirMutations) {
  std::mt19937 random(20260101);
  std::size_t seeds = 0;
  for (const auto& [name, seed] : baton::test::fuzz_seeds(BATON_FUZZ_SEEDS)) {
    SCOPED_TRACE(name);
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    ++seeds;
    for (int i = 0; i < 200; ++i) {
      std::vector<std::uint8_t> mutated = seed;
      for (std::size_t changes = random() % 8 + 1; changes != 0 && !mutated.empty(); --changes) {
        mutated[random() % mutated.size()] = static_cast<std::uint8_t>(random());
      }
      mutated.resize(random() % (mutated.size() + 1));
      LLVMFuzzerTestOneInput(mutated.data(), mutated.size());
    }
  }
  EXPECT_GE(seeds, 3U);
}
