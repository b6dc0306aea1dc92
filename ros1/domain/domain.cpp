// SPDX-License-Identifier: Apache-2.0
#include "domain.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace baton::ros1 {

int domain_of_master(std::string_view uri, std::string_view own_host) {
  if (const std::size_t scheme = uri.find("://"); scheme != std::string_view::npos) uri.remove_prefix(scheme + 3);
  uri = uri.substr(0, uri.find('/'));
  const std::size_t colon = uri.rfind(':');
  std::string host(uri.substr(0, colon));
  const std::string port(colon == std::string_view::npos ? "11311" : uri.substr(colon + 1));
  std::transform(host.begin(), host.end(), host.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string own(own_host);
  std::transform(own.begin(), own.end(), own.begin(), [](unsigned char c) { return std::tolower(c); });
  if (host.empty() || host == own || host.rfind("127.", 0) == 0 || host == "[::1]") host = "localhost";
  if (host == "localhost" && port == "11311") return 0;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : host + ":" + port) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 100 + static_cast<int>(hash % 9900);
}

}  // namespace baton::ros1
