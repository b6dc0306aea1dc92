// SPDX-License-Identifier: Apache-2.0
#include "parse_size.hpp"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace baton::memory {

std::optional<std::size_t> parse_size(const std::string& text) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  unsigned shift = 0;
  switch (*end) {
    case '\0':
      break;
    case 'k':
    case 'K':
      shift = 10;
      ++end;
      break;
    case 'm':
    case 'M':
      shift = 20;
      ++end;
      break;
    case 'g':
    case 'G':
      shift = 30;
      ++end;
      break;
    case 't':
    case 'T':
      shift = 40;
      ++end;
      break;
    default:
      return std::nullopt;
  }
  if (*end != '\0' || (number << shift) >> shift != number || errno == ERANGE) return std::nullopt;
  return static_cast<std::size_t>(number << shift);
}

std::string format_size(std::size_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  std::size_t whole = bytes, tenths = 0;
  for (; whole >= 1024 && unit < 4; ++unit) {
    tenths = whole % 1024 * 10 / 1024;
    whole /= 1024;
  }
  return std::to_string(whole) + (tenths ? "." + std::to_string(tenths) : "") + " " + kUnits[unit];
}

}  // namespace baton::memory
