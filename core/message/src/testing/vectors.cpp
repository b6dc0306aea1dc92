// SPDX-License-Identifier: Apache-2.0
#include "testing/vectors.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "testing/messages.hpp"

namespace baton::message::testing {
namespace {

ByteVector read_one(const std::filesystem::path& path) {
  ByteVector vector{path.stem().string(), nullptr, "", {}};
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const auto bad = [&](const char* what) {
      return std::runtime_error(path.string() + ":" + std::to_string(number) + ": " + what);
    };
    if (line.rfind("type: ", 0) == 0) {
      vector.type = find_type(line.c_str() + 6);
      if (vector.type == nullptr) throw bad("unknown type");
      continue;
    }
    if (line.rfind("expect: ", 0) == 0) {
      vector.expect = line.substr(8);
      continue;
    }
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      if (word.size() != 2) throw bad("not a byte in hex");
      vector.bytes.push_back(static_cast<unsigned char>(std::stoul(word, nullptr, 16)));
    }
  }
  if (vector.type == nullptr || vector.expect.empty())
    throw std::runtime_error(path.string() + ": no type or expect line");
  return vector;
}

}  // namespace

std::vector<ByteVector> read_byte_vectors() {
  std::vector<ByteVector> vectors;
  for (const auto& entry : std::filesystem::directory_iterator(BATON_VECTORS_DIR)) {
    if (entry.path().extension() == ".hex") vectors.push_back(read_one(entry.path()));
  }
  std::sort(vectors.begin(), vectors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return vectors;
}

}  // namespace baton::message::testing
