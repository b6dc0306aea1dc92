// SPDX-License-Identifier: Apache-2.0
// Texts of the core with Python's names: the core's hints have the names of the C++ API.
#include <algorithm>
#include <array>
#include <cctype>

#include "core.hpp"

namespace baton::python {
namespace {

struct Phrase {
  std::string_view in_cpp, in_python;
};

// A phrase stands before shorter phrases that it contains. python/tests/phrases_test.py reads the core's texts.
constexpr std::array kPhrases = {
    Phrase{"PublisherOptions::slot_count", "advertise()'s slots"},
    Phrase{"PublisherOptions::memory_limit_bytes", "advertise()'s memory_limit"},
    Phrase{"NodeOptions::parameter_overrides", "parameter_overrides of Node()"},
    Phrase{"NodeOptions::runtime_directory", "runtime_directory of Node()"},
    Phrase{"memory_limit_bytes", "memory_limit"},
    Phrase{"max_message_bytes", "max_message"},
    Phrase{"slot_count", "slots"},
    Phrase{"kMediumEffort", "medium_effort"},
    Phrase{"kWorstEffort", "worst_effort"},
    Phrase{"sfm::BoundedString", "a bounded string"},
    Phrase{"sfm::String", "a string"},
    Phrase{"keep_all()", "history=\"keep_all\""},
    Phrase{"trim()", "publisher.trim()"},
    Phrase{"publish(*loan)", "publish(baton.copy(loan))"},
    Phrase{"Node(\"camera\", \"left\")", "Node(\"camera\", namespace=\"left\")"},
};

bool is_of_name(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Not a part of a longer name, and no name in quotes, which somebody chose.
bool stands_alone(std::string_view text, std::size_t at, std::size_t end) noexcept {
  if (at > 0 && (text[at - 1] == '\'' || text[at - 1] == ':' || (is_of_name(text[at]) && is_of_name(text[at - 1]))))
    return false;
  return end == text.size() || !is_of_name(text[end - 1]) || !is_of_name(text[end]);
}

}  // namespace

std::string in_python(std::string_view text) {
  std::string words;
  words.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto* const phrase = std::find_if(kPhrases.begin(), kPhrases.end(), [&](const Phrase& each) {
      return text.compare(at, each.in_cpp.size(), each.in_cpp) == 0 && stands_alone(text, at, at + each.in_cpp.size());
    });
    if (phrase == kPhrases.end()) {
      words += text[at++];
    } else {
      words += phrase->in_python;
      at += phrase->in_cpp.size();
    }
  }
  return words;
}

}  // namespace baton::python
