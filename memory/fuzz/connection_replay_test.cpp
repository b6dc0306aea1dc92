// SPDX-License-Identifier: Apache-2.0
// The fuzzer's seeds and a few thousand random inputs in the ordinary tests.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

TEST(ConnectionFuzz, SeedsRunCleanly) {
  int seeds = 0;
  for (const auto& file : std::filesystem::directory_iterator(BATON_FUZZ_SEEDS)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0)
        << file.path();
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
