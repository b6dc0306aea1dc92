// SPDX-License-Identifier: Apache-2.0
#include "definition_difference.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "baton/os/printable.hpp"

namespace baton::transport {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string definition_difference(std::string_view here_text, std::string_view there_text) {
  constexpr std::size_t kMaxLines = 2000;  // the table is the product of both line counts
  constexpr std::size_t kMaxShown = 40;
  constexpr std::size_t kMaxLineBytes = 200;
  std::vector<std::string_view> here = lines_of(here_text), there = lines_of(there_text);
  if (here.empty() || there.empty()) return "(one side gave no definition)";
  const bool cut = here.size() > kMaxLines || there.size() > kMaxLines;
  here.resize(std::min(here.size(), kMaxLines));
  there.resize(std::min(there.size(), kMaxLines));
  // Longest common subsequence: common[i][j] of the tails here[i..], there[j..].
  const std::size_t width = there.size() + 1;
  std::vector<std::uint16_t> common((here.size() + 1) * width, 0);
  for (std::size_t i = here.size(); i-- > 0;) {
    for (std::size_t j = there.size(); j-- > 0;) {
      common[i * width + j] = here[i] == there[j] ? static_cast<std::uint16_t>(common[(i + 1) * width + j + 1] + 1)
                                                  : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::string out;
  std::size_t shown = 0;
  const auto show = [&](const char* side, std::string_view line) {
    if (shown++ < kMaxShown)
      out += std::string(side) + os::printable(std::string(line.substr(0, kMaxLineBytes))) + "\n";
  };
  std::size_t i = 0, j = 0;
  while (i < here.size() || j < there.size()) {
    if (i < here.size() && j < there.size() && here[i] == there[j]) {
      ++i, ++j;
    } else if (j == there.size() || (i < here.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      show("- here:  ", here[i++]);
    } else {
      show("- there: ", there[j++]);
    }
  }
  if (shown > kMaxShown) out += "(" + std::to_string(shown - kMaxShown) + " more lines differ)\n";
  if (out.empty())
    out = cut ? "(the definitions differ beyond their first 2000 lines)" : "(only their order or spacing differs)";
  return out;
}

}  // namespace baton::transport
