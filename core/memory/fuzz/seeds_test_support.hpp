// SPDX-License-Identifier: Apache-2.0
// Reads a fuzzer's seeds for the tests that run them; of this room and those above it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace baton::test {

/// Each file of the folder, as its name and bytes.
inline std::vector<std::pair<std::string, std::vector<std::uint8_t>>> fuzz_seeds(const char* folder) {
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(entry.path().filename().string(), std::vector<std::uint8_t>{std::istreambuf_iterator<char>(file),
                                                                                   std::istreambuf_iterator<char>()});
  }
  return seeds;
}

}  // namespace baton::test
