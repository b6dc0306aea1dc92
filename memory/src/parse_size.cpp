// SPDX-License-Identifier: Apache-2.0
#include "parse_size.hpp"

#include <cctype>
#include <cstdlib>

namespace baton::memory {

std::optional<std::size_t> parse_size(const std::string& text) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return std::nullopt;
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  unsigned shift = 0;
  switch (*end) {
    case '\0': break;
    case 'k': case 'K': shift = 10; ++end; break;
    case 'm': case 'M': shift = 20; ++end; break;
    case 'g': case 'G': shift = 30; ++end; break;
    case 't': case 'T': shift = 40; ++end; break;
    default: return std::nullopt;
  }
  if (*end != '\0' || (number << shift) >> shift != number) return std::nullopt;
  return static_cast<std::size_t>(number << shift);
}

}  // namespace baton::memory
