// SPDX-License-Identifier: Apache-2.0
// The fuzzer's seeds and a few thousand random inputs in the ordinary tests.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "seeds_test_support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

TEST(ConnectionFuzz, SeedsRunCleanly) {
  int seeds = 0;
  for (const auto& [name, seed] : baton::test::fuzz_seeds(BATON_FUZZ_SEEDS)) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(seed.data(), seed.size()), 0) << name;
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

TEST(ConnectionFuzz, RandomInputsRunCleanly) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> input;
  for (int i = 0; i < 5000; ++i) {
    input.resize(random() % 400);
    for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
    ASSERT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
}

}  // namespace
